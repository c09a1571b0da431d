"""The papers of a question as one caller may read them: whole, by recall, by lines."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kosmos.accounts.access import require_document, require_space
from kosmos.agents.literature.contract import Evidence, Paper, PaperText, Place
from kosmos.agents.literature.cutting import cut_pieces
from kosmos.db import documents as document_table
from kosmos.db.redactions import live_redactions
from kosmos.domain.accounts import Principal
from kosmos.domain.documents import Document
from kosmos.domain.language import language_of
from kosmos.domain.papers import PaperFacts, load_facts
from kosmos.domain.redactions import load_redactions
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import InvalidInput, NotFound
from kosmos.ingest.papers import find_bibliography
from kosmos.tasks.knowledge_desk import KnowledgeDesk
from kosmos.tasks.literature_wishes import MAX_DOCUMENTS
from kosmos.tasks.reading import OpenText, PageSpan, open_text, page_at, span_pages
from kosmos.tasks.workbench import Workbench
from kosmos.tools.contract import Passage
from kosmos.tools.recall import RecallTool, RecallToolCache, Recollection

GIVEN = "content"  # the name of a text that the request brought along
WEAK_RESULTS = 3  # taken where nothing is like enough, and marked as such
SPARE = 5  # chunks more than wanted: those of reference lists are dropped
PAGE = 500


async def find_documents(
    bench: Workbench, who: Principal, doc_ids: Sequence[str], space_ids: Sequence[str] | None
) -> list[Document]:
    """The documents that are named, in that order; without names, all of the spaces, if spaces are named."""
    found: list[Document] = []
    async with bench.db.read() as conn:
        for document_id in dict.fromkeys(doc_ids):
            document = await require_document(conn, who, document_id)
            if space_ids is not None and document.space_id not in space_ids:
                raise NotFound(f"There is no document {document_id}.", remedy="Look at the agent's spaces.")
            found.append(document)
        for space_id in () if doc_ids else space_ids or ():
            await require_space(conn, who, space_id)
            after = ""
            while page := await document_table.list_documents(conn, space_id, after=after, limit=PAGE):
                found, after = found + page, page[-1].id
                _check_count(len(found))
    return found


def _check_count(count: int) -> None:
    if count > MAX_DOCUMENTS:
        raise InvalidInput(
            f"These spaces hold more than {MAX_DOCUMENTS:,} documents.", remedy="Name some with doc_ids."
        )


async def papers_of(bench: Workbench, documents: Sequence[Document]) -> list[Paper]:
    """Documents as papers; the hash of each tells what may be read of it now."""
    async with bench.db.read() as conn:
        hidden = await live_redactions(conn, [document.id for document in documents]) if documents else {}
    return [
        Paper(
            document.id,
            document.source,
            load_facts(document.metadata, document.title),
            _hash(document.canonical_sha256 or "", hidden.get(document.id, [])),
        )
        for document in documents
    ]


def _hash(canonical: str, hidden: Sequence[object]) -> str:
    """The hash of a text, and of what is hidden of it."""
    if not hidden:
        return canonical
    layer = sorted(json.dumps(item, sort_keys=True) for item in hidden)
    return hashlib.sha256("\n".join([canonical, *layer]).encode()).hexdigest()


def given_paper(content: str) -> Paper:
    """A text that the request brought along."""
    title = next((line.strip("# \t") for line in content.split("\n") if line.strip()), GIVEN)[:200]
    return Paper("", GIVEN, PaperFacts(title=title), hashlib.sha256(content.encode()).hexdigest())


@dataclass(slots=True)
class LiteratureDesk:
    """The papers of one question. Rights are looked up at every reading."""

    desk: KnowledgeDesk
    papers: Sequence[Paper]
    tool: RecallTool
    content: str = ""
    tools: RecallToolCache = field(init=False)

    def __post_init__(self) -> None:
        self.tools = RecallToolCache(self.tool)

    async def read(self, paper: Paper) -> PaperText:
        """A whole paper in passages, without its reference list."""
        if not paper.document_id:
            return _text(
                self.content, _Frame(GIVEN, paper.title), find_bibliography(self.content.split("\n"))
            )
        opened = await open_text(self.desk.bench, self.desk.who, paper.document_id)
        return _text(opened.text, await self._frame(opened), _bibliography(opened))

    async def lines(self, document_id: str, place: Place) -> Passage | None:
        """Lines as they can be read now."""
        if document_id:
            return await self.desk.lines(document_id, *place)
        text = "\n".join(self.content.split("\n")[place[0] - 1 : place[1]])
        return Passage(text, GIVEN, start_line=place[0], end_line=place[1]) if text else None

    async def recall(self, question: str, paper: Paper | None) -> Sequence[Evidence]:
        """What fits a question, scored; where nothing is like enough, the likest, marked as weak."""
        if not (paper or self.papers[0]).document_id:
            return await self._scan(question)
        tool = self.tools.get(paper.document_id) if paper else self.tool
        found = await self._ask(tool, question)
        if found or tool.similarity_threshold <= 0:
            return [Evidence(item.passage, item.similarity, question) for item in found]
        loose = replace(tool, similarity_threshold=0.0, top_n=min(WEAK_RESULTS, tool.top_n))
        weak = await self._ask(loose, question)
        return [Evidence(item.passage, item.similarity, question, weak=True) for item in weak]

    async def _ask(self, tool: RecallTool, question: str) -> list[Recollection]:
        """What a tool finds that is content: never lines of a reference list."""
        listed = {paper.document_id: paper.facts.bibliography for paper in self.papers}
        found = [await self._known(item) for item in await replace(tool, top_n=tool.top_n + SPARE)(question)]
        kept = [item for item in found if not _in_list(item.passage, listed.get(item.passage.document_id))]
        return kept[: tool.top_n]

    async def _known(self, item: Recollection) -> Recollection:
        """What another server found in a document of ours is read here, so that its lines can be cited."""
        passage = item.passage
        mine = any(paper.document_id == passage.document_id for paper in self.papers)
        if passage.url is None or not mine or not passage.start_line:
            return item
        read = await self.desk.lines(passage.document_id, passage.start_line, passage.end_line)
        return item if read is None else replace(item, passage=read)

    async def _scan(self, question: str) -> list[Evidence]:
        """A text that is in no index is looked through by the words it shares with the question."""
        from kosmos.retrieval.terms import terms

        wanted, text = set(terms(question)), await self.read(self.papers[0])
        bags = [wanted & set(terms(passage.text)) for passage in text.passages]
        scored = [
            Evidence(passage, len(bag) / max(1, len(wanted)), question)
            for passage, bag in zip(text.passages, bags, strict=True)
            if bag
        ]
        return sorted(scored, key=lambda item: -item.score)[: self.tool.top_n]

    async def _frame(self, opened: OpenText) -> "_Frame":
        document = opened.document
        async with self.desk.bench.db.read() as conn:
            stored = (await live_redactions(conn, [document.id])).get(document.id, [])
        hidden = [item for layer in stored for item in load_redactions(layer)]
        covered = {line for item in hidden for line in range(item.start_line, item.end_line + 1)}
        pages = span_pages(opened.origins, 1, document.line_count)
        return _Frame(
            document.source, document.title, document.id, document.version, pages, frozenset(covered)
        )


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all passages of a text share; `covered` are lines in which something is hidden."""

    source: str
    title: str
    document_id: str = ""
    version: int = 0
    pages: tuple[PageSpan, ...] = ()
    covered: frozenset[int] = frozenset()


