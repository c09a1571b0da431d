"""Commands on encoders: which there are, which one is in use, whether they work."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.encoders.catalog import Entry
    from kosmos.encoders.trial import Trial

group = typer.Typer(
    help="What makes vectors of texts: built in, from folders, at endpoints.", no_args_is_help=True
)


@dataclass(frozen=True, slots=True)
class Listed:
    """An encoder that could be used."""

    name: str
    kind: str
    where: str
    state: str
    in_use: bool


@group.command("list")
def list_encoders(as_json: AsJson = False) -> None:
    """List the encoders there are and what each lacks."""

    async def work(app: "App", _: "Principal") -> list[Listed]:
        return [await _look(app, *known) for known in await _known(app)]

    show_rows(
        with_app(work),
        as_json,
        {
            "name": lambda item: item.name,
            "kind": lambda item: item.kind,
            "where": lambda item: item.where,
            "state": lambda item: item.state,
            "in use": lambda item: "yes" if item.in_use else "",
        },
    )


async def _known(app: "App") -> list[tuple[str, str, str]]:
    """Name, kind and place of every encoder that can be named in the settings."""
    from kosmos.db.credentials import list_credentials
    from kosmos.encoders.catalog import BUILTIN, list_models
    from kosmos.encoders.weights import MODEL

    found = [(BUILTIN, "built-in", MODEL)]
    found += [(entry.name, "folder", str(entry.folder)) for entry in list_models(app.settings.models_folder)]
    async with app.bench.db.read() as conn:
        instance = [item for item in await list_credentials(conn, "") if item.type == "EMBEDDING"]
    found += [(item.name, "endpoint", f"{item.base_url} {item.model}") for item in instance]
    if app.settings.encoder not in {name for name, _, _ in found} | {"none"}:
        found.append((app.settings.encoder, "folder", app.settings.encoder))
    return found


async def _look(app: "App", name: str, kind: str, where: str) -> Listed:
    from kosmos.app import quarters_of
    from kosmos.encoders.opening import open_encoder
    from kosmos.errors import ConfigError

    try:
        encoder = await open_encoder(name, quarters_of(app.settings), db=app.bench.db, box=app.box)
    except ConfigError as error:
        state = f"{error.message} {error.remedy or ''}".strip()
    else:
        state = f"ready, dimension {encoder.dimension}" if encoder and encoder.dimension else "ready"
        if encoder is not None:
            await encoder.close()
    return Listed(name, kind, where, state, name == app.settings.encoder)


@group.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    folder: Annotated[Path, typer.Argument(help="Folder of a sentence encoder.")],
    pooling: Annotated[
        str, typer.Option("--pooling", help="mean, cls or lasttoken, where the folder does not say.")
    ] = "",
    query_prompt: Annotated[
        str | None, typer.Option("--query-prompt", help="What introduces a question.")
    ] = None,
    passage_prompt: Annotated[
        str | None, typer.Option("--passage-prompt", help="What introduces a passage.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give a local model folder a name, to be used as the setting `encoder`."""
    from kosmos.encoders.bert_graph import Pooling
    from kosmos.encoders.catalog import Entry, add_model
    from kosmos.encoders.folder_card import Choices
    from kosmos.errors import InvalidInput

    if pooling and pooling not in list(Pooling):
        raise InvalidInput(f"There is no pooling {pooling!r}.", remedy=f"Use one of: {', '.join(Pooling)}.")
    choices = Choices(Pooling(pooling) if pooling else None, query_prompt, passage_prompt)

    async def work(app: "App", _: "Principal") -> "Entry":
        return add_model(app.settings.models_folder, Entry(name, folder, choices))

    made = with_app(work)
    told = f"added {made.name}; use it with KOSMOS_ENCODER={made.name}"
    show({"name": made.name, "folder": str(made.folder)}, as_json, lambda: console().print(told))


@group.command("test")
def try_out(
    name: Annotated[str, typer.Argument(help="An encoder; the one in use if not given.")] = "",
    as_json: AsJson = False,
) -> None:
    """Encode a few sentences to see whether an encoder works, how fast, and across languages."""
    from kosmos.app import quarters_of
    from kosmos.encoders.opening import open_encoder
    from kosmos.encoders.trial import try_encoder
    from kosmos.errors import ConfigError

    async def work(app: "App", _: "Principal") -> "Trial":
        wanted = name or app.settings.encoder
        encoder = await open_encoder(wanted, quarters_of(app.settings), db=app.bench.db, box=app.box)
        if encoder is None:
            raise ConfigError("No encoder is in use.", remedy="Set KOSMOS_ENCODER, or name one.")
        try:
            return await try_encoder(encoder)
        finally:
            await encoder.close()

    made = with_app(work)
    told = (
        f"works: {made.encoder}, dimension {made.dimension}, {made.milliseconds} ms a sentence; "
        f"translations {made.alike}, other sentences {made.unlike}"
    )
    show(made, as_json, lambda: console().print(told))


@group.command("remove")
def remove(name: Annotated[str, typer.Argument(help="Name of the model.")], as_json: AsJson = False) -> None:
    """Forget the name of a model folder; the folder itself stays."""
    from kosmos.encoders.catalog import remove_model

    async def work(app: "App", _: "Principal") -> str:
        remove_model(app.settings.models_folder, name)
        return name

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed}"))
