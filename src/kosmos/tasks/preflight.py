"""Everything that is checked before a job exists: a job that cannot succeed is not made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_document, require_job, require_space
from kosmos.chunking.indexer_sheet import BATCH_TOKENS
from kosmos.chunking.packing import MIN_TOKENS
from kosmos.db.jobs import JobFilter, list_jobs
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.credentials import Credential
from kosmos.domain.documents import Document
from kosmos.domain.jobs import JobStatus, NewJob, OnFailure
from kosmos.domain.tokens import estimate_tokens
from kosmos.domain.values import check_json
from kosmos.errors import Conflict, InvalidInput
from kosmos.jobs.creation import MAX_CONTEXT
from kosmos.llm.chat import cost_of
from kosmos.tasks.acting import lane_of
from kosmos.tasks.job_types import TaskType, find_model, task_type
from kosmos.tasks.producing import INDEXER
from kosmos.tasks.showing import settings_of
from kosmos.tasks.workbench import Workbench

PROMPT_TOKENS = 700  # what a batch carries besides its lines
NUMBERING = 1.05  # numbers before the lines at which something may begin
POINTING = 0.03  # the model only points: few tokens come back
MAX_AFTER = 100


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What somebody asks for, about a document or something of a space."""

    type: str
    document_id: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    deadline_seconds: float | None = None
    after: tuple[str, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL
    space_id: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job will probably take; `cost` is None where the credential names no prices."""

    prompt_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    credential: str | None = None  # the name of the one that is tried first


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job that may be made, what it will take, and what its maker should know."""

    new: NewJob
    estimate: Estimate
    hints: tuple[str, ...]


async def prepare(bench: Workbench, who: Principal, request: JobRequest) -> Prepared:
    """Check rights, subject, context and model, and estimate; nothing is written."""
    kind = task_type(request.type)
    context = check_json(request.context, what="context", most=MAX_CONTEXT)
    if unknown := sorted(set(context) - kind.keys):
        allowed = ", ".join(sorted(kind.keys)) or "nothing"
        raise InvalidInput(
            f"The context of a {kind.name} job cannot hold {unknown[0]!r}.", remedy=f"It may hold: {allowed}."
        )
    subject = await _subject(bench, who, kind, request)
    if "producer" in kind.keys:
        context = {"producer": await _producer(bench, subject.space_id, context), **context}
    model = await find_model(bench, who, kind, space_id=subject.space_id, context=context)
    new = NewJob(
        type=kind.name,
        space_id=subject.space_id,
        document_id=request.document_id,
        initiator_id=who.user.id,
        priority=request.priority,
        **{**lane_of(model), **subject.common},
        context=context,
        deadline_seconds=request.deadline_seconds,
        after=request.after,
        on_failure=request.on_failure,
    )
    if subject.document is None:
        return Prepared(new, Estimate(), ())
    estimate = await _estimate(bench, subject.document, model)
    return Prepared(new, estimate, await _hints(bench, kind, subject.document))


async def _producer(bench: Workbench, space_id: str, context: Mapping[str, Any]) -> str:
    """Who chunks where nobody says: whom the space wants; a region alone is a model's work."""
    if context.get("region") is not None:
        return INDEXER
    async with bench.db.glance() as conn:
        return (await settings_of(conn, space_id)).producer


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a job is about, and what all jobs of its type about that have in common."""

    space_id: str
    common: Mapping[str, Any]
    document: Document | None = None


async def _subject(bench: Workbench, who: Principal, kind: TaskType, request: JobRequest) -> _Subject:
    """What a request is about, if the caller may change it and wait for what it waits for."""
    if len(request.after) > MAX_AFTER:
        raise InvalidInput(f"A job waits for at most {MAX_AFTER} others.", remedy="Wait for fewer.")
    async with bench.db.read() as conn:
        if kind.of_space is None:
            subject = await _document_subject(conn, who, kind, request)
        else:
            subject = await _space_subject(conn, who, kind, request)
        for job_id in request.after:
            await require_job(conn, who, job_id)
    return subject


async def _document_subject(
    conn: AsyncConnection, who: Principal, kind: TaskType, request: JobRequest
) -> _Subject:
    if request.document_id is None or request.space_id is not None:
        raise InvalidInput(f"A {kind.name} job is about a document.", remedy="Give document_id alone.")
    document = await require_document(conn, who, request.document_id, need=Role.EDITOR)
    if kind.needs_text and document.canonical_sha256 is None and not request.after:
        raise Conflict(
            f"{document.source} has no text yet.",
            remedy="Make a document_processing job first, or let this one wait for it (after).",
        )
    return _Subject(document.space_id, {"dedupe_key": f"{kind.name}:{document.id}"}, document)


async def _space_subject(
    conn: AsyncConnection, who: Principal, kind: TaskType, request: JobRequest
) -> _Subject:
    if kind.of_space is None or request.space_id is None or request.document_id is not None:
        raise InvalidInput(f"A {kind.name} job is about a space.", remedy="Give space_id alone.")
    space = (await require_space(conn, who, request.space_id, need=Role.EDITOR)).space
    return _Subject(space.id, await kind.of_space(conn, space.id, request.context))


async def _estimate(bench: Workbench, document: Document, model: Credential | None) -> Estimate:
    if model is None:
        return Estimate()
    data = await bench.blobs.read(document.canonical_sha256) if document.canonical_sha256 else b""
    prompt, output = foresee(estimate_tokens(data.decode()))
    return Estimate(prompt, output, cost_of(model, prompt, output), model.name)


def foresee(tokens: int) -> tuple[int, int]:
    """About how many tokens go out and come back when a model points at the lines of a text."""
    if tokens < MIN_TOKENS:  # nobody is asked
        return 0, 0
    batches = tokens // BATCH_TOKENS + 1
    return int(tokens * NUMBERING) + batches * PROMPT_TOKENS, int(tokens * POINTING) + 1


async def _hints(bench: Workbench, kind: TaskType, document: Document) -> tuple[str, ...]:
    if kind.name != "chunking":
        return ()
    wanted = JobFilter(document_id=document.id, type="asset_analysis")
    async with bench.db.read() as conn:
        running = [job for job in await list_jobs(conn, wanted, limit=1000) if not job.status.ended]
    paused = sum(job.status is JobStatus.PAUSED for job in running)
    if not running:
        return ()
    return (f"{len(running)} figures are still being analysed ({paused} paused); chunking waits for them.",)
