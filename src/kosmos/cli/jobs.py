"""Commands on jobs: make, list, watch and control them; the worker."""

import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app
from kosmos.domain.jobs import JobStatus, OnFailure
from kosmos.errors import InvalidInput

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.jobs import Job
    from kosmos.tasks.jobs import Created, JobView
    from kosmos.tasks.workbench import Workbench

group = typer.Typer(help="Long tasks: every one is a job that survives anything.", no_args_is_help=True)
JobId = Annotated[str, typer.Argument(help="Id of the job.")]


def register(app: typer.Typer) -> None:
    """Add the commands that stand at the top level."""
    app.command()(worker)


@group.command("create")
def create(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="What to do, e.g. chunking or indexing.")],
    document: Annotated[str, typer.Option("--document", help="Id of a document, or its name in the space.")],
    space: Annotated[str | None, typer.Option("--space", help="Space of a document given by name.")] = None,
    producer: Annotated[
        str | None, typer.Option("--producer", help="Who finds chunks: indexer (a model) or structure.")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="More for the job, as JSON.")] = "{}",
    priority: Annotated[int, typer.Option("--priority", help="Higher is taken first.")] = 0,
    deadline: Annotated[float | None, typer.Option("--deadline", help="Seconds it may take.")] = None,
    after: Annotated[list[str] | None, typer.Option("--after", help="Id of a job to wait for.")] = None,
    on_failure: Annotated[
        OnFailure, typer.Option("--on-failure", help="When a job it waits for does not complete.")
    ] = OnFailure.FAIL,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it would take.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Work on it here until it has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a job. One that cannot succeed is refused with the reason."""
    from kosmos.tasks import documents, jobs
    from kosmos.tasks.preflight import JobRequest

    given = _context(context) | ({"producer": producer} if producer else {})

    async def work(app: "App", who: "Principal") -> Any:
        found = await documents.find_document(app.bench, who, document, space=space)
        wanted = JobRequest(
            type_, found.id, given, priority, deadline, after=tuple(after or ()), on_failure=on_failure
        )
        if estimate:
            figures, hints = await jobs.estimate_job(app.bench, who, wanted)
            return {"estimate": figures, "hints": hints}
        made = await jobs.create_job(app.bench, who, wanted)
        if not run:
            return made
        return await _run_here(app, who, made, quiet=as_json)

    result = with_app(work)
    show(result, as_json, lambda: _show_created(result))
    if run and result.job.status is not JobStatus.COMPLETED:
        raise typer.Exit(1)


def _context(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInput("--context is no JSON object.", remedy="""Write it as '{"key": "value"}'.""")
    return value


async def _run_here(app: "App", who: "Principal", made: "Created", *, quiet: bool) -> "Created":
    """Follow a job while a worker of this process works on whatever is due."""
    from dataclasses import replace

    from kosmos.cli.job_watch import watch_one
    from kosmos.tasks.jobs import get_job
    from kosmos.workers import working_beside

    async with working_beside(app, at_least=1):
        await watch_one(app, who, made.job.id, quiet=quiet)
    return replace(made, job=(await get_job(app.bench, who, made.job.id)).job)


def _show_created(result: Any) -> None:
    out = console()
    if isinstance(result, dict):
        figures, hints = result["estimate"], result["hints"]
    else:
        figures, hints = result.estimate, result.hints
        verb = "already there" if result.existing else "created"
        out.print(f"job {result.job.id} {verb}: {result.job.status}")
    if figures.credential:
        cost = "unknown (the credential names no prices)" if figures.cost is None else f"{figures.cost:.4f}"
        tokens = f"{figures.prompt_tokens:,} tokens in, {figures.output_tokens:,} out"
        out.print(f"estimate: {tokens}, cost {cost}, by {figures.credential}")
    else:
        out.print("estimate: no model is asked")
    for hint in hints:
        out.print(f"note: {hint}")


@group.command("list")
def list_jobs(
    space: Annotated[str | None, typer.Option("--space", help="Only of this space.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    status: Annotated[
        JobStatus | None, typer.Option("--status", case_sensitive=False, help="Only in this state.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    from kosmos.accounts.access import resolve_space
    from kosmos.cli.job_watch import COLUMNS
    from kosmos.tasks import jobs

    async def work(app: "App", who: "Principal") -> "list[Job]":
        space_id = None
        if space is not None:
            async with app.bench.db.read() as conn:
                space_id = (await resolve_space(conn, who, space)).space.id
        query = jobs.JobQuery(space_id=space_id, type=type_, status=status, limit=limit)
        return await jobs.list_jobs(app.bench, who, query)

    show_rows(with_app(work), as_json, COLUMNS)


@group.command("show")
def show_job(job_id: JobId, as_json: AsJson = False) -> None:
    """Show one job with everything about it."""
    from kosmos.tasks import jobs

    async def work(app: "App", who: "Principal") -> "JobView":
        return await jobs.get_job(app.bench, who, job_id)

    view = with_app(work)
    show(view, as_json, lambda: _show_view(view))


def _show_view(view: "JobView") -> None:
    from kosmos.cli.output import plain

    out = console()
    for name, value in plain(view.job).items():
        if value not in (None, {}, ""):
            out.print(
                f"{name:14} {json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value}"
            )
    for job, choice in view.waits_for:
        out.print(f"{'waits for':14} {job.id} {job.type} {job.status} (on failure: {choice})")


@group.command("watch")
def watch(
    job_id: Annotated[
        str | None, typer.Argument(help="Id of the job. Default: all that have not ended.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow a job until it has ended, or all of them until you stop it."""
    from kosmos.cli.job_watch import stream_json, watch_all, watch_one

    async def work(app: "App", who: "Principal") -> JobStatus | None:
        if job_id is None:
            await watch_all(app, who, as_json=as_json)
            return None
        return await (stream_json if as_json else watch_one)(app, who, job_id)

    if with_app(work) in (JobStatus.FAILED, JobStatus.CANCELLED):
        raise typer.Exit(1)


