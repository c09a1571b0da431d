"""The types of jobs, each with what it needs before it may be made and who does it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_space
from kosmos.db import documents
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import Job
from kosmos.errors import InvalidInput, NoCredential
from kosmos.jobs.registry import DEADLINE_SECONDS, JobType, Registry
from kosmos.jobs.run import Run
from kosmos.tasks.acting import initiator_of, models_for
from kosmos.tasks.analysing import analyse_asset
from kosmos.tasks.analysing import mark_failed as mark_asset
from kosmos.tasks.crawling import CRAWLING, crawl_of, crawl_site
from kosmos.tasks.filling import encode_document
from kosmos.tasks.pipeline import ENCODING, Stage, index_document
from kosmos.tasks.pointing_retry import chunk_by_producer
from kosmos.tasks.processing import process_document
from kosmos.tasks.producing import INDEXER, WITHOUT, check_producer
from kosmos.tasks.reencoding import REENCODING, change_encoder, reencoding_of
from kosmos.tasks.reindexing import REINDEXING, reindex, reindexing_of
from kosmos.tasks.workbench import Workbench

CHAIN = ("document_processing", "chunking", "indexing")
Context = Mapping[str, Any]
# What a job about a space is about, named by its context: what all jobs about it have in common.
OfSpace = Callable[[AsyncConnection, str, Context], Awaitable[Mapping[str, Any]]]


def _no_model(_context: Context) -> CredentialType | None:
    return None


def _vision(_context: Context) -> CredentialType | None:
    return CredentialType.VLM


def _model_of_producer(context: Context) -> CredentialType | None:
    """The indexer is a model that points at lines; structure needs none."""
    return CredentialType.SLM if check_producer(context.get("producer", INDEXER)) == INDEXER else None


@dataclass(frozen=True, slots=True)
class TaskType:
    """A type of job about a document, or about something of a space: what it needs, and who does it."""

    name: str
    stage: Stage | None = None  # None: this version cannot do it
    needs_text: bool = False
    credential: Callable[[Context], CredentialType | None] = _no_model
    keys: frozenset[str] = frozenset()  # what its context may hold
    of_space: OfSpace | None = None  # None: it is about a document
    deadline_seconds: float = DEADLINE_SECONDS
    made_by: str | None = None  # the type of job that makes these; nobody else can
    limit: int | None = None  # how many may run at once, over all workers


TASK_TYPES: Mapping[str, TaskType] = {
    kind.name: kind
    for kind in (
        TaskType("document_processing", process_document),
        TaskType(
            "chunking",
            chunk_by_producer,
            needs_text=True,
            credential=_model_of_producer,
            keys=frozenset({"producer", "region"}),
        ),
        TaskType("indexing", index_document, needs_text=True),
        TaskType(ENCODING, encode_document, needs_text=True, limit=1),  # it takes all cores it may have
        TaskType("asset_analysis", analyse_asset, credential=_vision, made_by="document_processing"),
        TaskType(
            CRAWLING,
            crawl_site,
            keys=frozenset({"crawl_id"}),
            of_space=crawl_of,
            deadline_seconds=7 * DEADLINE_SECONDS,
        ),
        TaskType(REINDEXING, reindex, of_space=reindexing_of),
        TaskType(
            REENCODING,
            change_encoder,
            keys=frozenset({"encoder"}),
            of_space=reencoding_of,
            deadline_seconds=7 * DEADLINE_SECONDS,
        ),
        TaskType("summarizing"),
    )
}


def task_type(name: str) -> TaskType:
    """The type of that name, or InvalidInput."""
    kind = TASK_TYPES.get(name)
    doable = ", ".join(known.name for known in TASK_TYPES.values() if known.stage and not known.made_by)
    if kind is None:
        raise InvalidInput(f"There is no job type {name!r}.", remedy=f"Use one of: {doable}.")
    if kind.stage is None:
        raise InvalidInput(f"This version cannot do {name} yet.", remedy=f"Types it can do: {doable}.")
    if kind.made_by is not None:
        raise InvalidInput(
            f"Jobs of type {name} are not made by hand.", remedy=f"Make a {kind.made_by} job: it makes them."
        )
    return kind


def make_registry(bench: Workbench) -> Registry:
    """All types of jobs, bound to the engines that their stages work with."""
    return Registry(
        *(
            JobType(
                kind.name,
                handler=partial(kind.stage, bench),
                recheck=partial(_recheck, bench, kind),
                failed=partial(_mark_failed, bench),
                deadline_seconds=kind.deadline_seconds,
                limit=kind.limit,
            )
            for kind in TASK_TYPES.values()
            if kind.stage is not None
        )
    )


async def find_model(
    bench: Workbench, who: Principal, kind: TaskType, *, space_id: str, context: Context
) -> Credential | None:
    """The credential that a job would use first; None when it needs none; NoCredential when there is none."""
    needed = kind.credential(context)
    if needed is None:
        return None
    purpose = f"A job of type {kind.name}"
    try:
        return (await models_for(bench, who, needed, space_id=space_id, purpose=purpose))[0]
    except NoCredential as error:
        without = WITHOUT if kind.name == "chunking" else ""
        raise NoCredential(error.message, remedy=f"{error.remedy}{without}") from None


async def _recheck(bench: Workbench, kind: TaskType, run: Run) -> None:
    """At every claim: whoever asked may still do it, and the model is still there."""
    who, job = await initiator_of(bench, run.job), run.job
    async with bench.db.glance() as conn:
        await require_space(conn, who, job.space_id or "", need=Role.EDITOR)
    await find_model(bench, who, kind, space_id=job.space_id or "", context=job.context)


async def _mark_failed(bench: Workbench, conn: AsyncConnection, *, job: Job, reason: str) -> None:
    """A document whose first version cannot be made says why; one that has a live version goes on with it."""
    if job.type == "asset_analysis":
        await mark_asset(bench, conn, job=job, reason=reason)
    if job.document_id is None or job.type not in CHAIN:
        return
    generation = job.context.get("generation", job.progress.get("generation"))
    if generation is None:  # it has begun nothing that could have failed
        return
    changes = {"status": DocumentStatus.FAILED.value, "error": reason}
    first = {"live_generation": 0, "draft_generation": generation}
    await documents.update_document(conn, job.document_id, changes, bench.clock(), only_if=first)
