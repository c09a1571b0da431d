"""The types of jobs, each with what it needs before it may be made and who does it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kosmos.accounts.access import require_space
from kosmos.accounts.credentials import candidates
from kosmos.db import users
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.jobs import Job
from kosmos.errors import Forbidden, InvalidInput, NoCredential
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.tasks.pipeline import Stage, chunk_document, index_document, process_document
from kosmos.tasks.workbench import Workbench

PRODUCERS = ("indexer", "structure")
Context = Mapping[str, Any]


def _no_model(_context: Context) -> CredentialType | None:
    return None


def _model_of_producer(context: Context) -> CredentialType | None:
    """The indexer is a model that points at lines; structure needs none."""
    producer = context.get("producer", PRODUCERS[0])
    if producer not in PRODUCERS:
        raise InvalidInput(
            f"There is no producer {producer!r}.", remedy=f"Use one of: {', '.join(PRODUCERS)}."
        )
    return CredentialType.SLM if producer == "indexer" else None


@dataclass(frozen=True, slots=True)
class TaskType:
    """A type of job about a document: which model it needs, and the stage that does it."""

    name: str
    stage: Stage | None = None  # None: this version cannot do it
    needs_text: bool = False
    credential: Callable[[Context], CredentialType | None] = _no_model
    keys: frozenset[str] = frozenset()  # what its context may hold


TASK_TYPES: Mapping[str, TaskType] = {
    kind.name: kind
    for kind in (
        TaskType("document_processing", process_document),
        TaskType(
            "chunking",
            chunk_document,
            needs_text=True,
            credential=_model_of_producer,
            keys=frozenset({"producer"}),
        ),
        TaskType("indexing", index_document, needs_text=True),
        TaskType("asset_analysis"),
        TaskType("crawling"),
        TaskType("summarizing"),
    )
}


def task_type(name: str) -> TaskType:
    """The type of that name, or InvalidInput."""
    kind = TASK_TYPES.get(name)
    doable = ", ".join(known.name for known in TASK_TYPES.values() if known.stage is not None)
    if kind is None:
        raise InvalidInput(f"There is no job type {name!r}.", remedy=f"Use one of: {doable}.")
    if kind.stage is None:
        raise InvalidInput(f"This version cannot do {name} yet.", remedy=f"Types it can do: {doable}.")
    return kind


def make_registry(bench: Workbench) -> Registry:
    """All types of jobs, bound to the engines that their stages work with."""
    return Registry(
        *(
            JobType(kind.name, handler=partial(kind.stage, bench), recheck=partial(_recheck, bench, kind))
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
    async with bench.db.read() as conn:
        found = await candidates(conn, who, needed, space_id=space_id, rng=bench.rng)
    if not found:
        add = f"Add one: kosmos credentials add NAME --type {needed} --base-url URL --model MODEL --default"
        without = "; or chunk without a model: producer=structure" if kind.name == "chunking" else ""
        raise NoCredential(
            f"A job of type {kind.name} needs a credential of type {needed}, and there is none.",
            remedy=f"{add}{without}",
        )
    return found[0]


async def initiator_of(bench: Workbench, job: Job) -> Principal:
    """Whom a job acts for: the user who made it, with no more than the right to write."""
    async with bench.db.read() as conn:
        user = await users.get_user(conn, job.initiator_id) if job.initiator_id else None
    if user is None:
        raise Forbidden("Whoever asked for this job is gone.", remedy="Let somebody else create it.")
    return Principal(user=user, scope=Scope.WRITE, token_id="")


async def _recheck(bench: Workbench, kind: TaskType, run: Run) -> None:
    """At every claim: whoever asked may still do it, and the model is still there."""
    who, job = await initiator_of(bench, run.job), run.job
    async with bench.db.read() as conn:
        await require_space(conn, who, job.space_id or "", need=Role.EDITOR)
    await find_model(bench, who, kind, space_id=job.space_id or "", context=job.context)