Act = Callable[["Workbench", "Principal", str], Awaitable["Job"]]


def _control(job_id: str, as_json: bool, choose: Callable[[], Act]) -> None:
    async def work(app: "App", who: "Principal") -> "Job":
        return await choose()(app.bench, who, job_id)

    job = with_app(work)
    show(job, as_json, lambda: console().print(f"job {job.id}: {job.status}"))


@group.command("pause")
def pause(job_id: JobId, as_json: AsJson = False) -> None:
    """Stop a job until somebody resumes it."""
    from kosmos.tasks import jobs

    _control(job_id, as_json, lambda: jobs.pause_job)


@group.command("resume")
def resume(job_id: JobId, as_json: AsJson = False) -> None:
    """Let a paused job go on now."""
    from kosmos.tasks import jobs

    _control(job_id, as_json, lambda: jobs.resume_job)


@group.command("cancel")
def cancel(job_id: JobId, as_json: AsJson = False) -> None:
    """End a job; a running one stops within one batch."""
    from kosmos.tasks import jobs

    _control(job_id, as_json, lambda: jobs.cancel_job)


@group.command("retry")
def retry(job_id: JobId, as_json: AsJson = False) -> None:
    """Let a failed or cancelled job go on from its last progress."""
    from kosmos.tasks import jobs

    _control(job_id, as_json, lambda: jobs.retry_job)


def worker(
    slots: Annotated[int | None, typer.Option("--slots", min=1, max=256, help="Jobs at once.")] = None,
    dramatiq: Annotated[
        bool, typer.Option("--dramatiq", help="Be woken over Redis (KOSMOS_REDIS_URL).")
    ] = False,
    drain: Annotated[bool, typer.Option("--drain", help="End when nothing is due any more.")] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Serve /metrics there; it wants KOSMOS_METRICS_TOKEN."),
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="The address for it.")] = "127.0.0.1",
) -> None:
    """Work on jobs until stopped. Several workers, also on several machines, share the work."""
    from kosmos import workers
    from kosmos.config import load_settings
    from kosmos.config.logs import configure_logging
    from kosmos.config.memory import settle_memory

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    many = slots or max(1, settings.worker_slots)
    if drain:
        with_app(lambda app, _who: workers.drain(app, many))
        return
    os.nice(settings.worker_nice)  # people who search wait for an answer, jobs do not
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stopped.set())
    kind = workers.dramatiq_worker if dramatiq else workers.polling_worker
    with workers.counted(settings, metrics_host, metrics_port), kind(settings, many):
        settle_memory()
        sys.stderr.write(f"Working on up to {many} jobs at once. Stop with Ctrl-C.\n")
        while not stopped.wait(0.5):
            pass
    sys.stderr.write("Stopped; what was running goes on elsewhere or at the next start.\n")
