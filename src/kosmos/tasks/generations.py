"""The version that a job works on: which one it is, and that it still is the one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import assets, chunks, documents, jobs, versions
from kosmos.domain.documents import Document, DocumentVersion
from kosmos.errors import Conflict, DataLost, NotFound
from kosmos.jobs.run import Run

Work = tuple[Document, DocumentVersion]


async def open_version(run: Run, *, start: Mapping[str, Any]) -> Work:
    """The document of a job and the version it makes.

    A job of a chain is told its generation. One that was made by itself begins a new generation out of
    what is there, or goes on with the one that it has begun.
    """
    document = await get_document(run)
    told, begun = run.job.context.get("generation"), run.progress.get("generation")
    wanted = told if told is not None else begun
    if wanted is not None and wanted == document.draft_generation:
        return document, await get_version(run, document, wanted)
    if told is not None:
        raise superseded(document)
    generation = max(document.live_generation, document.draft_generation or 0) + 1
    now = run.clock()
    async with run.restart({**start, "generation": generation}) as conn:
        await _not_being_made(conn, document)
        await _check(conn, run, document, {"draft_generation": generation}, "live_generation")
        await chunks.delete_generations(conn, document.id, keep=document.live_generation)
        before = await _newest(conn, document)
        made = replace(before, generation=generation, created_at=now, updated_at=now)
        await versions.insert_version(conn, made)
        await assets.copy_assets(conn, document.id, before.generation, generation, now)
    return replace(document, draft_generation=generation), made


async def newest_version(run: Run) -> Work:
    """The document of a job and the version that waits to be indexed, else the live one."""
    document = await get_document(run)
    told = run.job.context.get("generation")
    if told is not None and told not in (document.draft_generation, document.live_generation):
        raise superseded(document)
    if told is not None:
        return document, await get_version(run, document, told)
    async with run.db.glance() as conn:
        return document, await _newest(conn, document)


async def get_document(run: Run) -> Document:
    """The document of a job."""
    async with run.db.glance() as conn:
        document = await documents.get_document(conn, run.job.document_id or "")
    if document is None:
        raise NotFound("The document of this job is gone.", remedy="Nothing to do.")
    return document


async def get_version(run: Run, document: Document, generation: int) -> DocumentVersion:
    """One version of a document."""
    async with run.db.glance() as conn:
        version = await versions.get_version(conn, document.id, generation)
        if version is None and generation == document.live_generation:
            version = await _live_version(conn, document)
    if version is None:
        raise DataLost(f"A version of {document.source} is missing.", remedy="Add it again.")
    return version


async def still_draft(
    conn: AsyncConnection, run: Run, version: DocumentVersion, changes: Mapping[str, Any] | None = None
) -> None:
    """Inside a batch: change the document, or raise when another version has taken the place of this one."""
    same = {"draft_generation": version.generation}
    now = run.clock()
    if not await documents.update_document(conn, version.document_id, changes or {}, now, only_if=same):
        raise Conflict("Another version was added meanwhile.", remedy="That one is worked on by itself.")


def superseded(document: Document) -> Conflict:
    """The error of a job whose version is no longer wanted."""
    return Conflict(f"{document.source} has a newer version.", remedy="That one is worked on by itself.")


async def _check(
    conn: AsyncConnection, run: Run, document: Document, changes: Mapping[str, Any], *same: str
) -> None:
    unchanged = {name: getattr(document, name) for name in ("draft_generation", *same)}
    if not await documents.update_document(conn, document.id, changes, run.clock(), only_if=unchanged):
        raise superseded(document)


async def _not_being_made(conn: AsyncConnection, document: Document) -> None:
    """Raise when a version that somebody added is on its way: what it brings must not be lost."""
    making = [job for job in await jobs.open_jobs(conn, document.id) if "generation" in job.context]
    if making:
        raise Conflict(
            f"A new version of {document.source} is being worked on.", remedy="Wait until it is indexed."
        )


async def _newest(conn: AsyncConnection, document: Document) -> DocumentVersion:
    """The version to go on from: the live one, or the draft that an earlier job has made out of it.

    A version that was added and never finished does not come to life by the way, unless there is no other.
    """
    draft = await versions.get_version(conn, document.id, document.draft_generation or 0)
    if draft is not None and (document.live_generation == 0 or _redone(document, draft)):
        return draft
    return await _live_version(conn, document)


def _redone(document: Document, draft: DocumentVersion) -> bool:
    return draft.version == document.version and draft.canonical_sha256 is not None


async def _live_version(conn: AsyncConnection, document: Document) -> DocumentVersion:
    """The live version; documents of earlier releases have it in their own row only."""
    stored = await versions.get_version(conn, document.id, document.live_generation)
    if stored is not None:
        return stored
    return DocumentVersion(
        document_id=document.id,
        generation=document.live_generation,
        version=document.version,
        original_sha256=document.original_sha256,
        canonical_sha256=document.canonical_sha256,
        extract_sha256=None,
        size=document.size,
        filetype=document.filetype,
        converter="",
        line_count=document.line_count,
        title=document.title,
        metadata=document.metadata,
        hints={},
        created_at=document.created_at,
        updated_at=document.updated_at,
    )
