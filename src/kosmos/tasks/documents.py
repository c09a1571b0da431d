"""Documents as their readers and owners handle them: list, read, remove. Rights are checked here."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_document, require_space, resolve_space
from kosmos.db import assets, documents, jobs, spaces, versions
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.documents import Document
from kosmos.errors import DataLost, InvalidInput, NotFound
from kosmos.retrieval.indexing import collection_of
from kosmos.store.filters import Eq
from kosmos.tasks.keeping import release_blobs
from kosmos.tasks.showing import open_live
from kosmos.tasks.workbench import Workbench

MAX_LINES = 5000


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a document: from `start_line` (counted from 1) on."""

    document: Document
    start_line: int
    lines: tuple[str, ...]


async def find_document(bench: Workbench, who: Principal, name: str, *, space: str | None = None) -> Document:
    """The document of that id, or of that source name in a space."""
    async with bench.db.read() as conn:
        if space is None:
            by_id = await documents.get_document(conn, name)
            if by_id is not None:
                return await require_document(conn, who, name)
        view = await resolve_space(conn, who, space or "default")
        found = await documents.find_by_source(conn, view.space.id, name)
    if not found:
        raise NotFound(
            f"There is no document {name!r} in the space {view.space.name!r}.",
            remedy="List them with: kosmos documents list",
        )
    if len(found) > 1:
        ids = ", ".join(document.id for document in found)
        raise InvalidInput(f"Several documents are called {name!r}.", remedy=f"Give the id: {ids}")
    return found[0]


async def list_documents(
    bench: Workbench, who: Principal, space_id: str, *, after: str = "", limit: int = 100
) -> list[Document]:
    """The documents of a space that the caller may read."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id)
        return await documents.list_documents(conn, space_id, after=after, limit=limit)


async def get_document(bench: Workbench, who: Principal, document_id: str) -> Document:
    """The document, if the caller may read it."""
    async with bench.db.read() as conn:
        return await require_document(conn, who, document_id)


async def read_lines(
    bench: Workbench, who: Principal, document_id: str, *, start: int = 1, end: int | None = None
) -> LineRange:
    """Lines start..end (both included) of the canonical text as it is shown, at most 5,000 at a time."""
    document, text, _ = await open_live(
        bench, lambda conn: require_document(conn, who, document_id), missing=_no_text
    )
    last = document.line_count if end is None else end
    if start < 1 or last < start - 1:
        raise InvalidInput(
            f"There are no lines {start} to {last}; {document.source} has {document.line_count}.",
            remedy="Count from 1; give start before end.",
        )
    lines = text.split("\n")[start - 1 : min(last, start + MAX_LINES - 1)] if document.line_count else []
    return LineRange(document, start, tuple(lines))


def _no_text(document: Document) -> DataLost:
    return DataLost(f"{document.source} has no text yet.", remedy="Wait until it is READY, or add it again.")


async def remove_document(bench: Workbench, who: Principal, document_id: str) -> None:
    """Remove a document with its chunks, index rows and the blobs that nothing else needs."""
    async with bench.db.write() as conn:
        document = await require_document(conn, who, document_id, need=Role.EDITOR)
        hashes = await erase_document(conn, document)
    await clear_document(bench, document, hashes)


async def erase_document(conn: AsyncConnection, document: Document) -> list[str]:
    """Remove the rows of a document; what was stored for it is left to `clear_document`."""
    await jobs.lock_jobs(conn, document_id=document.id)
    hashes = await _blobs_of(conn, document)
    await documents.delete_document(conn, document.id)
    return hashes


async def clear_document(bench: Workbench, document: Document, hashes: Sequence[str]) -> None:
    """Remove what an erased document leaves: its index rows, and the blobs that nothing else needs."""
    await bench.store.delete(collection_of(document.space_id), Eq("document_id", document.id))
    await release_blobs(bench, hashes)


async def _blobs_of(conn: AsyncConnection, document: Document) -> list[str]:
    """Everything that is stored for a document."""
    hashes = [sha for sha in (document.original_sha256, document.canonical_sha256) if sha]
    hashes += await versions.version_blobs(conn, document.id)
    return hashes + await assets.asset_blobs(conn, document.id)


async def remove_space(bench: Workbench, who: Principal, space_id: str) -> None:
    """Remove a space with everything in it."""
    hashes: list[str] = []
    async with bench.db.write() as conn:
        await require_space(conn, who, space_id, need=Role.OWNER)
        await jobs.lock_jobs(conn, space_id=space_id)
        after = ""
        while batch := await documents.list_documents(conn, space_id, after=after, limit=1000):
            after = batch[-1].id
            for item in batch:
                hashes += await _blobs_of(conn, item)
        await spaces.delete_space(conn, space_id)
    await bench.store.drop(collection_of(space_id))
    await release_blobs(bench, hashes)
