"""Entering a version of a document: its row and the chain of jobs that makes it, in one transaction.

A new version gets a new generation beside the live one; readers switch over when it is indexed. Other
bytes while the former are still being worked on take their place.
"""

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import documents, versions
from kosmos.db import jobs as job_table
from kosmos.domain.accounts import Principal
from kosmos.domain.documents import Document, DocumentStatus, DocumentVersion
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Job, NewJob
from kosmos.errors import Conflict
from kosmos.jobs import control
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import Registry
from kosmos.tasks.keeping import hold_blob
from kosmos.tasks.producing import Making, choose_producer
from kosmos.tasks.workbench import Workbench

SUPERSEDED = "A newer version was added."
STEPS = ("document_processing", "chunking", "indexing")  # the jobs that make a version, in their order


class Outcome(StrEnum):
    """What adding does."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Source:
    """Something to add: where it came from, what to call it, its bytes, and what they do not say.

    `producer` finds its chunks; None: that of the space.
    """

    origin: str
    name: str
    data: bytes = field(repr=False)
    url: str | None = None
    hints: Mapping[str, Any] = field(default_factory=dict)
    producer: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """A document and the jobs that work on it; the last of them ends when it can be found."""

    document: Document
    outcome: Outcome
    jobs: tuple[Job, ...] = ()


async def enter(
    bench: Workbench,
    conn: AsyncConnection,
    source: Source,
    *,
    who: Principal,
    space_id: str,
    registry: Registry,
) -> Added:
    """The part of adding that is one transaction; the bytes lie in the blob store already."""
    digest = hashlib.sha256(source.data).hexdigest()
    known = await documents.find_by_origin(conn, space_id, source.origin)
    if known is not None:
        if (same := await _unchanged(bench, conn, known, digest)) is not None:
            return same
        known = await _supersede(bench, conn, known)
    making = await choose_producer(bench, conn, who, space_id, source.producer)
    grown = len(source.data) - (known.size if known else 0)
    await bench.quotas.check_room(conn, space_id, documents=0 if known else 1, size=grown)
    await hold_blob(bench, conn, digest, source.data)
    document = known or await _new_document(bench, conn, space_id, source, digest)
    generation = max(document.live_generation, document.draft_generation or 0) + 1
    await _take_over(bench, conn, document, generation)
    await versions.insert_version(conn, _version(bench, document, source, digest, generation))
    jobs = await create_jobs(conn, registry, chain(document, who, generation, making), bench.clock())
    if any(job.context.get("generation") != generation for job in jobs):  # one that was made meanwhile
        raise _overtaken(document)
    live = document.live_generation > 0
    return Added(document, Outcome.UPDATED if live else Outcome.ADDED, tuple(jobs))


def chain(document: Document, who: Principal, generation: int, making: Making) -> list[NewJob]:
    """The jobs that make a version of a document, each waiting for the one before it."""
    made: list[NewJob] = []
    for name in STEPS:
        chunking = name == "chunking"
        context = {"producer": making.producer} if chunking else {}
        made.append(
            NewJob(
                type=name,
                key=name,
                space_id=document.space_id,
                document_id=document.id,
                initiator_id=who.user.id,
                dedupe_key=f"{name}:{document.id}",
                context={**context, "generation": generation},
                after=(made[-1].key,) if made else (),
                **(making.lane if chunking else {}),
            )
        )
    return made


async def find_unchanged(bench: Workbench, space_id: str, origin: str, digest: str) -> Added | None:
    """The document when these are the bytes it was, or is being, made of."""
    async with bench.db.glance() as conn:
        known = await documents.find_by_origin(conn, space_id, origin)
        return await _unchanged(bench, conn, known, digest) if known is not None else None


async def _unchanged(bench: Workbench, conn: AsyncConnection, known: Document, digest: str) -> Added | None:
    draft = await versions.get_version(conn, known.id, known.draft_generation or 0)
    if draft is not None and draft.version != known.version:  # not the live one, worked on once more
        jobs = await _making(conn, draft) if draft.original_sha256 == digest else ()
        return Added(known, Outcome.UNCHANGED, jobs) if jobs else None
    if known.status is not DocumentStatus.READY or known.original_sha256 != digest:
        return None
    live = await versions.get_version(conn, known.id, known.live_generation)
    parts = (digest, known.canonical_sha256, live.extract_sha256 if live else None)
    whole = all([await bench.blobs.exists(sha256) for sha256 in parts if sha256])
    return Added(known, Outcome.UNCHANGED) if whole else None


async def _making(conn: AsyncConnection, draft: DocumentVersion) -> tuple[Job, ...]:
    """The jobs that make a draft, in their order; none when it cannot be finished.

    Without the last of them, which may have been cancelled alone, the others lead nowhere.
    """
    found = [
        job
        for job in await job_table.open_jobs(conn, draft.document_id)
        if job.type in STEPS and job.context.get("generation") == draft.generation
    ]
    states = await job_table.dependency_states(conn, [job.id for job in found])
    stuck = any(first.blocks_for_good for waits in states.values() for first in waits)
    stuck = stuck or all(job.type != STEPS[-1] for job in found)
    return () if stuck else tuple(sorted(found, key=lambda job: STEPS.index(job.type)))


async def _supersede(bench: Workbench, conn: AsyncConnection, document: Document) -> Document | None:
    """The document as it is after the jobs on its older version were ended; its rows go later.

    Jobs come before everything else: their workers, too, lock the job first, then the document.
    """
    while True:
        present = await documents.get_document(conn, document.id)
        working = await job_table.open_jobs(conn, document.id)  # after the document: none is overlooked
        if not working:
            return present
        for job in working:
            with contextlib.suppress(Conflict):  # it has ended by itself since
                await control.cancel(conn, job.id, bench.clock(), reason=SUPERSEDED)


async def _take_over(bench: Workbench, conn: AsyncConnection, document: Document, generation: int) -> None:
    """Make this generation the draft of the document, if nobody else has been faster."""
    changes: dict[str, Any] = {"draft_generation": generation}
    if document.status is DocumentStatus.FAILED:
        changes |= {"status": DocumentStatus.PENDING.value, "error": None}
    names = ("draft_generation", "live_generation")
    same = {name: getattr(document, name) for name in names}
    if not await documents.update_document(conn, document.id, changes, bench.clock(), only_if=same):
        raise _overtaken(document)


def _overtaken(document: Document) -> Conflict:
    return Conflict(f"{document.source} is being worked on by somebody else.", remedy="Try again.")


async def _new_document(
    bench: Workbench, conn: AsyncConnection, space_id: str, source: Source, digest: str
) -> Document:
    now = bench.clock()
    document = Document(
        id=new_id(),
        space_id=space_id,
        origin=source.origin,
        source=await _free_name(conn, space_id, source),
        filename=PurePath(source.name).name,
        filetype="",
        size=len(source.data),
        source_url=source.url,
        title=PurePath(source.name).name,
        original_sha256=digest,
        canonical_sha256=None,
        line_count=0,
        status=DocumentStatus.PENDING,
        error=None,
        version=0,
        live_generation=0,
        draft_generation=None,
        metadata={},
        created_at=now,
        updated_at=now,
    )
    await documents.insert_document(conn, document)
    return document


def _version(
    bench: Workbench, document: Document, source: Source, digest: str, generation: int
) -> DocumentVersion:
    now = bench.clock()
    return DocumentVersion(
        document_id=document.id,
        generation=generation,
        version=document.version + 1,
        original_sha256=digest,
        canonical_sha256=None,
        extract_sha256=None,
        size=len(source.data),
        filetype="",
        converter="",
        line_count=0,
        title=document.title,
        metadata={},
        hints=dict(source.hints),
        created_at=now,
        updated_at=now,
    )


async def _free_name(conn: AsyncConnection, space_id: str, source: Source) -> str:
    """The name to show: with more of its path where another document has the shorter one already."""
    parts = PurePath(unquote(source.origin)).parts
    longer = ["/".join(parts[-count:]) for count in range(len(PurePath(source.name).parts) + 1, len(parts))]
    for name in [source.name, *longer]:
        if not await documents.find_by_source(conn, space_id, name):
            return name
    return source.origin
