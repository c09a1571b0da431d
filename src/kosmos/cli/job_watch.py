"""How jobs look while they work: a bar for one, a table for all, lines where no terminal is."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kosmos.cli.output import as_line, printable
from kosmos.domain.jobs import Job, JobEvent, JobStatus

if TYPE_CHECKING:
    from rich.table import Table

    from kosmos.app import App
    from kosmos.domain.accounts import Principal

LOOK_SECONDS = 1.0
LONELY_SECONDS = 10.0
SHOWN = 40


def fraction(progress: Mapping[str, Any]) -> tuple[float, float] | None:
    """(done, total) of whatever a job counts."""
    for name in ("line", "page", ""):
        suffix = f"_{name}" if name else ""
        done, total = progress.get(f"current{suffix}"), progress.get(f"total{suffix}s" if name else "total")
        if isinstance(done, int | float) and isinstance(total, int | float) and total > 0:
            return float(done), float(total)
    return None


def shown_progress(progress: Mapping[str, Any]) -> str:
    """Progress in a few characters."""
    counted = fraction(progress)
    return f"{counted[0]:.0f}/{counted[1]:.0f}" if counted else ""


def _age(job: Job) -> str:
    seconds = int(((job.finished_at or datetime.now(UTC)) - job.created_at).total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


COLUMNS: dict[str, Callable[[Job], object]] = {
    "id": lambda job: job.id,
    "type": lambda job: job.type,
    "status": lambda job: job.status,
    "progress": lambda job: shown_progress(job.progress),
    "age": _age,
    "reason": lambda job: job.reason or "",
}


async def stream_json(app: "App", who: "Principal", job_id: str) -> JobStatus | None:
    """One JSON object a line for each event."""
    from kosmos.tasks.jobs import follow_job

    last: JobStatus | None = None
    async for event in follow_job(app.bench, who, job_id):
        if event is not None:
            sys.stdout.write(as_line(event) + "\n")
            sys.stdout.flush()
            last = event.status
    return last


async def watch_one(app: "App", who: "Principal", job_id: str, *, quiet: bool = False) -> JobStatus | None:
    """Follow a job to its end; how it ended."""
    from kosmos.tasks.jobs import follow_job

    last: JobEvent | None = None
    show = _nothing if quiet else _bar() if sys.stderr.isatty() else _line
    async for event in follow_job(app.bench, who, job_id):
        if event is not None:
            show(event)
            last = event
        elif last is not None and last.status is JobStatus.PENDING and not quiet:
            sys.stderr.write("No worker has taken it yet; start one with: kosmos worker (or kosmos serve)\n")
    return last.status if last else None


def _nothing(_event: JobEvent) -> None:
    pass


def _line(event: JobEvent) -> None:
    moment = event.created_at.astimezone().strftime("%H:%M:%S")
    parts = [moment, event.status.value, shown_progress(event.progress), event.reason or ""]
    sys.stderr.write(printable("  ".join(part for part in parts if part)) + "\n")


def _bar() -> Callable[[JobEvent], None]:
    """A bar with rate and time left, and a line for every change of state."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    name = TextColumn("{task.description}", markup=False)
    progress = Progress(
        name, BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), console=Console(stderr=True)
    )
    bar = progress.add_task("", total=None, rate="")
    progress.start()

    def show(event: JobEvent) -> None:
        counted = fraction(event.progress)
        done, total = counted or (0.0, None)
        text = printable(f"{event.status.value}  {event.reason or ''}".strip())
        speed = progress.tasks[0].speed
        shown = f"{speed:.0f}/s" if speed else ""
        progress.update(bar, completed=done, total=total, description=text[:80], rate=shown)
        if event.status.ended:
            progress.stop()
            _line(event)

    return show


async def watch_all(app: "App", who: "Principal", *, as_json: bool) -> None:
    """All jobs that have not ended, until interrupted."""
    from kosmos.tasks.jobs import JobQuery, list_jobs

    async def look() -> list[Job]:
        found = await list_jobs(app.bench, who, JobQuery(limit=1000))
        now = datetime.now(UTC)
        recent = [job for job in found if not job.finished_at or (now - job.finished_at).total_seconds() < 60]
        return recent[:SHOWN]

    if as_json or not sys.stdout.isatty():
        await _print_changes(look, as_json=as_json)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            live.update(_table(await look()), refresh=True)
            await asyncio.sleep(LOOK_SECONDS)


async def _print_changes(look: "Callable[[], Any]", *, as_json: bool) -> None:
    seen: dict[str, tuple[Any, ...]] = {}
    while True:
        for job in reversed(await look()):
            state = (job.status, job.reason, shown_progress(job.progress))
            if seen.get(job.id) != state:
                seen[job.id] = state
                text = as_line(job) if as_json else printable(_row(job))
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
        await asyncio.sleep(LOOK_SECONDS)


def _row(job: Job) -> str:
    return "  ".join(str(cell(job)) for cell in COLUMNS.values())


def _table(jobs: list[Job]) -> "Table":
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, pad_edge=False, header_style="bold", caption="Ctrl-C stops watching, not the jobs"
    )
    for name in ("id", "type", "status", "progress", "", "age", "reason"):
        table.add_column(name, overflow="fold", no_wrap=name == "id")
    for job in jobs:
        counted = fraction(job.progress)
        bar = ProgressBar(total=counted[1], completed=counted[0], width=20) if counted else Text("")
        cells = [job.id, job.type, job.status.value, shown_progress(job.progress)]
        reason = Text(printable(job.reason or ""))
        table.add_row(*(Text(cell) for cell in cells), bar, Text(_age(job)), reason)
    if not jobs:
        table.add_row(Text("no jobs at the moment"))
    return table
