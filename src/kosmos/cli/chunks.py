"""Commands on chunks: draw the tree, list and retry what failed, chunk again, prove it all."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kosmos.cli.documents import AnySpace, ItsSpace, Producer
from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.reading import TheDocument, Verbatim
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.chunks import Chunk
    from kosmos.domain.documents import Document
    from kosmos.tasks.rechunking import Failed

PAGE = 1000


class _ShowByDefault(TyperGroup):
    """`chunks NAME` means `chunks show NAME` unless there is such a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments as typer has them, once the command is named."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["show", *args]
        return super().parse_args(ctx, args)


group = typer.Typer(
    cls=_ShowByDefault,
    help="Chunks of documents: `kosmos chunks DOCUMENT` draws them.",
    no_args_is_help=True,
)


@group.command("show")
def show_chunks(
    document: TheDocument,
    space: ItsSpace = None,
    lines: Annotated[
        str | None, typer.Option("--lines", help="Only what touches these lines, as 10:40, 10: or 10.")
    ] = None,
    verbatim: Verbatim = False,
    as_json: AsJson = False,
) -> None:
    """Draw the chunks of a document as a tree, with their lines, tokens and summaries."""
    from kosmos.ingest.reading import parse_range
    from kosmos.tasks.documents import find_document
    from kosmos.tasks.overview import list_chunks

    start, end = parse_range(lines.replace("-", ":")) if lines is not None else (1, None)

    async def work(app: "App", who: "Principal") -> "tuple[Document, list[Chunk]]":
        found = await find_document(app.bench, who, document, space=space)
        made: list[Chunk] = []
        while page := await list_chunks(
            app.bench,
            who,
            found.id,
            after=made[-1].position if made else -1,
            limit=PAGE,
            verbatim=verbatim,
        ):
            made += page
        return found, made

    found, made = with_app(work)
    kept = _touching(made, start, end)
    body = {
        "document_id": found.id,
        "source": found.source,
        "line_count": found.line_count,
        "chunks": [_fields(chunk) for chunk in kept],
    }
    show(body, as_json, lambda: _draw(found, kept))


def _touching(made: "Sequence[Chunk]", start: int, end: int | None) -> "list[Chunk]":
    """The chunks of some lines, and the headings above them."""
    by_id = {chunk.id: chunk for chunk in made}
    kept: set[str] = set()
    for chunk in made:
        at: Chunk | None = chunk
        if chunk.end_line >= start and (end is None or chunk.start_line <= end):
            while at is not None and at.id not in kept:
                kept.add(at.id)
                at = by_id.get(at.parent_id or "")
    return [chunk for chunk in made if chunk.id in kept]


def _fields(chunk: "Chunk") -> dict[str, Any]:
    names = ("id", "parent_id", "position", "type", "level", "start_line", "end_line", "summary")
    return {
        **{name: getattr(chunk, name) for name in names},
        "token_count": chunk.token_count,
        "page": chunk.metadata.get("page"),
        "hidden": _hidden(chunk),
        "text": chunk.raw_content,
    }


def _hidden(chunk: "Chunk") -> dict[str, int]:
    """How much of each kind is hidden."""
    from kosmos.domain.redactions import load_redactions

    return dict(sorted(Counter(str(item.kind) for item in load_redactions(chunk.redaction)).items()))


def _draw(document: "Document", made: "Sequence[Chunk]") -> None:
    out = console()
    tokens = sum(chunk.token_count for chunk in made)
    out.print(f"{document.source}: {len(made):,} chunks, {document.line_count:,} lines, {tokens:,} tokens")
    for line in _branches(made):
        out.print(line)


def _branches(made: "Sequence[Chunk]") -> Iterator[str]:
    """One line for each chunk, with what leads to it in front."""
    children: dict[str | None, list[Chunk]] = {}
    known = {chunk.id for chunk in made}
    for chunk in made:
        children.setdefault(chunk.parent_id if chunk.parent_id in known else None, []).append(chunk)
    waiting = [(chunk, "", chunk is children[None][-1]) for chunk in reversed(children.get(None, []))]
    while waiting:
        chunk, front, last = waiting.pop()
        yield f"{front}{'└─ ' if last else '├─ '}{_label(chunk)}"
        inner = children.get(chunk.id, [])
        below = front + ("   " if last else "│  ")
        waiting += [(child, below, child is inner[-1]) for child in reversed(inner)]