def _text(text: str, frame: _Frame, listed: tuple[int, int] | None) -> PaperText:
    lines = text.split("\n")
    made = []
    for piece in cut_pieces(lines, leave_out=listed) if text.strip() else []:
        own = lines[piece.start - 1 : piece.end]
        numbers = range(piece.start, piece.end + 1)
        exact = None
        if not frame.covered.isdisjoint(numbers):
            kept = [
                "" if number in frame.covered else line for number, line in zip(numbers, own, strict=True)
            ]
            exact = "\n".join(kept)
        made.append(
            Passage(
                text="\n".join(own),
                source=frame.source,
                title=frame.title,
                document_id=frame.document_id,
                start_line=piece.start,
                end_line=piece.end,
                page=page_at(frame.pages, piece.start),
                version=frame.version,
                exact=exact,
                headings=piece.headings,
            )
        )
    return PaperText(tuple(made), sum(estimate_tokens(one.text) + 20 for one in made), language_of(text))


def _bibliography(opened: OpenText) -> tuple[int, int] | None:
    known = load_facts(opened.document.metadata).bibliography
    return known or find_bibliography(opened.text.split("\n"))


def _in_list(passage: Passage, listed: tuple[int, int] | None) -> bool:
    """Whether a passage is part of a reference list."""
    if listed is not None and listed[0] <= passage.start_line <= listed[1]:
        return True
    return any(find_bibliography(["", "", title, "[1]"]) is not None for title in passage.headings)
