"""Proving what was said: every quote of a stored answer stands, to the letter, in the lines it names.

What an answer cites may be removed or replaced later; such citations are counted as gone, they are no fault.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import documents
from kosmos.db.tables_agents import chat_message, chat_session, event
from kosmos.domain.documents import Document
from kosmos.domain.events import EventType
from kosmos.domain.sessions import MessageType
from kosmos.errors import DataLost
from kosmos.tasks.verifying import Fault, Verification
from kosmos.tasks.workbench import Workbench

PAGE = 200
_REMEDY = "Ask again; restore a backup if the text must not have changed."


@dataclass(frozen=True, slots=True)
class Stored:
    """A citation as it lies in a message or an event, whatever became of it there."""

    document_id: str
    version: int
    start_line: int
    end_line: int
    quote: str

    @classmethod
    def of(cls, given: Any) -> "Stored | None":
        """None where it does not speak of lines of a document, as what the web said does not."""
        if not isinstance(given, Mapping) or given.get("url") or not given.get("document_id"):
            return None
        numbers = [given.get(name, 0) for name in ("version", "start_line", "end_line")]
        whole = [number if isinstance(number, int) else 0 for number in numbers]
        return cls(str(given["document_id"]), whole[0], whole[1], whole[2], str(given.get("quote", "")))

    def stands_in(self, lines: Sequence[str]) -> bool:
        """Whether the lines are there and hold the quote."""
        if not self.quote or not 1 <= self.start_line <= self.end_line <= len(lines):
            return False
        return self.quote in "\n".join(lines[self.start_line - 1 : self.end_line])


async def verify_answers(
    bench: Workbench, *, owner_id: str | None = None, space_ids: Collection[str] | None = None
) -> Verification:
    """Look at all citations of a user's talks, or of everybody's; only those of some spaces, if given."""
    total, reader = Verification(), _Reader(bench, space_ids)
    async for page in _pages(bench, owner_id):
        total += await reader.check(page)
    return total


class _Reader:
    """Checks citations; texts are read once for each page of them."""

    def __init__(self, bench: Workbench, space_ids: Collection[str] | None) -> None:
        self._bench = bench
        self._space_ids = space_ids

    async def check(self, cited: Sequence[Stored]) -> Verification:
        """What became of these."""
        async with self._bench.db.read() as conn:
            found = await documents.get_documents(conn, sorted({item.document_id for item in cited}))
        held: dict[str, list[Stored]] = {}
        gone = 0
        for item in cited:
            document = found.get(item.document_id)
            if document is None or not _same_version(document, item):
                gone += self._space_ids is None
            elif self._space_ids is None or document.space_id in self._space_ids:
                held.setdefault(document.id, []).append(item)
        faults = [fault for key, items in held.items() async for fault in self._faults(found[key], items)]
        count = sum(len(items) for items in held.values())
        return Verification(citations=count, gone=gone, faults=tuple(faults))

    async def _faults(self, document: Document, items: Sequence[Stored]) -> AsyncIterator[Fault]:
        try:
            data = await self._bench.blobs.read(document.canonical_sha256 or "")
        except DataLost:
            return  # that its text is lost is said of the document
        lines = data.decode(errors="replace").split("\n")
        for item in items:
            if not item.stands_in(lines):
                place = f"lines {item.start_line}-{item.end_line}"
                message = f"an answer cites {place} with words that do not stand there"
                yield Fault(document.id, document.source, "citation", message, _REMEDY)


def _same_version(document: Document, cited: Stored) -> bool:
    """Whether the text that was cited is the one that is there; 0 stands for whichever there was."""
    return document.canonical_sha256 is not None and cited.version in (0, document.version)


async def _pages(bench: Workbench, owner_id: str | None) -> AsyncIterator[list[Stored]]:
    """The citations of messages and of final answers among events, some at a time."""
    sources = (
        (chat_message, [chat_message.c.id], chat_message.c.metadata, MessageType.ASSISTANT),
        (event, [event.c.run_id, event.c.sequence], event.c.payload, EventType.FINAL_ANSWER),
    )
    for table, keys, body, kind in sources:
        query = sa.select(*keys, body.label("body")).where(table.c.type == kind.value)
        if owner_id is not None:
            query = query.join(chat_session, chat_session.c.id == table.c.session_id)
            query = query.where(chat_session.c.owner_id == owner_id)
        after: tuple[Any, ...] | None = None
        while True:
            async with bench.db.read() as conn:
                rows = await _page(conn, query, keys, after)
            yield list(_cited(row.body for row in rows))
            if len(rows) < PAGE:
                break
            after = tuple(rows[-1])[: len(keys)]


async def _page(
    conn: AsyncConnection, query: sa.Select[Any], keys: list[Any], after: tuple[Any, ...] | None
) -> Sequence[sa.Row[Any]]:
    if after is not None:
        query = query.where(sa.tuple_(*keys) > sa.tuple_(*map(sa.literal, after)))
    found: Sequence[sa.Row[Any]] = (await conn.execute(query.order_by(*keys).limit(PAGE))).all()
    return found


def _cited(bodies: Iterable[Any]) -> Iterable[Stored]:
    for body in bodies:
        listed = body.get("citations", ()) if isinstance(body, Mapping) else ()
        for given in listed if isinstance(listed, list) else ():
            if (item := Stored.of(given)) is not None:
                yield item
