"""Documents with pages, whose page of every line is known without asking the product."""

from dataclasses import dataclass
from typing import Any

from kosmos.domain.extracts import Extract, Origin
from kosmos.ingest.canonical import canonical_of
from kosmos.ingest.limits import Converted


@dataclass(frozen=True)
class PagedConverter:
    """Stands in for a converter of paged files: a form feed in the source turns the page."""

    first: int = 1
    kind: str = "page"

    async def convert(self, data: bytes, name: str, **_: Any) -> Converted:
        """The text, with a mark where each page begins."""
        origins: list[Origin] = []
        lines: list[str] = []
        for number, page in enumerate(data.decode().split("\f"), start=self.first):
            origins.append(Origin(len(lines) + 1, self.kind, number))
            lines += page.split("\n")
        extract = Extract("\n".join(lines), origins=tuple(origins))
        canonical, settled = canonical_of(extract, name, converter="paged/1")
        return Converted(canonical, settled.origins, (), ("One thing was left out.",), "pdf", "paged/1")

    async def close(self) -> None:
        """Nothing to let go of."""

    def pages(self, source: str) -> list[int]:
        """The page of each line."""
        split = source.split("\f")
        return [n for n, page in enumerate(split, start=self.first) for _ in page.split("\n")]
