"""Commands on sites: crawl one, list crawls, look at what one found out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.crawl_report import show_report
from kosmos.cli.output import AsJson, console, plain, show, show_rows
from kosmos.cli.progress import Step, progress_bar
from kosmos.cli.session import with_app
from kosmos.domain.jobs import JobStatus
from kosmos.errors import InvalidInput

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.crawl import CrawlReport
    from kosmos.domain.accounts import Principal
    from kosmos.tasks.crawls import CrawlView, Started

group = typer.Typer(help="Sites that spaces follow.", no_args_is_help=True)
Space = Annotated[str, typer.Option("--space", help="Name or id of the space.")]
ToFile = Annotated[
    Path | None, typer.Option("--report", help="Write the report to a file: .json, or .svg for a picture.")
]


def register(app: typer.Typer) -> None:
    """Add the command that stands at the top level."""
    app.command()(crawl)


def crawl(
    url: Annotated[str, typer.Argument(help="Where to start, e.g. https://kubernetes.io/docs/")],
    space: Space = "default",
    prefix: Annotated[
        list[str] | None, typer.Option("--prefix", help="Only below this. Default: the folder of the start.")
    ] = None,
    include: Annotated[list[str] | None, typer.Option("--include", help="Only paths like `/docs/*`.")] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="No paths like `*/old/*`.")] = None,
    max_pages: Annotated[int | None, typer.Option("--max-pages", help="How many at most (10000).")] = None,
    max_depth: Annotated[int | None, typer.Option("--max-depth", help="Links from the start (20).")] = None,
    delay: Annotated[
        float | None,
        typer.Option("--delay", help="Seconds between requests (0.5); robots.txt may ask for more."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="How to read the site: generic, kubernetes. Default: by host."),
    ] = None,
    report: ToFile = None,
    as_json: AsJson = False,
) -> None:
    """Add the pages of a site to a space, or bring them up to date. robots.txt is obeyed."""
    from kosmos.tasks.crawl_plans import CrawlWish

    _check_file(report)
    lists = (tuple(prefix or ()), tuple(include or ()), tuple(exclude or ()))
    wish = CrawlWish(url, *lists, profile, max_pages, max_depth, delay)

    async def work(app: "App", who: "Principal") -> dict[str, Any]:
        return await _crawl(app, who, space, wish=wish, quiet=as_json)

    found = with_app(work)
    _write_file(report, found["report"])
    show(found, as_json, lambda: _show_found(found))
    if found["job"].status is not JobStatus.COMPLETED:
        raise typer.Exit(1)


async def _crawl(app: "App", who: "Principal", space: str, *, wish: Any, quiet: bool) -> dict[str, Any]:
    """Start a crawl and follow it, and then its documents, while a worker of this process works on them."""
    from kosmos.accounts.access import resolve_space
    from kosmos.tasks.crawl_plans import make_plan
    from kosmos.tasks.crawls import report_crawl, start_crawl
    from kosmos.workers import working_beside

    plan = make_plan(wish)
    async with app.bench.db.read() as conn:
        space_id = (await resolve_space(conn, who, space)).space.id
    started = await start_crawl(app.bench, who, space_id, plan)
    async with working_beside(app, at_least=2):
        with progress_bar("crawling", quiet=quiet) as step:
            await _follow(app, who, started, step)
        with progress_bar("indexing", quiet=quiet) as step:
            failed = await _follow_documents(app, started, step)
    view, report = await report_crawl(app.bench, who, started.crawl.id)
    return {
        "crawl": view.crawl,
        "job": view.job or started.job,
        "existing": started.existing,
        "report": report,
        "failed": failed,
    }


async def _follow(app: "App", who: "Principal", started: "Started", step: Step) -> None:
    from kosmos.tasks.jobs import follow_job

    async for event in follow_job(app.bench, who, started.job.id):
        if event is not None:
            done, total = event.progress.get("current_page", 0), event.progress.get("total_pages", 0)
            step(done, total, event.reason or "")


async def _follow_documents(app: "App", started: "Started", step: Step) -> list[str]:
    from kosmos.tasks.crawls import follow_documents

    failed, done = [], 0
    async for total, ended in follow_documents(app.bench, started.crawl):
        done += 1
        step(done, total, "")
        if ended.failure is not None:
            failed.append(ended.failure)
    return failed


def _show_found(found: dict[str, Any]) -> None:
    out, job = console(), found["job"]
    if found["existing"]:
        out.print("This crawl was under way already; it went on by the plan it had.")
    result = job.result or {}
    out.print(
        f"crawl {found['crawl'].id}, round {found['crawl'].round}: {job.status}"
        + (f" ({result['ending']})" if result else "")
    )
    if job.reason:
        out.print(f"  {job.reason}")
    if result:
        out.print(f"{result['entered']} documents added or updated, {result['removed']} removed")
    for reason in found["failed"][:10]:
        out.print(f"  failed: {reason}")
    show_report(found["report"])


@group.command("list")
def list_crawls(
    space: Annotated[str | None, typer.Option("--space", help="Only of this space.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the sites that your spaces follow."""
    from kosmos.accounts.access import resolve_space
    from kosmos.tasks import crawls

    async def work(app: "App", who: "Principal") -> "list[CrawlView]":
        space_id = None
        if space is not None:
            async with app.bench.db.read() as conn:
                space_id = (await resolve_space(conn, who, space)).space.id
        return await crawls.list_crawls(app.bench, who, space_id)

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda view: view.crawl.id,
            "start": lambda view: view.crawl.start,
            "round": lambda view: view.crawl.round,
            "job": lambda view: view.job.status if view.job else "",
            "changed": lambda view: f"{view.crawl.updated_at:%Y-%m-%d %H:%M}",
        },
    )


@group.command("report")
def report_crawl(
    crawl_id: Annotated[str, typer.Argument(help="Id of the crawl.")],
    report: ToFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what a crawl has found out: pages, status codes, sizes, broken links, duplicates."""
    from kosmos.tasks import crawls

    _check_file(report)

    async def work(app: "App", who: "Principal") -> "tuple[CrawlView, CrawlReport]":
        return await crawls.report_crawl(app.bench, who, crawl_id)

    view, found = with_app(work)
    _write_file(report, found)
    show({"crawl": view.crawl, "job": view.job, "report": found}, as_json, lambda: show_report(found))


def _check_file(path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in (".json", ".svg"):
        raise InvalidInput(f"{path} is neither .json nor .svg.", remedy="Name the file accordingly.")


def _write_file(path: Path | None, report: "CrawlReport") -> None:
    from kosmos.crawl import draw

    if path is not None:
        drawn = path.suffix.lower() == ".svg"
        text = draw(report) if drawn else json.dumps(plain(report), ensure_ascii=False, indent=2) + "\n"
        path.write_text(text, encoding="utf-8")
