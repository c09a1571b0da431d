"""Commands on credentials."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app
from kosmos.domain.credentials import CredentialType
from kosmos.errors import InvalidInput

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.credentials import Credential, CredentialLink
    from kosmos.llm.client import Probe

group = typer.Typer(help="Where models are served, and the keys to them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="CREDENTIAL", help="Name or id of the credential.")]


@group.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    kind: Annotated[
        CredentialType, typer.Option("--type", case_sensitive=False, help="What kind of model it opens.")
    ],
    base_url: Annotated[
        str, typer.Option("--base-url", help="OpenAI-compatible address, often ending in /v1.")
    ],
    model: Annotated[str, typer.Option("--model", help="Name of the model there.")],
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    options: Annotated[str, typer.Option("--options", help="More request options, as JSON.")] = "{}",
    default: Annotated[bool, typer.Option("--default", help="Use it where a space names none.")] = False,
    instance: Annotated[bool, typer.Option("--instance", help="For everybody (administrators).")] = False,
    as_json: AsJson = False,
) -> None:
    """Store a credential. The key is asked for (or read with --key-stdin) and stored encrypted."""
    from kosmos.accounts.credentials import NewCredential, add_credential

    new = NewCredential(
        name=name,
        type=kind,
        base_url=base_url,
        model=model,
        key=_read_key(key_stdin),
        options=_parse_options(options),
        is_default=default,
        for_instance=instance,
    )

    async def work(app: "App", who: "Principal") -> "Credential":
        async with app.bench.db.write() as conn:
            return await add_credential(conn, who, new, box=app.box, now=app.bench.clock())

    made = with_app(work)
    show(made, as_json, lambda: console().print(f"stored {made.name} ({made.id})"))


def _read_key(from_stdin: bool) -> str | None:
    """The key: never an argument, since those can be seen by every user of the machine."""
    if from_stdin:
        return sys.stdin.readline().strip() or None
    if sys.stdin.isatty():
        given: str = typer.prompt("Key (empty for none)", default="", hide_input=True, show_default=False)
        return given or None
    return None


def _parse_options(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InvalidInput("--options is not a JSON object.", remedy="""Write it as '{"temperature": 0}'.""")
    return value


@group.command("list")
def list_credentials(as_json: AsJson = False) -> None:
    """List your credentials and those of the instance. Keys are never shown."""
    from kosmos.accounts.credentials import list_credentials as listed

    async def work(app: "App", who: "Principal") -> "list[Credential]":
        async with app.bench.db.read() as conn:
            return await listed(conn, who)

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda item: item.id,
            "name": lambda item: item.name,
            "type": lambda item: item.type,
            "model": lambda item: item.model,
            "base URL": lambda item: item.base_url,
            "key": lambda item: "stored" if item.has_key else "none",
            "default": lambda item: "yes" if item.is_default else "",
            "for": lambda item: "everybody" if item.owner_id is None else "you",
        },
    )


@group.command("test")
def try_out(credential: Name, as_json: AsJson = False) -> None:
    """Make one small call to see whether a credential works."""
    from kosmos.accounts.credentials import find_credential, reveal_key
    from kosmos.llm.client import probe

    async def work(app: "App", who: "Principal") -> "Probe":
        async with app.bench.db.read() as conn:
            found = await find_credential(conn, who, credential)
            key = await reveal_key(conn, found, app.box)
        return await probe(found, key, app.settings.provider_timeout)

    result = with_app(work)
    show(result, as_json, lambda: console().print(f"works: {result.model}, {result.detail}"))


@group.command("link")
def link(
    credential: Name,
    space: Annotated[str, typer.Option("--space", help="Name or id of the space.")] = "default",
    priority: Annotated[int, typer.Option("--priority", help="Higher is asked first.")] = 0,
    weight: Annotated[float, typer.Option("--weight", help="Share of the calls within a priority.")] = 1.0,
    remove: Annotated[bool, typer.Option("--remove", help="Take the link away.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a space use a credential."""
    from kosmos.accounts import credentials as actions
    from kosmos.accounts.access import resolve_space

    async def work(app: "App", who: "Principal") -> "list[CredentialLink]":
        async with app.bench.db.write() as conn:
            found = await actions.find_credential(conn, who, credential)
            space_id = (await resolve_space(conn, who, space)).space.id
            if remove:
                await actions.unlink_credential(conn, who, space_id, found.id)
            else:
                await actions.link_credential(
                    conn, who, space_id, found.id, priority=priority, weight=weight, now=app.bench.clock()
                )
            return await actions.list_links(conn, who, space_id)

    show_rows(
        with_app(work),
        as_json,
        {
            "credential": lambda item: item.credential.name,
            "type": lambda item: item.credential.type,
            "priority": lambda item: item.priority,
            "weight": lambda item: item.weight,
        },
    )


@group.command("remove")
def remove(credential: Name, as_json: AsJson = False) -> None:
    """Remove a credential and its links."""
    from kosmos.accounts.credentials import find_credential, remove_credential

    async def work(app: "App", who: "Principal") -> str:
        async with app.bench.db.write() as conn:
            found = await find_credential(conn, who, credential)
            await remove_credential(conn, who, found.id)
            return found.id

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed}"))
