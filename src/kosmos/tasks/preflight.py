"""Everything that is checked before a job exists: a job that cannot succeed is not made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kosmos.accounts.access import require_document, require_job
from kosmos.db.jobs import JobFilter, list_jobs
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.credentials import Credential
from kosmos.domain.documents import Document
from kosmos.domain.jobs import JobStatus, NewJob, OnFailure
from kosmos.domain.tokens import estimate_tokens
from kosmos.domain.values import check_json
from kosmos.errors import Conflict, InvalidInput
from kosmos.jobs.creation import MAX_CONTEXT
from kosmos.tasks.job_types import TaskType, find_model, task_type
from kosmos.tasks.workbench import Workbench

BATCH_LINES = 200
PROMPT_TOKENS = 1200  # what a batch carries besides its lines
NUMBERING = 1.12  # line numbers before each line
POINTING = 0.03  # the model only points: few tokens come back
LANE_LIMIT = 4
MAX_AFTER = 100


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What somebody asks for."""

    type: str
    document_id: str
    context: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    deadline_seconds: float | None = None
    after: tuple[str, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL


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
    document = await _subject(bench, who, kind, request)
    model = await find_model(bench, who, kind, space_id=document.space_id, context=context)
    if kind.name == "chunking" and context.get("producer") != "structure":
        raise InvalidInput("This version cannot chunk with a model yet.", remedy="Use producer=structure.")
    new = NewJob(
        type=kind.name,
        space_id=document.space_id,
        document_id=document.id,
        initiator_id=who.user.id,
        priority=request.priority,
        lane=f"credential:{model.id}" if model else None,
        lane_limit=_lane_limit(model) if model else None,
        dedupe_key=f"{kind.name}:{document.id}",
        context=context,
        deadline_seconds=request.deadline_seconds,
        after=request.after,
        on_failure=request.on_failure,
    )
    return Prepared(new, await _estimate(bench, document, model), await _hints(bench, kind, document))


async def _subject(bench: Workbench, who: Principal, kind: TaskType, request: JobRequest) -> Document:
    if len(request.after) > MAX_AFTER:
        raise InvalidInput(f"A job waits for at most {MAX_AFTER} others.", remedy="Wait for fewer.")
    async with bench.db.read() as conn:
        document = await require_document(conn, who, request.document_id, need=Role.EDITOR)
        for job_id in request.after:
            await require_job(conn, who, job_id)
    if kind.needs_text and document.canonical_sha256 is None and not request.after:
        raise Conflict(
            f"{document.source} has no text yet.",
            remedy="Make a document_processing job first, or let this one wait for it (after).",
        )
    return document


async def _estimate(bench: Workbench, document: Document, model: Credential | None) -> Estimate:
    if model is None:
        return Estimate()
    data = await bench.blobs.read(document.canonical_sha256) if document.canonical_sha256 else b""
    text = estimate_tokens(data.decode())
    batches = document.line_count // BATCH_LINES + 1
    prompt, output = int(text * NUMBERING) + batches * PROMPT_TOKENS, int(text * POINTING) + 1
    return Estimate(prompt, output, cost_of(model, prompt, output), model.name)


def cost_of(model: Credential, prompt_tokens: int, output_tokens: int) -> float | None:
    """By the credential's prices for a million tokens; None when it has none."""
    prices = [model.options.get(name) for name in ("prompt_price", "output_price")]
    if not all(isinstance(price, int | float) and price >= 0 for price in prices):
        return None
    return (float(prices[0] or 0) * prompt_tokens + float(prices[1] or 0) * output_tokens) / 1e6


def _lane_limit(model: Credential) -> int:
    """How many jobs may use a credential at once."""
    wanted = model.options.get("max_concurrency")
    return wanted if isinstance(wanted, int) and 1 <= wanted <= 1000 else LANE_LIMIT


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
