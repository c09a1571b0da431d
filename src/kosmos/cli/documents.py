"""Commands on documents: add, ask, list, show, remove."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.answers import Answer
    from kosmos.tasks.folders import AddReport
    from kosmos.tasks.overview import Overview

DENSE_SECONDS = 15.0  # of waiting for vectors that search can do without
group = typer.Typer(help="Documents of a space.", no_args_is_help=True)
InSpace = Annotated[str, typer.Option("--space", help="Name or id of the space.")]
ItsSpace = Annotated[str | None, typer.Option("--space", help="Space of a document given by name.")]
AnySpace = Annotated[
    str | None, typer.Option("--space", help="Only in this space. Default: all you may read.")
]

Producer = Annotated[
    str | None,
    typer.Option("--producer", help="Who finds chunks: structure or indexer. Default: that of the space."),
]


def register(app: typer.Typer) -> None:
    """Add the commands that stand at the top level."""
    for command in (add, ask, reindex):
        app.command()(command)


async def space_ids_of(app: "App", who: "Principal", space: str | None) -> list[str] | None:
    """The one space that is named, or None for all."""
    from kosmos.accounts.access import resolve_space

    if space is None:
        return None
    async with app.bench.db.read() as conn:
        return [(await resolve_space(conn, who, space)).space.id]


def add(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|URL...", help="Files, folders to add with all below them, or addresses."
        ),
    ],
    space: InSpace = "default",
    include: Annotated[list[str] | None, typer.Option("--include", help="Only files like `*.md`.")] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="No files like `draft*`.")] = None,
    producer: Producer = None,
    wait_dense: Annotated[
        bool, typer.Option("--wait-dense", help="Wait until all can be found by meaning, not words alone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add files to a space. What is unchanged is left alone; what has changed becomes a new version."""
    from kosmos.accounts.access import resolve_space
    from kosmos.cli.progress import progress_bar
    from kosmos.tasks.addresses import add_urls, is_address
    from kosmos.tasks.folders import AddReport, Choice, add_paths
    from kosmos.tasks.following import follow_encoding
    from kosmos.workers import working_beside

    choice = Choice(tuple(include or ()), tuple(exclude or ()))
    paths = [Path(source) for source in sources if not is_address(source)]
    urls = [source for source in sources if is_address(source)]

    async def work(app: "App", who: "Principal") -> AddReport:
        async with working_beside(app, at_least=2):
            with progress_bar("adding", quiet=as_json) as step:
                report = await add_paths(
                    app.bench, who, space, paths, choice=choice, producer=producer, on_step=step
                )
                if urls:
                    await add_urls(
                        app.bench, who, space, urls, report=report, producer=producer, on_step=step
                    )
            async with app.bench.db.read() as conn:
                space_id = (await resolve_space(conn, who, space)).space.id
            with progress_bar("encoding (search works)", quiet=as_json) as step:
                seconds = None if wait_dense else DENSE_SECONDS
                report.unencoded = await follow_encoding(app.bench, space_id, seconds=seconds, on_step=step)
        return report

    report = with_app(work)
    show(report, as_json, lambda: _show_report(report))
    if report.failed:
        raise typer.Exit(1)


def _show_report(report: "AddReport") -> None:
    out = console()
    counts = (
        f"{len(report.added)} added, {len(report.updated)} updated, "
        f"{len(report.unchanged)} unchanged, {len(report.skipped)} skipped, {len(report.failed)} failed"
    )
    out.print(counts)
    for heading, items in (("skipped", report.skipped), ("failed", report.failed)):
        for item in items[:20]:
            out.print(f"  {heading}: {_near(item.path)}: {item.reason}")
        if len(items) > 20:
            out.print(f"  … and {len(items) - 20} more {heading}; --json lists all")
    if report.unencoded:
        out.print(
            f"{report.unencoded} documents are found by their words; their vectors are made by "
            "`kosmos worker --drain`, or while `kosmos serve` runs."
        )


def _near(path: str) -> str:
    """The path as seen from here, where it lies below."""
    return path.removeprefix(f"{Path.cwd()}/")


