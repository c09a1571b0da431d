"""The passages that a model has seen, each under a small number, fenced as data."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kosmos.tools.contract import Passage

Restore = Callable[[int], Awaitable[Passage | None]]


async def restore_nothing(_: int) -> Passage | None:
    """For a run that has no past."""
    return None


@dataclass(slots=True)
class Sources:
    """Numbers run on through a session, so that a marker means the same in all of it.

    `past` are numbers of earlier runs; what stood there is read again when it is cited again.
    """

    fence: str
    next_number: int = 1
    past: frozenset[int] = frozenset()
    restore: Restore = restore_nothing
    seen: dict[int, Passage] = field(default_factory=dict)

    def number(self, passage: Passage) -> int:
        """The number of a passage; the same lines keep theirs."""
        for known, other in self.seen.items():
            if other.place == passage.place and other.text == passage.text:
                return known
        given = self.next_number
        self.next_number += 1
        self.seen[given] = passage
        return given

    def knows(self, number: int) -> bool:
        """Whether a marker with this number points somewhere."""
        return number in self.seen or number in self.past

    async def passage(self, number: int) -> Passage | None:
        """What stands under a number, as it can be read now."""
        if number not in self.seen and number in self.past:
            found = await self.restore(number)
            if found is not None:
                self.seen[number] = found
        return self.seen.get(number)

    def show(self, passages: Sequence[Passage]) -> tuple[str, list[int]]:
        """Passages as the model sees them, and their numbers."""
        numbers = [self.number(passage) for passage in passages]
        bodies = [self.fenced("\n".join((heading_of(passage), passage.text))) for passage in passages]
        shown = [f"[{number}]\n{body}" for number, body in zip(numbers, bodies, strict=True)]
        return "\n\n".join(shown), numbers

    def fenced(self, text: str) -> str:
        """Text of strangers between marks that they cannot know."""
        return f"<data {self.fence}>\n{text.replace(self.fence, '…')}\n</data {self.fence}>"


def heading_of(passage: Passage) -> str:
    """Where it stands, in one line."""
    parts = [passage.source]
    if passage.url is None:
        parts.append(f"lines {passage.start_line}-{passage.end_line}")
    if passage.page is not None:
        parts.append(f"page {passage.page}")
    if passage.title and passage.title != passage.source:
        parts.append(passage.title)
    if passage.headings:
        parts.append(" > ".join(passage.headings))
    return " · ".join(" ".join(part.split())[:200] for part in parts)


def reference(number: int, passage: Passage) -> Mapping[str, object]:
    """What is kept of a passage so that it can be read again."""
    return {
        "number": number,
        "document_id": passage.document_id,
        "source": passage.source,
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "page": passage.page,
        "version": passage.version,
        "chunk_id": passage.chunk_id,
        "url": passage.url,
    }