def _label(chunk: "Chunk") -> str:
    lines = (
        f"{chunk.start_line}"
        if chunk.start_line == chunk.end_line
        else f"{chunk.start_line}-{chunk.end_line}"
    )
    page = f", page {chunk.metadata['page']}" if chunk.metadata.get("page") is not None else ""
    hidden = "".join(f", {count} {kind} hidden" for kind, count in _hidden(chunk).items())
    mark = {"heading": "#" * max(1, chunk.level) + " ", "error": "FAILED "}.get(chunk.type, "")
    summary = " ".join(chunk.summary.split())
    return f"{mark}{summary or '…'}  [{lines}, {chunk.token_count} tokens{page}{hidden}]"


@group.command("errors")
def list_errors(space: AnySpace = None, as_json: AsJson = False) -> None:
    """List the regions that could not be chunked, and why."""
    from kosmos.accounts.access import resolve_space, visible_space_ids
    from kosmos.tasks.rechunking import list_failed

    async def work(app: "App", who: "Principal") -> "list[Failed]":
        async with app.bench.db.read() as conn:
            named = [(await resolve_space(conn, who, space)).space.id] if space else None
            spaces = named or await visible_space_ids(conn, who)
        found: list[Failed] = []
        for space_id in spaces:
            after = ("", -1)
            while page := await list_failed(app.bench, who, space_id, after=after, limit=PAGE):
                found += page
                after = (page[-1].chunk.document_id, page[-1].chunk.position)
        return found

    found = with_app(work)
    if as_json:
        rows = [{"source": item.source, **_fields(item.chunk)} for item in found]
        show(rows, as_json, lambda: None)
        return
    columns: dict[str, Any] = {
        "id": lambda item: item.chunk.id,
        "source": lambda item: item.source,
        "lines": lambda item: f"{item.chunk.start_line}-{item.chunk.end_line}",
        "reason": lambda item: item.chunk.summary,
    }
    show_rows(found, as_json, columns)


@group.command("retry")
def retry_chunk(
    chunk: Annotated[str, typer.Argument(help="Id of the chunk, as `kosmos chunks errors` lists it.")],
    as_json: AsJson = False,
) -> None:
    """Let a model try one region again, without redoing the document, and wait for it."""
    from kosmos.tasks import rechunking
    from kosmos.tasks.overview import list_chunks

    async def work(app: "App", who: "Principal") -> dict[str, Any]:
        before = await rechunking.find_chunk(app.bench, who, chunk)
        made = await rechunking.retry_chunk(app.bench, who, chunk)
        failure = await _follow(app, [made.jobs[-1].id])
        here = await list_chunks(app.bench, who, made.document.id, limit=1_000_000)
        inside = [item for item in here if before.start_line <= item.start_line <= before.end_line]
        failed = [item.summary for item in inside if item.type == "error"]
        return {
            "document_id": made.document.id,
            "source": made.document.source,
            "start_line": before.start_line,
            "end_line": before.end_line,
            "chunks": len(inside),
            "error": failure or (failed[0] if failed else None),
            "jobs": [job.id for job in made.jobs],
        }

    result = with_app(work)
    lines = f"{result['source']}:{result['start_line']}-{result['end_line']}"
    said = f"{lines}: {result['error'] or str(result['chunks']) + ' chunks'}"
    show(result, as_json, lambda: console().print(said))
    if result["error"]:
        raise typer.Exit(1)


async def _follow(app: "App", job_ids: list[str]) -> str | None:
    """Work on jobs here until they have ended; why the first that did not complete did not."""
    from kosmos.tasks.following import follow_jobs
    from kosmos.workers import working_beside

    async with working_beside(app, at_least=1):
        ended = [item async for item in follow_jobs(app.bench, job_ids)]
    return next((item.failure for item in ended if item.failure), None)


def rechunk(
    documents: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DOCUMENT]...", help="Ids or names. Default: all of the space."),
    ] = None,
    space: Annotated[str, typer.Option("--space", help="Name or id of the space.")] = "default",
    producer: Producer = None,
    as_json: AsJson = False,
) -> None:
    """Chunk documents again and index them, as the settings of their space now want it."""
    from kosmos.cli.progress import progress_bar
    from kosmos.cli.rechunking import rechunk_all
    from kosmos.workers import working_beside

    async def work(app: "App", who: "Principal") -> dict[str, Any]:
        with progress_bar("chunking", quiet=as_json) as step:
            async with working_beside(app, at_least=2):
                return await rechunk_all(app, who, documents or [], space, producer=producer, step=step)

    result = with_app(work)
    show(result, as_json, lambda: _show_rechunked(result))
    if result["failed"]:
        raise typer.Exit(1)


def _show_rechunked(result: dict[str, Any]) -> None:
    out = console()
    out.print(f"{len(result['done'])} chunked again, {len(result['failed'])} failed")
    for item in result["failed"][:20]:
        out.print(f"  failed: {item['source']}: {item['reason']}")
