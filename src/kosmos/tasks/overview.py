"""Everything about one document on one page: how far it is, what it was made of and what that cost."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_document
from kosmos.chunking.redaction import shown_values
from kosmos.db import assets, chunks, jobs, versions
from kosmos.db.jobs import JobFilter
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.assets import Asset
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.domain.jobs import Job, Spent
from kosmos.errors import DataLost
from kosmos.tasks.extracts import read_notes
from kosmos.tasks.showing import settings_of, shown_assets, shown_chunks
from kosmos.tasks.workbench import Workbench

_JOBS = 1000


@dataclass(frozen=True, slots=True)
class Overview:
    """A document with its parts. `converter` made its text; `notes` say what the conversion left out."""

    document: Document
    converter: str
    notes: tuple[str, ...]
    assets: tuple[Asset, ...]
    chunk_count: int
    jobs: tuple[Job, ...]  # newest first
    spent: Spent  # by all of them


async def view_document(bench: Workbench, who: Principal, document_id: str) -> Overview:
    """The document as a whole, if the caller may read it."""
    async with bench.db.read() as conn:
        document = await require_document(conn, who, document_id)
        version = await versions.get_version(conn, document.id, document.live_generation)
        found = await assets.list_assets(conn, document.id, document.live_generation)
        count = await chunks.count_live_chunks(conn, document.id)
        work = await _all_jobs(conn, document.id)
        kinds = (await settings_of(conn, document.space_id)).hidden_kinds
    try:
        notes = await read_notes(bench, version.extract_sha256 if version else None)
    except DataLost:
        notes = []  # a new version has just taken its place
    return Overview(
        document,
        version.converter if version else "",
        tuple(shown_values(notes, kinds)),
        tuple(shown_assets(found, kinds)),
        count,
        tuple(work),
        sum((job.spent for job in work), start=Spent()),
    )


async def list_chunks(
    bench: Workbench,
    who: Principal,
    document_id: str,
    *,
    after: int = -1,
    limit: int = 100,
    verbatim: bool = False,
) -> list[Chunk]:
    """The live chunks behind a position, in the order of the text; parents come before their children.

    Their text is the one that may be shown; owners may have it verbatim.
    """
    need = Role.OWNER if verbatim else Role.VIEWER
    async with bench.db.read() as conn:
        document = await require_document(conn, who, document_id, need=need)
        found = await chunks.page_live_chunks(conn, document.id, after=after, limit=limit)
    return found if verbatim else shown_chunks(found)


async def _all_jobs(conn: AsyncConnection, document_id: str) -> list[Job]:
    found: list[Job] = []
    wanted = JobFilter(document_id=document_id)
    while page := await jobs.list_jobs(conn, wanted, before=found[-1].id if found else "", limit=_JOBS):
        found += page
        if len(page) < _JOBS:
            break
    return found
