"""The documents of one caller in the spaces of one agent, as its tools see them.

Rights and spaces are looked up at every call: what is taken away during a run is gone at once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kosmos.accounts.access import require_document, visible_space_ids
from kosmos.db import chunks as chunk_table
from kosmos.db import documents as document_table
from kosmos.domain.accounts import Principal
from kosmos.domain.answers import SearchHit
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document, slice_lines
from kosmos.domain.values import storable
from kosmos.errors import InvalidInput, KosmosError, NotFound
from kosmos.ingest.reading import lines_of_heading
from kosmos.ingest.tree import parse_tree
from kosmos.tasks.asking import search
from kosmos.tasks.grep import Wanted, grep_documents
from kosmos.tasks.reading import OpenText, open_text, page_at, span_pages
from kosmos.tasks.workbench import Workbench
from kosmos.tools.contract import Passage
from kosmos.tools.knowledge import MAX_READ, Heading, Listed

_DEEPER = 50  # results looked through for those of one document
_PAGE = 500
_MOST_HEADINGS = 200
_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class KnowledgeDesk:
    """`space_ids` None means every space that the caller may read."""

    bench: Workbench
    who: Principal
    space_ids: Sequence[str] | None = None

    async def spaces(self) -> list[str]:
        """The spaces that may be read now."""
        async with self.bench.db.read() as conn:
            visible = await visible_space_ids(conn, self.who)
        return [one for one in visible if self.space_ids is None or one in self.space_ids]

    async def hits(self, query: str, *, k: int) -> list[SearchHit]:
        """The chunks that fit best."""
        spaces = await self.spaces()
        return await search(self.bench, self.who, query, space_ids=spaces, k=k) if spaces else []

    async def search(self, query: str, *, k: int, document: str | None) -> Sequence[Passage]:
        """The passages that fit best, in all documents or in one."""
        if document is None:
            return await self.passages(await self.hits(query, k=k))
        wanted = await self._find(document)
        hits = [hit for hit in await self.hits(query, k=_DEEPER) if hit.document_id == wanted.id]
        return await self.passages(hits[:k])

    async def read(
        self, document: str, *, start: int | None, end: int | None, heading: str | None
    ) -> Passage:
        """Some lines, or those below a heading, at most 200."""
        found = await self._find(document)
        opened = await open_text(self.bench, self.who, found.id)
        first, last = start or 1, end or opened.document.line_count
        if heading is not None:
            tree = await asyncio.to_thread(parse_tree, opened.text)
            first, last = lines_of_heading(tree.sections, heading)
        if not 1 <= first <= min(last, opened.document.line_count):
            raise InvalidInput(
                f"There are no lines {first} to {last}; {found.source} has {opened.document.line_count}."
            )
        last = min(last, first + MAX_READ - 1, opened.document.line_count)
        return self._passage(opened, first, last)

    async def grep(self, pattern: str, *, document: str | None, most: int) -> Sequence[Passage]:
        """The lines in which a pattern occurs, each with its neighbours."""
        identity = (await self._find(document)).id if document is not None else None
        spaces = None if identity else await self.spaces()
        wanted = Wanted(pattern, spaces, identity, ignore_case=True, max_matches=most, seconds=10)
        found = await grep_documents(self.bench, self.who, wanted) if spaces != [] else None
        matches = found.matches if found else ()
        texts = {key: await open_text(self.bench, self.who, key) for key in {m.document_id for m in matches}}
        return [
            self._passage(texts[match.document_id], max(1, match.line - 1), match.line + 1)
            for match in matches
        ]

    async def list_documents(self, contains: str, *, most: int) -> tuple[Sequence[Listed], bool]:
        """Documents whose name or title contains a text, and whether there are more."""
        wanted, found = contains.casefold(), list[Listed]()
        for space_id in await self.spaces():
            after = ""
            while len(found) <= most:
                async with self.bench.db.read() as conn:
                    page = await document_table.list_documents(conn, space_id, after=after, limit=_PAGE)
                found += [_listed(one) for one in page if wanted in f"{one.source} {one.title}".casefold()]
                if len(page) < _PAGE:
                    break
                after = page[-1].id
        return found[:most], len(found) > most

    async def outline(self, document: str) -> tuple[Listed, Sequence[Heading]]:
        """The headings of a document with the lines below each."""
        opened = await open_text(self.bench, self.who, (await self._find(document)).id)
        tree = await asyncio.to_thread(parse_tree, opened.text)
        headings = [
            Heading(node.level, node.title, node.start_line, node.end_line)
            for node in tree.sections
            if node.level
        ]
        return _listed(opened.document), headings[:_MOST_HEADINGS]

    async def lines(self, document_id: str, start: int, end: int) -> Passage | None:
        """Lines as they can be read now; None when they cannot."""
        try:
            opened = await open_text(self.bench, self.who, (await self._find(document_id)).id)
        except KosmosError:
            return None
        return self._passage(opened, start, end) if end <= opened.document.line_count else None

    async def _find(self, name: str) -> Document:
        """The document of that id or name, in the spaces that may be read."""
        spaces = await self.spaces()
        async with self.bench.db.read() as conn:
            found = await document_table.get_document(conn, name) if storable(name) else None
            if found is not None and found.space_id in spaces:
                return await require_document(conn, self.who, found.id)
            named = [
                one
                for space_id in (spaces if storable(name) else [])
                for one in await document_table.find_by_source(conn, space_id, name)
            ]
        if not named:
            raise NotFound(f"There is no document {name[:200]!r}.", remedy="list_documents shows them.")
        if len(named) > 1:
            ids = ", ".join(one.id for one in named[:10])
            raise InvalidInput(f"Several documents are called {name[:200]!r}.", remedy=f"Give the id: {ids}")
        return named[0]

    async def passages(self, hits: Sequence[SearchHit]) -> list[Passage]:
        """Hits as passages, with the lines as they stand now; a document that has just gone drops out."""
        texts: dict[str, OpenText | None] = {}
        for key in dict.fromkeys(hit.document_id for hit in hits):
            try:
                texts[key] = await open_text(self.bench, self.who, key)
            except KosmosError:
                texts[key] = None
        above = await self._headings([hit.chunk_id for hit in hits])
        made = []
        for hit in hits:
            opened = texts[hit.document_id]
            if opened is not None and hit.end_line <= opened.document.line_count:
                passage = self._passage(opened, hit.start_line, hit.end_line, hit.chunk_id)
                made.append(replace(passage, headings=above.get(hit.chunk_id, ())))
        return made

    async def _headings(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The headings above chunks: a list without the line that says what it lists tells nothing."""
        known: dict[str, Chunk] = {}
        wanted = set(chunk_ids)
        async with self.bench.db.read() as conn:
            while wanted:
                found = await chunk_table.live_chunks_by_id(conn, list(wanted))
                known |= found
                wanted = {one.parent_id for one in found.values() if one.parent_id} - set(known)
        return {one: _path(known, one) for one in chunk_ids}

    def _passage(self, opened: OpenText, start: int, end: int, chunk_id: str = "") -> Passage:
        """Lines as they may be shown."""
        document, end = opened.document, min(end, opened.document.line_count)
        text, exact = slice_lines(opened.text, start, end), slice_lines(opened.exact, start, end)
        return Passage(
            text=text,
            source=document.source,
            title=document.title,
            document_id=document.id,
            start_line=start,
            end_line=end,
            page=page_at(span_pages(opened.origins, start, end), start),
            version=document.version,
            chunk_id=chunk_id,
            exact=None if text == exact else exact,
        )


def _path(known: Mapping[str, Chunk], chunk_id: str) -> tuple[str, ...]:
    """The titles above a chunk, outermost first."""
    titles: list[str] = []
    chunk = known.get(chunk_id)
    while chunk is not None and chunk.parent_id and len(titles) < _DEEPEST:
        chunk = known.get(chunk.parent_id)
        if chunk is not None:
            titles.append(chunk.raw_content.split("\n", 1)[0].strip("# \t")[:100])
    return tuple(reversed(titles))


def _listed(document: Document) -> Listed:
    return Listed(document.id, document.source, document.title, document.line_count)
