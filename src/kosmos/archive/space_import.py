"""`kosmos import`: a space out of a file of anybody. It is there as a whole, or not at all."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_scope
from kosmos.accounts.spaces import MAX_DESCRIPTION, MAX_JSON
from kosmos.archive.index import Rebuilt, rebuild_index
from kosmos.archive.progress import Step, say_nothing
from kosmos.archive.reading import Reader
from kosmos.archive.restore import check_archive
from kosmos.archive.rows import Values, refused
from kosmos.archive.space_rows import check_rows, choose_ids, in_pages, read_rows, renamed
from kosmos.archive.spaces import CARRIED
from kosmos.archive.tables import write_rows
from kosmos.db import blobs as blob_rows
from kosmos.db import chunks, documents, spaces
from kosmos.db.tables import knowledge_space
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.documents import Document
from kosmos.domain.names import clean_name
from kosmos.domain.space_settings import check_settings
from kosmos.domain.spaces import Space
from kosmos.domain.values import check_json, check_text
from kosmos.errors import Conflict
from kosmos.tasks.jobs import create_job
from kosmos.tasks.keeping import release_blobs
from kosmos.tasks.preflight import JobRequest
from kosmos.tasks.reindexing import REINDEXING
from kosmos.tasks.space_encoders import wants_vectors
from kosmos.tasks.verifying import CHECKS, Subject, Verification, verify_space
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Imported:
    """A space that is there now; `renamed` ids were taken, `job_id` makes its vectors."""

    space_id: str
    name: str
    documents: int
    chunks: int
    blobs: int
    renamed: int
    index: Rebuilt
    verified: Verification
    job_id: str | None


async def import_space(
    bench: Workbench, who: Principal, reader: Reader, *, name: str | None = None, step: Step = say_nothing
) -> Imported:
    """Make the space of an archive one of the caller's own."""
    require_scope(who, Scope.WRITE)
    await check_archive(reader, step)
    known = await asyncio.to_thread(check_rows, reader)
    wanted = _space(known.space, who, name)
    try:
        for done, sha256 in enumerate(reader.blobs):
            await bench.blobs.put(await _bytes(reader, sha256))
            step(done + 1, len(reader.blobs), "files")
        async with bench.db.write() as conn:
            ids = await choose_ids(conn, known)
            await _write(bench, conn, reader, wanted, ids)
    except (sa.exc.IntegrityError, sa.exc.DataError):
        await release_blobs(bench, list(reader.blobs))
        raise refused("its rows do not fit together") from None
    except BaseException:
        await asyncio.shield(release_blobs(bench, list(reader.blobs)))
        raise
    space_id = ids.get(wanted.id, wanted.id)
    rebuilt = await rebuild_index(bench, space_id, step)
    verified = await _verify(bench, who, space_id)
    job_id = await _let_encode(bench, who, space_id)
    counts = (len(known.documents), len(known.chunks), len(reader.blobs), len(ids))
    return Imported(space_id, wanted.name, *counts, index=rebuilt, verified=verified, job_id=job_id)


def _space(row: Values, who: Principal, name: str | None) -> Space:
    """The space as it may be stored here, or InvalidInput."""
    check_settings(row["settings"])
    return Space(
        id=row["id"],
        owner_id=who.user.id,
        name=clean_name(name or row["name"], what="space name"),
        description=check_text(row["description"], what="description", most=MAX_DESCRIPTION),
        metadata=check_json(row["metadata"], what="metadata", most=MAX_JSON),
        settings=check_json(row["settings"], what="settings", most=MAX_JSON),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def _write(
    bench: Workbench, conn: AsyncConnection, reader: Reader, space: Space, ids: Mapping[str, str]
) -> None:
    await _hold(bench, conn, reader)
    await _write_space(bench, conn, space, ids)
    for table in CARRIED:
        if table is knowledge_space:
            continue
        pages = in_pages(read_rows(reader, table))
        while page := await asyncio.to_thread(next, pages, None):
            await write_rows(conn, table, [renamed(row, ids) for row in page])
    after = ""
    while page_ := await documents.list_documents(conn, ids.get(space.id, space.id), after=after, limit=100):
        for document in page_:
            await _prove(conn, reader, document)
        after = page_[-1].id


async def _hold(bench: Workbench, conn: AsyncConnection, reader: Reader) -> None:
    """A collector may have taken bytes before their row was locked."""
    for sha256, size in sorted(reader.blobs.items()):  # in one order, so that nobody waits in a circle
        await blob_rows.hold(conn, sha256, size, bench.clock())
        if not await bench.blobs.exists(sha256):
            await bench.blobs.put(await _bytes(reader, sha256))


async def _write_space(bench: Workbench, conn: AsyncConnection, space: Space, ids: Mapping[str, str]) -> None:
    if await spaces.find_views(conn, space.owner_id, space.name):
        raise Conflict(
            f"You see a space called {space.name!r} already.", remedy="Give another name: --space NAME"
        )
    space_id = ids.get(space.id, space.id)
    values = {name: getattr(space, name) for name in Space.__dataclass_fields__}
    await spaces.insert_space(conn, Space(**values | {"id": space_id}))
    await spaces.put_member(conn, space_id, space.owner_id, role=Role.OWNER, now=bench.clock())


async def _prove(conn: AsyncConnection, reader: Reader, document: Document) -> None:
    """The chunks are the text, to the byte, and their tree is sound; the index comes later."""
    data = await _bytes(reader, document.canonical_sha256 or "") if document.canonical_sha256 else ""
    subject = Subject(document, data, await chunks.live_chunks(conn, document.id), {})
    for check in CHECKS:
        for fault in check.faults(subject) if check.name != "index" else ():
            raise refused(f"{document.source[:80]}: {fault}")


async def _bytes(reader: Reader, sha256: str) -> bytes:
    return await asyncio.to_thread(lambda: b"".join(reader.blob(sha256)))


async def _verify(bench: Workbench, who: Principal, space_id: str) -> Verification:
    total, after = Verification(), ""
    while True:
        part = await verify_space(bench, who, space_id, after=after)
        total += part
        if part.next is None:
            return total
        after = part.next


async def _let_encode(bench: Workbench, who: Principal, space_id: str) -> str | None:
    """A job that makes the vectors, where there is an encoder."""
    async with bench.db.read() as conn:
        if not await wants_vectors(bench, conn, space_id):
            return None
    return (await create_job(bench, who, JobRequest(REINDEXING, space_id=space_id))).job.id
