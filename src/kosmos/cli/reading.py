"""Commands that read the text of documents: read, grep."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from kosmos.cli.output import AsJson, printable, show
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.tasks.grep import Found, Match
    from kosmos.tasks.reading import Reading

TheDocument = Annotated[str, typer.Argument(help="Id of a document, or its name in the space.")]
Verbatim = Annotated[bool, typer.Option("--verbatim", help="Also what is hidden. Owners only.")]


def register(app: typer.Typer) -> None:
    """Add the commands that stand at the top level."""
    app.command()(read)
    app.command()(grep)


def read(
    document: TheDocument,
    lines: Annotated[
        str | None, typer.Option("--lines", help="Lines to print, as 10:40, 10: or 10. Default: all.")
    ] = None,
    page: Annotated[int | None, typer.Option("--page", min=1, help="Page or slide of the original.")] = None,
    heading: Annotated[
        str | None, typer.Option("--heading", help="Words of a heading, or `Setup > Linux`, or `#anchor`.")
    ] = None,
    space: Annotated[str | None, typer.Option("--space", help="Space of a document given by name.")] = None,
    verbatim: Verbatim = False,
    as_json: AsJson = False,
) -> None:
    """Print lines of a document's canonical text with their numbers. Give lines, a page or a heading."""
    from kosmos.ingest.reading import parse_range
    from kosmos.tasks.documents import find_document
    from kosmos.tasks.reading import Place, read_place

    start, end = parse_range(lines.replace("-", ":")) if lines is not None else (None, None)
    place = Place(start=start, end=end, page=page, heading=heading)
    place.check()

    async def work(app: "App", who: "Principal") -> "Reading":
        found = await find_document(app.bench, who, document, space=space)
        return await read_place(app.bench, who, found.id, place, most=None, verbatim=verbatim)

    found = with_app(work)
    body = {
        "document_id": found.document.id,
        "source": found.document.source,
        "start_line": found.start_line,
        "line_count": found.document.line_count,
        "lines": found.lines,
        "pages": found.pages,
    }
    show(body, as_json, lambda: _show_lines(found))


def _show_lines(found: "Reading") -> None:
    turns = {span.start_line: span.page for span in found.pages}
    for number, line in enumerate(found.lines, start=found.start_line):
        if number in turns:
            sys.stdout.write(f"------  page {turns[number]}\n")
        sys.stdout.write(f"{number:6d}  {line}\n")


def grep(
    pattern: Annotated[str, typer.Argument(help="A regular expression (RE2), in Chinese or English.")],
    space: Annotated[
        str | None, typer.Option("--space", help="Only in this space. Default: all you may read.")
    ] = None,
    document: Annotated[
        str | None, typer.Option("--doc", help="Only in this document: its id, or its name in the space.")
    ] = None,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="Large and small letters are the same.")
    ] = False,
    fixed: Annotated[bool, typer.Option("--fixed", help="Take the pattern as text, sign by sign.")] = False,
    context: Annotated[int, typer.Option("--context", help="Lines to show before and after.")] = 0,
    most: Annotated[int, typer.Option("--max", help="Stop after so many matching lines.")] = 200,
    seconds: Annotated[float, typer.Option("--seconds", help="Stop after so long.")] = 10.0,
    verbatim: Verbatim = False,
    as_json: AsJson = False,
) -> None:
    """Find the lines of documents in which a pattern occurs, in bounded time whatever the pattern."""
    from kosmos.accounts.access import resolve_space
    from kosmos.tasks.documents import find_document
    from kosmos.tasks.grep import Wanted, grep_documents

    async def work(app: "App", who: "Principal") -> "Found":
        space_ids = document_id = None
        if document is not None:
            document_id = (await find_document(app.bench, who, document, space=space)).id
        elif space is not None:
            async with app.bench.db.read() as conn:
                space_ids = [(await resolve_space(conn, who, space)).space.id]
        wanted = Wanted(pattern, space_ids, document_id, ignore_case, fixed, context, most, seconds, verbatim)
        return await grep_documents(app.bench, who, wanted)

    found = with_app(work)
    show(found, as_json, lambda: _show_found(found, context))


_MORE = {
    "matches": "there are more matches: --max shows more",
    "deadline": "time was up: --space or --doc searches less, --seconds longer",
}


def _show_found(found: "Found", context: int) -> None:
    gap = ""
    for _, group in groupby(found.matches, key=lambda match: match.document_id):
        for line in _blocks(list(group)):
            if line is None:
                gap = "--\n" if context else ""
                continue
            sys.stdout.write(f"{gap}{line}\n")
            gap = ""
        gap = "--\n" if context else ""
    if not found.matches:
        sys.stdout.write("nothing found\n")
    if found.truncated:
        sys.stderr.write(f"stopped after {found.searched} documents: {_MORE[found.truncated]}\n")


def _blocks(matches: "Sequence[Match]") -> Iterator[str | None]:
    """The lines to print for one document, each once; None where lines are left out between two."""
    source, shown = printable(matches[0].source), {}
    for match in matches:
        first = match.line - len(match.before)
        around = [*enumerate(match.before, first), *enumerate(match.after, match.line + 1)]
        shown.update({line: f"{source}-{line}-{text}" for line, text in around if line not in shown})
        page = f" (page {match.page})" if match.page is not None else ""
        shown[match.line] = f"{source}:{match.line}{page}: {'…' if match.offset else ''}{match.text}"
    last = None
    for line in sorted(shown):
        if last is not None and line > last + 1:
            yield None
        yield shown[line]
        last = line
