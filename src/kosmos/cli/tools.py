"""Commands on the tools of MCP servers."""

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app
from kosmos.errors import Forbidden, InvalidInput, NotFound

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal

group = typer.Typer(help="Tools of MCP servers (mcp_config.json).", no_args_is_help=True)


@group.command("list")
def list_tools(
    start: Annotated[bool, typer.Option("--start", help="Start servers that are not trusted, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List servers and tools: what is trusted, how risky it is."""

    async def work(app: "App", _: "Principal") -> list[dict[str, Any]]:
        return [row for item in await app.bench.mcp.survey(start_untrusted=start) for row in _rows(item)]

    names = ("server", "tool", "risk", "state")
    show_rows(with_app(work), as_json, {name: itemgetter(name) for name in names})


def _rows(item: Any) -> list[dict[str, Any]]:
    if item.error:
        return [{"server": item.entry.name, "tool": "", "risk": "", "state": item.error}]
    rows = []
    for tool in item.tools:
        name = tool["name"]
        state = {None: "trusted", "server": "not trusted"}.get(
            item.untrusted.get(name), item.untrusted.get(name)
        )
        risk = "by command" if name in item.entry.commands else item.entry.risk.get(name, "HIGH")
        rows.append({"server": item.entry.name, "tool": name, "risk": risk, "state": state})
    return rows


@group.command("trust")
def trust(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="Name of the server.")],
    as_json: AsJson = False,
) -> None:
    """Start a server, and trust it and its tools as they are now. Look at them first: list --start."""

    async def work(app: "App", _: "Principal") -> list[str]:
        return [str(tool["name"]) for tool in (await app.bench.mcp.trust(server)).tools]

    names = with_app(work)
    show({"server": server, "tools": names}, as_json, lambda: console().print(f"trusted: {', '.join(names)}"))


@group.command("call")
def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="server__tool.")],
    arguments: Annotated[str, typer.Argument(help="Arguments as JSON.")] = "{}",
    yes: Annotated[bool, typer.Option("--yes", help="You have read it and want exactly this done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Call a trusted tool by hand. What could change something needs --yes."""
    given = _parse(arguments)

    async def work(app: "App", _: "Principal") -> dict[str, Any]:
        from kosmos.tools.contract import MalformedCall
        from kosmos.tools.registry import Toolbox, ToolFailed
        from kosmos.tools.reviewing import review_call
        from kosmos.tools.secrecy import hide_secrets

        box = Toolbox({item.name: item for item in await app.bench.mcp.tools()})
        if tool not in box.tools:
            raise NotFound(f"There is no trusted tool {tool!r}.", remedy="kosmos tools list shows them.")
        try:
            checked = box.check(tool, given, arguments)
            review = review_call(box.tools[tool], checked)
            if review.needs_approval and not yes:
                raise Forbidden(
                    f"{review.level}: {review.reason}", remedy="Add --yes if you want exactly this."
                )
            if review.needs_approval and (granted := box.tools[tool].labels.get("granted")):
                checked = granted(checked)
            output = await box.run(tool, checked)
        except (MalformedCall, ToolFailed) as error:
            raise InvalidInput(str(error)) from None
        return {"ok": not output.failed, "output": hide_secrets(output.data)}

    found = with_app(work)
    show(found, as_json, lambda: console().print(found["output"], markup=False))
    if not found["ok"]:
        raise typer.Exit(1)


def _parse(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InvalidInput(
            "The arguments are no JSON object.", remedy="""Write them as '{"name": "value"}'."""
        )
    return given
