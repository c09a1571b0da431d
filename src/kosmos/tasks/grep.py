"""Looking for a pattern in the texts of all documents that a caller may read, in bounded time.

Texts are loaded a few at a time and searched in a thread of their own, so that neither the size of a space
nor the pattern can hold up anything else.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from kosmos.accounts.access import require_document, require_space, visible_space_ids
from kosmos.db import chunks, documents, versions
from kosmos.db.chunks import Layer
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.documents import Document
from kosmos.errors import DataLost, InvalidInput
from kosmos.ingest.grep import MAX_CONTEXT, MAX_MATCHES, GrepMatch, GrepResult, grep
from kosmos.ingest.grep_patterns import compile_pattern
from kosmos.tasks.extracts import read_origins
from kosmos.tasks.reading import PageSpan, page_at, span_pages
from kosmos.tasks.showing import shown_text
from kosmos.tasks.workbench import Workbench

T = TypeVar("T")
Loaded = tuple[Document, str]
SECONDS = 10.0
MAX_SECONDS = 60.0
MAX_SHOWN = 20_000  # lines in one answer, with those around the matches
_PAGE = 500  # documents listed at once
_AT_ONCE = 32  # texts loaded at once,
_BYTES = 8 * 2**20  # and how large they may be together
# Searches wait for each other here, and not in the threads that everything else needs.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="kosmos-grep")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for, and in which documents; None for both means all that the caller may read."""

    pattern: str
    space_ids: Sequence[str] | None = None
    document_id: str | None = None
    ignore_case: bool = False
    fixed: bool = False
    context: int = 0
    max_matches: int = 200
    seconds: float = SECONDS
    verbatim: bool = False  # also what is hidden: for owners, in a document or in spaces that they name

    def check(self) -> None:
        """Refuse what cannot be looked for."""
        if not 0 <= self.context <= MAX_CONTEXT or not 1 <= self.max_matches <= MAX_MATCHES:
            raise InvalidInput(
                f"Ask for 0 to {MAX_CONTEXT} lines of context and 1 to {MAX_MATCHES:,} matches.",
                remedy="Choose numbers in these ranges.",
            )
        if self.max_matches * (1 + 2 * self.context) > MAX_SHOWN:
            raise InvalidInput(
                f"{self.max_matches:,} matches with {self.context} lines around each are too much at once.",
                remedy="Ask for fewer matches or less context.",
            )
        if not 0 < self.seconds <= MAX_SECONDS:
            raise InvalidInput(
                f"A search takes at most {MAX_SECONDS:.0f} seconds.",
                remedy="Give it more than 0 and not more.",
            )
        if self.verbatim and self.document_id is None and self.space_ids is None:
            raise InvalidInput(
                "The verbatim text is looked through in named places only.",
                remedy="Name a document or a space that you own.",
            )
        compile_pattern(self.pattern, ignore_case=self.ignore_case, fixed=self.fixed)


@dataclass(frozen=True, slots=True)
class Match:
    """A line in which the pattern occurs, as in `ingest.grep`, with its document and page."""

    document_id: str
    source: str
    line: int
    column: int
    end_column: int
    text: str
    offset: int
    page: int | None
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Matches in the order of the documents.

    `truncated` is empty, `matches` (there are more) or `deadline` (time was up). `searched` counts the
    documents searched to their end, `without_text` those that have none yet or have lost it.
    """

    matches: tuple[Match, ...] = ()
    truncated: str = ""
    searched: int = 0
    without_text: int = 0


@dataclass(slots=True)
class _Search:
    """One search under way."""

    bench: Workbench
    wanted: Wanted
    deadline: float
    matches: list[Match] = field(default_factory=list)
    searched: int = 0
    without_text: int = 0

    def found(self, truncated: str) -> Found:
        return Found(tuple(self.matches), truncated, self.searched, self.without_text)


async def grep_documents(bench: Workbench, who: Principal, wanted: Wanted) -> Found:
    """The lines in which the pattern occurs; what is found until the time is up."""
    wanted.check()
    search = _Search(bench, wanted, time.monotonic() + wanted.seconds)
    listed = await _listed(bench, who, wanted)
    try:
        async with aclosing(_batches(search, listed)) as batches:
            async for batch in batches:
                if truncated := await _search_batch(search, batch):
                    return search.found(truncated)
    except TimeoutError:
        return search.found("deadline")
    return search.found("")


async def _listed(
    bench: Workbench, who: Principal, wanted: Wanted
) -> AsyncGenerator[Sequence[Document], None]:
    """The documents to search, page by page, after a look at whether the caller may read them."""
    need = Role.OWNER if wanted.verbatim else Role.VIEWER
    async with bench.db.read() as conn:
        if wanted.document_id is not None:
            return _one(await require_document(conn, who, wanted.document_id, need=need))
        if wanted.space_ids is None:
            return _pages(bench, await visible_space_ids(conn, who))
        for space_id in wanted.space_ids:
            await require_space(conn, who, space_id, need=need)
    return _pages(bench, list(dict.fromkeys(wanted.space_ids)))


async def _one(document: Document) -> AsyncGenerator[Sequence[Document], None]:
    yield [document]


async def _pages(bench: Workbench, space_ids: Sequence[str]) -> AsyncGenerator[Sequence[Document], None]:
    for space_id in space_ids:
        after = ""
        while True:
            async with bench.db.read() as conn:
                page = await documents.list_documents(conn, space_id, after=after, limit=_PAGE)
            yield page
            if len(page) < _PAGE:
                break
            after = page[-1].id


async def _batches(
    search: _Search, listed: AsyncGenerator[Sequence[Document], None]
) -> AsyncGenerator[Sequence[Loaded], None]:
    """Texts, a few at a time; TimeoutError when they do not come in time."""
    async with aclosing(listed):
        while (page := await _in_time(search, anext(listed, None))) is not None:
            layers = await _in_time(search, _layers(search, page))
            for group in _groups(page):
                loading = asyncio.gather(*(_load(search, document, layers) for document in group))
                loaded = [item for item in await _in_time(search, loading) if item is not None]
                yield loaded


async def _in_time(search: _Search, work: Awaitable[T]) -> T:
    async with asyncio.timeout(max(0.0, search.deadline - time.monotonic())):
        return await work


def _groups(page: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents to hold in memory together: not many, and not large."""
    group: list[Document] = []
    for document in page:
        if group and (len(group) == _AT_ONCE or sum(one.size for one in group) + document.size > _BYTES):
            yield group
            group = []
        group.append(document)
    if group:
        yield group


