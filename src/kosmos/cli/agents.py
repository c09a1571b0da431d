"""Commands on agents."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app
from kosmos.errors import InvalidInput

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.agents import Agent

group = typer.Typer(help="Agents: who answers, with which tools, over which spaces.", no_args_is_help=True)
Named = Annotated[str, typer.Argument(metavar="AGENT", help="Name or id of the agent.")]
Instance = Annotated[bool, typer.Option("--instance", help="For everybody (administrators).")]
Description = Annotated[str | None, typer.Option("--description", help="What it is for.")]
Prompt = Annotated[str | None, typer.Option("--prompt", help="Its system prompt; @FILE reads a file.")]
Model = Annotated[str | None, typer.Option("--model", help="Name of a credential or of a model.")]
Tools = Annotated[str | None, typer.Option("--tools", help="Names with commas between; `all` for every one.")]
Spaces = Annotated[
    str | None, typer.Option("--spaces", help="Names or ids with commas between; `all` for every one.")
]
Options = Annotated[str | None, typer.Option("--options", help="Chat options, as JSON.")]
Workflow = Annotated[str | None, typer.Option("--workflow", help="loop, react or literature.")]
Steps = Annotated[int | None, typer.Option("--steps", help="How often the model is asked at most.")]
Language = Annotated[str | None, typer.Option("--language", help="auto, zh or en.")]


def _values(**given: Any) -> dict[str, Any]:
    """The options of a command as fields of an agent; what was not given is left out."""
    values = {key: value for key, value in given.items() if value is not None}
    for key in ("allowed_tools", "allowed_spaces"):
        if key in values:
            listed = [part.strip() for part in values[key].split(",") if part.strip()]
            values[key] = None if listed == ["all"] else listed
    if str(values.get("system_prompt", "")).startswith("@"):
        values["system_prompt"] = _read(values["system_prompt"][1:])
    if "chat_options" in values:
        values["chat_options"] = _json(values["chat_options"])
    return values


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidInput(
            "--options is not a JSON object.", remedy="""Write it as '{"temperature": 0}'."""
        ) from None


def _read(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", remedy="Give a file in UTF-8.") from None


@group.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    description: Description = None,
    prompt: Prompt = None,
    model: Model = None,
    tools: Tools = None,
    spaces: Spaces = None,
    options: Options = None,
    workflow: Workflow = None,
    steps: Steps = None,
    language: Language = None,
    instance: Instance = False,
    as_json: AsJson = False,
) -> None:
    """Make an agent."""
    from kosmos.agents.files import make_form
    from kosmos.tasks import agents

    form = make_form(
        _values(
            name=name,
            description=description,
            system_prompt=prompt,
            model=model,
            allowed_tools=tools,
            allowed_spaces=spaces,
            chat_options=options,
            workflow=workflow,
            step_limit=steps,
            language=language,
        )
    )

    async def work(app: "App", who: "Principal") -> "Agent":
        return await agents.create_agent(app.bench, who, form, for_instance=instance)

    made = with_app(work)
    show(_plain(made), as_json, lambda: console().print(f"made {made.name} ({made.id})"))


@group.command("edit")
def edit(
    agent: Named,
    name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    description: Description = None,
    prompt: Prompt = None,
    model: Model = None,
    tools: Tools = None,
    spaces: Spaces = None,
    options: Options = None,
    workflow: Workflow = None,
    steps: Steps = None,
    language: Language = None,
    as_json: AsJson = False,
) -> None:
    """Change an agent; what is not given stays."""
    from kosmos.tasks import agents

    changes = _values(
        name=name,
        description=description,
        system_prompt=prompt,
        model=model,
        allowed_tools=tools,
        allowed_spaces=spaces,
        chat_options=options,
        workflow=workflow,
        step_limit=steps,
        language=language,
    )

    async def work(app: "App", who: "Principal") -> "Agent":
        found = await agents.find_agent(app.bench, who, agent)
        return await agents.change_agent(app.bench, who, found.id, changes)

    changed = with_app(work)
    show(_plain(changed), as_json, lambda: console().print(f"changed {changed.name} ({changed.id})"))


@group.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List your agents and those of the instance."""
    from kosmos.tasks import agents

    async def work(app: "App", who: "Principal") -> "list[Agent]":
        return await agents.list_agents(app.bench, who, limit=1000)

    found = [_plain(item) for item in with_app(work)]
    show_rows(
        found,
        as_json,
        {
            "id": lambda item: item["id"],
            "name": lambda item: item["name"],
            "workflow": lambda item: item["workflow"],
            "model": lambda item: item["model"] or "",
            "for": lambda item: "everybody" if item["owner_id"] is None else "you",
            "description": lambda item: item["description"],
        },
    )


@group.command("show")
def show_agent(agent: Named, as_json: AsJson = False) -> None:
    """Show everything about an agent."""
    from kosmos.tasks import agents

    async def work(app: "App", who: "Principal") -> "tuple[Agent, str]":
        found = await agents.find_agent(app.bench, who, agent)
        return found, await agents.export_agent(app.bench, who, found.id)

    found, text = with_app(work)
    show(_plain(found), as_json, lambda: _print(f"# {found.id}\n{text}"))


@group.command("export")
def export(agent: Named, as_json: AsJson = False) -> None:
    """Print an agent as YAML that `import` reads."""
    from kosmos.tasks import agents

    async def work(app: "App", who: "Principal") -> str:
        found = await agents.find_agent(app.bench, who, agent)
        return await agents.export_agent(app.bench, who, found.id)

    text = with_app(work)
    show({"yaml": text}, as_json, lambda: _print(text))


@group.command("import")
def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A YAML file, or - for standard input.")] = "",
    builtin: Annotated[
        bool, typer.Option("--builtin", help="The agents that come with Kosmos, where they are missing.")
    ] = False,
    instance: Instance = False,
    as_json: AsJson = False,
) -> None:
    """Make an agent from YAML, or change yours of that name."""
    from kosmos.tasks import agents

    if bool(file) == builtin:
        raise InvalidInput("Give a file or --builtin, one of them.", remedy="kosmos agents import FILE")
    text = "" if builtin else _read(file)

    async def work(app: "App", who: "Principal") -> "list[Agent]":
        if builtin:
            return await agents.restore_shipped_agents(app.bench, who)
        return [(await agents.import_agent(app.bench, who, text, for_instance=instance))[0]]

    made = with_app(work)
    names = ", ".join(f"{item.name} ({item.id})" for item in made) or "nothing"
    show([_plain(item) for item in made], as_json, lambda: console().print(f"imported {names}"))


@group.command("delete")
def delete(agent: Named, as_json: AsJson = False) -> None:
    """Remove an agent. Its sessions stay and can go on."""
    from kosmos.tasks import agents

    async def work(app: "App", who: "Principal") -> str:
        found = await agents.find_agent(app.bench, who, agent)
        await agents.remove_agent(app.bench, who, found.id)
        return found.id

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed}"))


def _print(text: str) -> None:
    sys.stdout.write(text)


def _plain(agent: "Agent") -> dict[str, Any]:
    from kosmos.tasks.agents import form_values

    moments = {"created_at": agent.created_at, "updated_at": agent.updated_at}
    return {"id": agent.id, "owner_id": agent.owner_id, **form_values(agent.form), **moments}