def ask(
    question: Annotated[str, typer.Argument(help="A question in Chinese or English.")],
    space: AnySpace = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Let this agent answer, by its model and its tools.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question with citations that can be checked to the letter.

    Without --agent the answer consists of quotes, and no model is asked.
    """
    from kosmos.tasks import asking

    if agent is not None:
        _ask_agent(question, space, agent, as_json)
        return

    async def work(app: "App", who: "Principal") -> "Answer":
        return await asking.ask(app.bench, who, question, space_ids=await space_ids_of(app, who, space))

    answer = with_app(work)
    show(answer, as_json, lambda: _show_answer(answer))


def _ask_agent(question: str, space: str | None, agent: str, as_json: bool) -> None:
    from kosmos.cli.talking import show_citations, show_doubts, show_events
    from kosmos.domain.sessions import SessionOrigin
    from kosmos.tasks import runs, sessions
    from kosmos.tasks.run_wishes import RunWish

    async def work(app: "App", who: "Principal") -> "Mapping[str, Any]":
        new = sessions.NewSession(agent=agent, title=question[:60], origin=SessionOrigin.ASK)
        session = await sessions.create_session(app.bench, who, new)
        wish = RunWish(question, space_ids=await space_ids_of(app, who, space))
        run = await runs.start_run(app.bench, who, session.id, wish)
        if not as_json:
            events = runs.follow_run(app.bench, who, session.id, run.id, patient=False)
            await show_events(events, as_json=False, thinking=False)
        return await runs.collect_run(app.bench, who, session.id, run.id)

    answer = with_app(work)
    show(answer, as_json, lambda: show_citations(answer["citations"]))
    if not as_json:
        show_doubts(answer["claims"])


def _show_answer(answer: "Answer") -> None:
    out = console()
    out.print(answer.answer)
    for item in answer.citations:
        out.print(f"\n[{item.marker}] {item.source}:{item.start_line}-{item.end_line}", style="bold")
        for line in item.quote.split("\n"):
            out.print(f"    {line}")


def reindex(
    space: InSpace = "default",
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", help="Make all vectors anew: builtin, none, or a name of `models list`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild the index of a space from its chunks, or its vectors by another encoder; search goes on."""
    from kosmos.accounts.access import resolve_space
    from kosmos.cli.progress import progress_bar
    from kosmos.tasks.following import follow_encoding, follow_job
    from kosmos.tasks.jobs import create_job
    from kosmos.tasks.preflight import JobRequest
    from kosmos.workers import working_beside

    async def work(app: "App", who: "Principal") -> "Mapping[str, Any]":
        async with app.bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space)).space.id
        kind, context = ("reencoding", {"encoder": encoder}) if encoder else ("reindexing", {})
        made = await create_job(app.bench, who, JobRequest(kind, space_id=space_id, context=context))
        async with working_beside(app, at_least=2):
            with progress_bar("indexing", quiet=as_json) as step:
                result = await follow_job(app.bench, made.job.id, on_step=step)
                await follow_encoding(app.bench, space_id, seconds=DENSE_SECONDS, on_step=step)
        return result

    result = with_app(work)
    show(result, as_json, lambda: _show_reindexed(result))


def _show_reindexed(result: "Mapping[str, Any]") -> None:
    if "encoder" in result:
        console().print(f"{result['vectors']} chunks have vectors of {result['encoder'] or 'no encoder'}")
    else:
        console().print(f"indexed {result['rows']} chunks")


@group.command("list")
def list_documents(space: InSpace = "default", as_json: AsJson = False) -> None:
    """List the documents of a space."""
    from kosmos.accounts.access import resolve_space
    from kosmos.domain.documents import Document
    from kosmos.tasks import documents

    async def work(app: "App", who: "Principal") -> list[Document]:
        async with app.bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space)).space.id
        found: list[Document] = []
        while batch := await documents.list_documents(
            app.bench, who, space_id, after=found[-1].id if found else "", limit=1000
        ):
            found += batch
        return found

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda item: item.id,
            "source": lambda item: item.source,
            "title": lambda item: item.title,
            "lines": lambda item: item.line_count,
            "version": lambda item: item.version,
            "status": lambda item: item.status,
            "error": lambda item: item.error or "",
        },
    )


@group.command("show")
def show_document(
    document: Annotated[str, typer.Argument(help="Id of a document, or its name in the space.")],
    space: ItsSpace = None,
    as_json: AsJson = False,
) -> None:
    """Show a document: how far it is, what it was made of, its jobs and what they cost."""
    from kosmos.tasks.documents import find_document
    from kosmos.tasks.overview import view_document

    async def work(app: "App", who: "Principal") -> "Overview":
        found = await find_document(app.bench, who, document, space=space)
        return await view_document(app.bench, who, found.id)

    view = with_app(work)
    show(view, as_json, lambda: _show_overview(view))


def _show_overview(view: "Overview") -> None:
    out, document, spent = console(), view.document, view.spent
    rows = {
        "id": document.id,
        "source": document.source,
        "title": document.title,
        "address": document.source_url,
        "status": document.status,
        "error": document.error,
        "version": document.version,
        "type": document.filetype,
        "converter": view.converter,
        "size": f"{document.size:,} bytes",
        "lines": f"{document.line_count:,}",
        "chunks": f"{view.chunk_count:,}",
        "updated": f"{document.updated_at:%Y-%m-%d %H:%M:%S} UTC",
        "spent": f"{spent.prompt_tokens:,} tokens in, {spent.output_tokens:,} out, cost {spent.cost:.4f}",
    }
    for name, value in rows.items():
        if value not in (None, ""):
            out.print(f"{name:10} {value}")
    for note in view.notes:
        out.print(f"{'note':10} {note}")
    for asset in view.assets:
        caption = f"  {asset.caption}" if asset.caption else ""
        kind = f"{asset.media_type}, {asset.size:,} bytes, {asset.analysis_status}"
        out.print(f"{asset.kind:10} line {asset.line}: {kind}{caption}")
    for job in view.jobs:
        reason = f"  {job.reason}" if job.reason else ""
        out.print(f"{'job':10} {job.id} {job.type} {job.status}{reason}")


@group.command("remove")
def remove_document(
    document: Annotated[str, typer.Argument(help="Id of a document, or its name in the space.")],
    space: ItsSpace = None,
    as_json: AsJson = False,
) -> None:
    """Remove a document with its chunks, index rows and blobs."""
    from kosmos.tasks import documents

    async def work(app: "App", who: "Principal") -> str:
        found = await documents.find_document(app.bench, who, document, space=space)
        await documents.remove_document(app.bench, who, found.id)
        return found.id

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed}"))
