"""`kosmos spaces set`: what a space wants for its documents."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.accounts import SpaceName
from kosmos.cli.output import AsJson, console, plain, show
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.spaces import Space


def set_space(
    space: SpaceName,
    producer: Annotated[
        str | None, typer.Option("--producer", help="Who finds chunks: structure, or indexer (a model).")
    ] = None,
    fallback: Annotated[
        str | None,
        typer.Option("--fallback", help="Where the model fails: structure, or sentinel (left as an error)."),
    ] = None,
    batch_lines: Annotated[
        int | None, typer.Option("--batch-lines", help="Numbered lines in one question to the model.")
    ] = None,
    parallel_batches: Annotated[
        int | None,
        typer.Option("--parallel-batches", help="Questions at once; 0: as many as the credential allows."),
    ] = None,
    redaction: Annotated[
        str | None,
        typer.Option("--redaction", help="What is hidden: on, off, or kinds with commas, as email,phone."),
    ] = None,
    documents: Annotated[
        int | None, typer.Option("--documents", min=-1, help="Most documents; -1: no limit of its own.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--bytes", min=-1, help="Most bytes of originals; -1: no limit of its own.")
    ] = None,
    tokens_per_day: Annotated[
        int | None,
        typer.Option("--tokens-per-day", min=-1, help="Most tokens a day; -1: no limit of its own."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change settings of a space you own, for what is chunked from now on; without options, show them."""
    from kosmos.accounts.access import resolve_space
    from kosmos.accounts.spaces import set_settings

    chunking = {"producer": producer, "fallback": fallback, "batch_lines": batch_lines}
    given: dict[str, Any] = {name: value for name, value in chunking.items() if value is not None}
    if parallel_batches is not None:
        given["parallel_batches"] = parallel_batches or None
    changes: dict[str, Any] = {"chunking": given} if given else {}
    if redaction is not None:
        changes["redaction"] = redaction if redaction in ("on", "off") else redaction.split(",")

    limits = {"documents": documents, "bytes": size, "tokens_per_day": tokens_per_day}
    if any(value is not None for value in limits.values()):
        named = {name: value for name, value in limits.items() if value is not None}
        changes["limits"] = {name: None if value < 0 else value for name, value in named.items()}

    async def work(app: "App", who: "Principal") -> "Space":
        async with app.bench.db.write() as conn:
            found = (await resolve_space(conn, who, space)).space
            if not changes:
                return found
            return (await set_settings(conn, who, found.id, changes=changes, now=app.bench.clock())).space

    found = with_app(work)
    in_force = _in_force(found)
    body = {"space_id": found.id, "settings": found.settings, "in_force": in_force}
    show(body, as_json, lambda: _show(in_force))


def _show(in_force: dict[str, Any]) -> None:
    out = console()
    for name, value in in_force.items():
        out.print(f"{name:17} {value}")


def _in_force(space: "Space") -> dict[str, Any]:
    """All settings, those that are not given by their defaults."""
    from kosmos.domain.space_settings import ALL_KINDS, read_settings

    wanted = read_settings(space.settings)
    kinds = sorted(wanted.hidden_kinds)
    redaction = "on" if wanted.hidden_kinds == ALL_KINDS else ",".join(kinds) or "off"
    return {
        "producer": wanted.producer,
        "fallback": wanted.fallback,
        "batch_lines": wanted.batch_lines,
        "parallel_batches": wanted.parallel_batches or "as the credential",
        "redaction": redaction,
        "limits": plain(wanted.limits),
    }
