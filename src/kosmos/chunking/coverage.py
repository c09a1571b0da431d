"""How chunks make up a text, to the character.

A chunk is a range of lines. Where one line is too long for a chunk it is cut inside: the chunk that ends
there has `end_offset` in its metadata, the next one `start_offset`, both counted in characters of that
line from 0. Nobody else has to know: text is joined and placed here.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from kosmos.domain.chunks import Chunk, ChunkDraft, ChunkType

START_OFFSET = "start_offset"
END_OFFSET = "end_offset"

_Identity = tuple[ChunkType, int, tuple[str, ...], str]


class Ranged(Protocol):
    """What drafts and stored chunks have in common."""

    @property
    def start_line(self) -> int:
        """The first line, counted from 1."""

    @property
    def end_line(self) -> int:
        """The last line."""

    @property
    def raw_content(self) -> str:
        """The verbatim text."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Offsets, if a line was cut."""


def join_chunks(chunks: Iterable[Ranged]) -> str:
    """The text that chunks in order make up: lines joined by line feeds, pieces of one line by nothing."""
    return "".join(_pieces(chunks))


def _pieces(chunks: Iterable[Ranged]) -> Iterator[str]:
    link = ""
    for chunk in chunks:
        yield link
        yield chunk.raw_content
        link = "" if END_OFFSET in chunk.metadata else "\n"


def place_chunks(chunks: Iterable[Ranged]) -> list[tuple[int, int]]:
    """The characters of the text that each chunk holds: from, up to."""
    places: list[tuple[int, int]] = []
    at = 0
    for chunk in chunks:
        end = at + len(chunk.raw_content)
        places.append((at, end))
        at = end if END_OFFSET in chunk.metadata else end + 1
    return places


def reuse_chunks(old: Sequence[Chunk], drafts: Sequence[ChunkDraft]) -> dict[int, Chunk]:
    """Which drafts of a new version are chunks of the old one: same kind, text and headings above.

    Such a chunk keeps its id, summary and vectors wherever it now stands; equal ones are taken in order.
    """
    spare: dict[_Identity, deque[Chunk]] = {}
    for chunk, path in zip(old, _paths(old), strict=True):
        spare.setdefault((chunk.type, chunk.level, path, chunk.raw_content), deque()).append(chunk)
    reused: dict[int, Chunk] = {}
    for position, draft in enumerate(drafts):
        same = spare.get((draft.type, draft.level, draft.heading_path, draft.raw_content))
        if same:
            reused[position] = same.popleft()
    return reused


def _paths(chunks: Sequence[Chunk]) -> list[tuple[str, ...]]:
    """The titles of the headings above each chunk; a heading comes before what it heads."""
    below: dict[str | None, tuple[str, ...]] = {None: ()}
    paths = []
    for chunk in chunks:
        path = below.get(chunk.parent_id, ())
        paths.append(path)
        below[chunk.id] = (*path, chunk.summary)
    return paths