async def _layers(search: _Search, page: Sequence[Document]) -> Mapping[str, Layer]:
    """What is hidden of each document."""
    async with search.bench.db.read() as conn:
        return await chunks.live_layers(conn, [document.id for document in page])


async def _load(search: _Search, document: Document, layers: Mapping[str, Layer]) -> Loaded | None:
    """The text as it may be shown; looked for again when a new version has just taken its place."""
    layer = layers.get(document.id)
    if layer is None:
        return None  # it was removed meanwhile
    if layer.generation != document.live_generation:
        return await _load_newer(search, document)
    if document.canonical_sha256 is not None:
        try:
            text = (await search.bench.blobs.read(document.canonical_sha256)).decode()
        except DataLost:
            return await _load_newer(search, document)
        hidden = not search.wanted.verbatim and layer.redactions
        return document, await asyncio.to_thread(shown_text, text, layer) if hidden else text
    search.without_text += 1
    return None


async def _load_newer(search: _Search, document: Document) -> Loaded | None:
    async with search.bench.db.read() as conn:
        newer = await documents.get_document(conn, document.id)
    if newer is not None and newer.live_generation != document.live_generation:
        return await _load(search, newer, await _layers(search, [newer]))
    search.without_text += newer is not None
    return None


async def _search_batch(search: _Search, batch: Sequence[Loaded]) -> str:
    """Search some texts; why to stop, or nothing."""
    wanted, left = search.wanted, search.wanted.max_matches - len(search.matches)

    def work() -> GrepResult:
        return grep(
            ((document.id, text) for document, text in batch),
            wanted.pattern,
            ignore_case=wanted.ignore_case,
            fixed=wanted.fixed,
            context=wanted.context,
            max_matches=max(1, left),
            deadline=search.deadline,
        )

    # It ends by itself at the deadline; what it has found until then counts.
    result = await asyncio.get_running_loop().run_in_executor(_THREADS, work)
    search.searched += result.searched
    if left == 0:
        return "matches" if result.matches else result.truncated
    search.matches += await _placed(search.bench, batch, result.matches)
    return result.truncated


async def _placed(bench: Workbench, batch: Sequence[Loaded], found: Sequence[GrepMatch]) -> list[Match]:
    """The matches with their documents and pages."""
    known = {document.id: document for document, _ in batch}
    spans = {key: await _spans(bench, known[key]) for key in dict.fromkeys(match.source for match in found)}
    placed = []
    for match in found:
        page = page_at(spans[match.source], match.line)
        values = {name: getattr(match, name) for name in _KEPT}
        placed.append(Match(document_id=match.source, source=known[match.source].source, page=page, **values))
    return placed


_KEPT = ("line", "column", "end_column", "text", "offset", "before", "after")


async def _spans(bench: Workbench, document: Document) -> Sequence[PageSpan]:
    async with bench.db.read() as conn:
        version = await versions.get_version(conn, document.id, document.live_generation)
    try:
        origins = await read_origins(bench, version.extract_sha256 if version else None)
    except DataLost:
        return ()  # a new version is live by now, and the old one's pages are gone
    return span_pages(origins, 1, document.line_count)
