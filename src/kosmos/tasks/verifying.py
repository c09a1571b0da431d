"""Proving what is stored: that every text is whole, its chunks are the text, and the index says the same.

`CHECKS` lists what is looked at in each document. Answers that cite documents are proved by
`verifying_answers`.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kosmos.accounts.access import require_space
from kosmos.chunking.coverage import join_chunks
from kosmos.chunking.rules import as_drafts, check_chunks
from kosmos.db import chunks, documents
from kosmos.domain.accounts import Principal
from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.ids import made_at
from kosmos.domain.redactions import load_redactions
from kosmos.errors import DataLost
from kosmos.retrieval.indexing import collection_of
from kosmos.store.filters import In, Not
from kosmos.tasks.reindexing import YOUNG
from kosmos.tasks.showing import shown_chunk
from kosmos.tasks.workbench import Workbench

AT_ONCE = 50  # documents looked at together
LOOKS = 3  # at a document that is being worked on meanwhile
WAIT_SECONDS = 0.2
MOST_NAMED = 5  # faults of one kind that are named for a document
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Subject:
    """A document with all that is stored for it; for a text that cannot be read, `data` says why."""

    document: Document
    data: bytes | str
    chunks: Sequence[Chunk]
    rows: Mapping[str, Mapping[str, Any]]  # fields of its index rows by pk

    @property
    def text(self) -> str | None:
        """The canonical text, if it can be read."""
        return self.data.decode(errors="replace") if isinstance(self.data, bytes) else None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold, and what to do where it does not."""

    name: str
    faults: Callable[[Subject], Iterator[str]]
    remedy: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What does not hold for a document."""

    document_id: str
    source: str
    check: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked at: `verified` of `documents` are without fault; `waiting` have no text yet.

    `citations` of stored answers were looked at, `gone` more cite what was removed or replaced since.
    `next` names the last document when there are more.
    """

    documents: int = 0
    verified: int = 0
    waiting: int = 0
    faults: tuple[Fault, ...] = field(default=())
    next: str | None = None
    citations: int = 0
    gone: int = 0

    def __add__(self, other: "Verification") -> "Verification":
        return Verification(
            self.documents + other.documents,
            self.verified + other.verified,
            self.waiting + other.waiting,
            (*self.faults, *other.faults),
            other.next,
            self.citations + other.citations,
            self.gone + other.gone,
        )


def _text_faults(subject: Subject) -> Iterator[str]:
    """The stored bytes are those that the document names."""
    document, data = subject.document, subject.data
    if isinstance(data, str):
        yield data
    elif hashlib.sha256(data).hexdigest() != document.canonical_sha256:
        yield "the bytes of its text are not those that it was made of"
    elif (data.count(b"\n") + 1 if data else 0) != document.line_count:
        yield f"its text has not the {document.line_count} lines that it is said to have"


def _fidelity_faults(subject: Subject) -> Iterator[str]:
    """The chunks joined are the text, to the byte, whatever became of the stored text."""
    joined = join_chunks(subject.chunks).encode("utf-8", "surrogatepass")
    if hashlib.sha256(joined).hexdigest() != subject.document.canonical_sha256:
        yield "the chunks joined do not give its text"


def _tree_faults(subject: Subject) -> Iterator[str]:
    """No gap, no overlap, and a tree that obeys the rules."""
    text = subject.text
    for violation in check_chunks(text, as_drafts(subject.chunks)) if text is not None else ():
        where = "" if violation.position is None else f"chunk {violation.position}: "
        yield f"{where}{violation.message}"


def _layer_faults(subject: Subject) -> Iterator[str]:
    """What is hidden can be read as such."""
    for chunk in subject.chunks:
        try:
            load_redactions(chunk.redaction)
        except DataLost:
            yield f"what is hidden in lines {chunk.start_line}-{chunk.end_line} cannot be read"


def _index_faults(subject: Subject) -> Iterator[str]:
    """There is one row for each chunk and no other, with the text and summary that may be shown of it."""
    rows = dict(subject.rows)
    for chunk in subject.chunks:
        row, place = rows.pop(chunk.id, None), f"lines {chunk.start_line}-{chunk.end_line}"
        if row is None:
            yield f"{place} are not in the index"
        elif row.get("summary") != chunk.summary or row.get("text") != _indexed_text(chunk):
            yield f"the index has another text or summary of {place}"
    live = subject.document.live_generation
    dead = [pk for pk, row in rows.items() if row.get("generation", 0) <= live]  # newer ones are on their way
    if dead:
        yield f"the index has {len(dead)} rows of chunks that are gone"


def _indexed_text(chunk: Chunk) -> str | None:
    try:
        return without_comments(shown_chunk(chunk).raw_content)
    except DataLost:
        return None


