"""Documents with figures, and a model that looks at them."""

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.domain.credentials import CredentialType
from kosmos.domain.extracts import Extract, Figure
from kosmos.doubles.model_server import ModelServer
from kosmos.doubles.script import Decide
from kosmos.ingest.canonical import canonical_of
from kosmos.ingest.limits import Converted

from .scene import Scene

_FIGURE = re.compile(r"!\[(.*)\]\((\w+)\)")


def picture(name: str) -> bytes:
    """The bytes of the picture of that name."""
    return f"picture {name}".encode()


def sha256_of(name: str) -> str:
    """The key of the picture of that name."""
    return hashlib.sha256(picture(name)).hexdigest()


@dataclass(frozen=True)
class PictureConverter:
    """Stands in for a converter of files with figures: `![caption](name)` alone on a line is one."""

    media_type: str = "image/png"

    async def convert(self, data: bytes, name: str, **_: Any) -> Converted:
        """The text, in which figures are named by their content."""
        figures: list[Figure] = []
        lines = data.decode().split("\n")
        for number, line in enumerate(lines, start=1):
            if found := _FIGURE.fullmatch(line):
                sha256 = sha256_of(found[2])
                figures.append(Figure(sha256, picture(found[2]), self.media_type, found[1], number))
                lines[number - 1] = f"![{found[1]}](asset:{sha256})"
        extract = Extract("\n".join(lines), figures=tuple(figures))
        canonical, settled = canonical_of(extract, name, converter="picture/1")
        return Converted(canonical, (), settled.figures, (), "pdf", "picture/1")

    async def close(self) -> None:
        """Nothing to let go of."""


def with_pictures(scene: Scene, **options: Any) -> Scene:
    """The same instance where documents have figures."""
    return scene.using(converter=PictureConverter(**options))


def shown(text: str) -> str:
    """The canonical text of a source with figures."""
    return _FIGURE.sub(lambda found: f"![{found[1]}](asset:{sha256_of(found[2])})", text)


@asynccontextmanager
async def seeing(scene: Scene, script: Any = (), **options: Any) -> AsyncIterator[ModelServer]:
    """A model that can look at figures, and a credential of the owner for it."""
    answers: Decide | Any = script
    async with ModelServer(answers) as server:
        new = NewCredential(
            "eye", CredentialType.VLM, server.base_url, "scripted", is_default=True, options=options
        )
        async with scene.bench.db.write() as conn:
            await add_credential(conn, scene.owner, new, box=scene.bench.box, now=scene.bench.clock())
        yield server