_AGAIN = "Chunk it again: kosmos rechunk"
_REINDEX = "Rebuild the index: kosmos reindex"
CHECKS: tuple[Check, ...] = (
    Check("text", _text_faults, "Add its file again."),
    Check("fidelity", _fidelity_faults, _AGAIN),
    Check("tree", _tree_faults, _AGAIN),
    Check("redaction", _layer_faults, _AGAIN),
    Check("index", _index_faults, _REINDEX),
)


async def verify_space(
    bench: Workbench, who: Principal, space_id: str, *, after: str = "", limit: int = 200
) -> Verification:
    """Look at so many documents of a space behind one; behind the last, also at what belongs to none."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id)
        listed = await documents.list_documents(conn, space_id, after=after, limit=limit)
    total = Verification()
    for start in range(0, len(listed), AT_ONCE):
        total += await _verify(bench, space_id, listed[start : start + AT_ONCE])
    if len(listed) == limit:
        return total + Verification(next=listed[-1].id)
    return total + await _find_strays(bench, space_id)


async def _verify(bench: Workbench, space_id: str, listed: Sequence[Document]) -> Verification:
    live = [document for document in listed if document.live_generation]
    subjects = await _gather(bench, space_id, live)
    found = await asyncio.to_thread(lambda: [_faults(subject) for subject in subjects])
    faults: list[Fault] = []
    for subject, wrong in zip(subjects, found, strict=True):
        faults += await _look_again(bench, subject) if wrong else []
    bad = len({fault.document_id for fault in faults})
    return Verification(len(live), len(live) - bad, len(listed) - len(live), tuple(faults))


async def _look_again(bench: Workbench, subject: Subject) -> list[Fault]:
    """The faults of a document that stay: what is being changed may look wrong for a moment."""
    for _ in range(LOOKS):
        await asyncio.sleep(WAIT_SECONDS)
        async with bench.db.read() as conn:
            document = await documents.get_document(conn, subject.document.id)
        if document is None or document.live_generation == 0:
            return []
        (subject,) = await _gather(bench, document.space_id, [document])
        faults = await asyncio.to_thread(_faults, subject)
        if not faults or document.draft_generation is None:
            break
    return faults


def _faults(subject: Subject) -> list[Fault]:
    document = subject.document
    found: list[Fault] = []
    for check in CHECKS:
        messages = list(check.faults(subject))
        if len(messages) > MOST_NAMED:
            messages = [*messages[:MOST_NAMED], f"and {len(messages) - MOST_NAMED} more of this kind"]
        found += [
            Fault(document.id, document.source, check.name, message, check.remedy) for message in messages
        ]
    return found


async def _gather(bench: Workbench, space_id: str, live: Sequence[Document]) -> list[Subject]:
    """The documents with all that is stored for them."""
    ids = [document.id for document in live]
    async with bench.db.read() as conn:
        its_chunks = await chunks.chunks_of(conn, ids)
    data = await asyncio.gather(*(_read(bench, document) for document in live))
    rows = await _rows(bench, space_id, ids)
    return [
        Subject(document, text, its_chunks[document.id], rows[document.id])
        for document, text in zip(live, data, strict=True)
    ]


async def _read(bench: Workbench, document: Document) -> bytes | str:
    if document.canonical_sha256 is None:
        return "it names no text"
    try:
        return await bench.blobs.read(document.canonical_sha256)
    except DataLost as error:
        return error.message


async def _rows(
    bench: Workbench, space_id: str, ids: Sequence[str]
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The index rows of documents."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {document_id: {} for document_id in ids}
    collection, wanted, after = collection_of(space_id), In("document_id", frozenset(ids)), ""
    while page := await bench.store.query(collection, wanted, limit=_ROWS, after=after) if ids else []:
        for row in page:
            found[row.fields["document_id"]][row.pk] = row.fields
        after = page[-1].pk
        if len(page) < _ROWS:
            break
    return found


async def _find_strays(bench: Workbench, space_id: str) -> Verification:
    """Rows of the index that belong to no document of the space; one that is just being added is young."""
    known: set[str] = set()
    async with bench.db.read() as conn:
        while page := await documents.list_documents(conn, space_id, after=max(known, default="")):
            known |= {document.id for document in page}
    others = Not(In("document_id", frozenset(known)))
    rows = await bench.store.query(collection_of(space_id), others, limit=_ROWS)
    horizon = bench.clock() - YOUNG
    strays = [row for row in rows if made_at(str(row.fields.get("document_id"))) < horizon]
    if not strays:
        return Verification()
    message = f"the index has {len(strays)} rows of documents that are gone"
    return Verification(faults=(Fault("", "", "index", message, _REINDEX),))
