"""Writes docs/reference from the code itself: `python scripts/make_reference.py [--check]`.

With --check nothing is written. Exit 1: a page is not what the code says; its name is printed.
"""

import argparse
import contextlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from kosmos.api.application import create_api
from kosmos.api.problems import status_of
from kosmos.cli.main import app
from kosmos.cli.output import fail
from kosmos.config import Settings
from kosmos.config.loading import CONFIG_VARIABLE, FILE_NAME, PREFIX
from kosmos.errors import AllProvidersFailed, KosmosError

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
MADE = "<!-- Made by scripts/make_reference.py; do not edit. -->"
TYPES = {
    "<str>": "text",
    "<int>": "whole number",
    "<float>": "number",
    "<bool>": "flag",
    "<list[Path]>": "paths",
}

CLI_INTRO = """\
Every command and its options. `kosmos COMMAND --help` prints the same on the terminal, and
`kosmos --version` prints the version.

Commands speak for the user whose token is in `KOSMOS_TOKEN` or in the file `token` of the home; see
[settings](settings.md). With `--json` a command prints JSON, and so does an error, on standard
error. The exit codes stand with the [errors](errors.md)."""

SETTINGS_INTRO = f"""\
Each setting is an environment variable and, apart from `home`, a key of `{FILE_NAME}`. The environment
wins over the file, the file over the defaults; an empty variable counts as not set. Any other key and any
other variable that begins with `{PREFIX}` is an error.

`{FILE_NAME}` lies in the home, or where the variable `{CONFIG_VARIABLE}` says. It is TOML:

```toml
port = 8500
log_level = "INFO"
```"""

HTTP_INTRO = """\
Every route. [openapi.json](openapi.json) has the full description with every field; a running server
gives it out at `/api/v1/openapi.json`.

Requests need the header `Authorization: Bearer TOKEN`, apart from `/healthz`. Bodies are JSON, and a
field that is not known is refused. Errors are problem details (RFC 9457); see [errors](errors.md). Every
answer has the header `X-Request-ID`: the one you sent if it is up to 64 letters, digits, `.`, `_` or `-`,
else a new one.

A list comes as `{"items": […], "next": …}`. Where a route takes `after`, give it the value of `next` to
see more; `next` is null at the end."""

ERRORS_INTRO = """\
Every error has a message and, as a rule, a remedy. The command line prints both to standard error and
ends with the exit code. HTTP answers with the status and a body of type `application/problem+json`, in
which `title` is the name of the error, `detail` the message, `remedy` the remedy and `request_id` the id
under which the log knows the request."""

ERRORS_END = """\
A wrong option or argument on the command line ends with 2, a stop by Ctrl+C with 130.

Over HTTP some answers come from outside this table: 404 and 405 for a route that does not exist, 413
for a body above `max_body_bytes`, 422 with a list `errors` for a body or parameter of the wrong form, and
500 with the title `InternalError` for a fault in Kosmos itself."""


def pages() -> dict[str, str]:
    """Every generated file by name."""
    openapi = create_api(Settings()).openapi()
    return {
        "cli.md": page("Command line", CLI_INTRO, cli_parts()),
        "settings.md": page("Settings", SETTINGS_INTRO, [settings_table()]),
        "http.md": page("HTTP", HTTP_INTRO, http_parts(openapi)),
        "errors.md": page("Errors", ERRORS_INTRO, [errors_table(), *errors_notes(), ERRORS_END]),
        "openapi.json": json.dumps(openapi, indent=2, ensure_ascii=False) + "\n",
    }


def page(title: str, intro: str, parts: Iterable[str]) -> str:
    """A page of Markdown."""
    return "\n\n".join([f"# {title}", MADE, intro, *parts]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def choice(values: Iterable[str]) -> str:
    """The values as code, the last after an `or`."""
    *others, last = [f"`{value}`" for value in values]
    return f"{', '.join(others)} or {last}" if others else last


def cli_parts() -> Iterator[str]:
    """A section for each command."""
    for path, command in commands():
        context = typer.Context(command, info_name=path)
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        yield f"## {path}"
        yield (command.help or "").strip()
        yield f"```\n{usage}\n```"
        rows = [parameter_row(item, context) for item in command.params if is_shown(item)]
        if rows:
            yield table(["Parameter", "Type", "Default", "Meaning"], rows)


def commands() -> list[tuple[str, TyperCommand]]:
    """Every command by its full name, in the order of the help."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)  # noqa: S101
    return list(_commands(root, "kosmos"))


def _commands(group: TyperGroup, path: str) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{path} {name}")
        elif isinstance(command, TyperCommand) and not command.hidden:
            yield f"{path} {name}", command


def is_shown(item: object) -> bool:
    """Whether the parameter is for readers."""
    return isinstance(item, TyperArgument | TyperOption) and not item.hidden and item.name != "help"


def parameter_row(item: Any, context: typer.Context) -> tuple[str, str, str, str]:
    """Name, type, default and meaning of an argument or option."""
    shown = item.display_name_raw if isinstance(item, TyperArgument) else ", ".join(item.opts)
    kind = item.display_type(context)
    words = choice(kind.strip("<>").split("|")) if "|" in kind else TYPES.get(kind, kind.strip("<>"))
    value = getattr(item.default, "value", item.default)
    default = "required" if item.required else "" if value in (None, False, "") else f"`{value}`"
    return f"`{shown}`", words, default, item.help or ""


def settings_table() -> str:
    """A row for each field of Settings."""
    fields = Settings.model_json_schema()["properties"]
    rows = [
        [
            f"`{key}`",
            f"`{PREFIX}{key.upper()}`",
            setting_type(item),
            setting_default(item),
            item["description"],
        ]
        for key, item in fields.items()
    ]
    return table(["Key", "Variable", "Type", "Default", "Meaning"], rows)


def setting_type(field: Mapping[str, Any]) -> str:
    """The type in words, with its limits."""
    form = next((item for item in field.get("anyOf", []) if item["type"] != "null"), field)
    if "enum" in form:
        return choice(form["enum"])
    if form.get("type") == "array":
        return "list, with commas between"
    words = {"path": "path", "password": "secret"}.get(form.get("format", ""))
    words = words or {"string": "text", "integer": "whole number", "number": "number"}[form["type"]]
    limits = {
        "minimum": "from {}",
        "exclusiveMinimum": "above {}",
        "maximum": "up to {}",
        "exclusiveMaximum": "below {}",
    }
    return " ".join([words, *(text.format(f"{form[key]:,}") for key, text in limits.items() if key in form)])


def setting_default(field: Mapping[str, Any]) -> str:
    """The default as it would be written."""
    default = field.get("default")
    if isinstance(default, list | tuple):
        return f"`{','.join(map(str, default))}`" if default else "none"
    return "not set" if default is None else f"`{default}`"


def http_parts(openapi: Mapping[str, Any]) -> Iterator[str]:
    """A table for each group of routes."""
    groups: dict[str, list[list[str]]] = {}
    for path, methods in openapi["paths"].items():
        for method, route in methods.items():
            row = [f"`{method.upper()}`", f"`{path}`", route["description"], sent(route), answered(route)]
            groups.setdefault(route["tags"][0], []).append(row)
    for group, rows in groups.items():
        yield f"## {group.capitalize()}"
        yield table(["Method", "Path", "What it does", "Body or query", "Answer"], rows)


def sent(route: Mapping[str, Any]) -> str:
    """What a request carries besides its path."""
    query = [f"`?{item['name']}=`" for item in route.get("parameters", []) if item["in"] == "query"]
    body = schema_name(route.get("requestBody", {}))
    return " ".join([body, *query] if body else query)


def answered(route: Mapping[str, Any]) -> str:
    """Status and form of the answer when all is well."""
    status = min(route["responses"])
    return f"{status} {schema_name(route['responses'][status])}".strip()


def schema_name(part: Mapping[str, Any]) -> str:
    """The name of a JSON form in the OpenAPI description."""
    reference: str = part.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
    name = reference.rpartition("/")[2]
    return f"`{name}`" if name else ""


def errors_table() -> str:
    """A row for each error of the tree, those that are a kind of another below it."""
    rows = [
        [
            f"{'&emsp;' * depth}`{kind.__name__}`",
            message(kind),
            *codes(kind),
            "yes" if kind.retryable else "no",
        ]
        for depth, kind in error_tree(KosmosError, 0)
    ]
    return table(["Error", "Default message", "HTTP", "Exit code", "Worth trying again"], rows)


def errors_notes() -> Iterator[str]:
    """What a table cannot say."""
    yield f"`{AllProvidersFailed.__name__}` is worth trying again when one of the failures it lists is."


def error_tree(kind: type[KosmosError], depth: int) -> Iterator[tuple[int, type[KosmosError]]]:
    """The class and all below it, in the order in which they are declared."""
    yield depth, kind
    for child in kind.__subclasses__():
        if child.__module__ == kind.__module__:
            yield from error_tree(child, depth + 1)


def message(kind: type[KosmosError]) -> str:
    """The default message of an error."""
    return (kind.__doc__ or "").split("\n")[0]


def codes(kind: type[KosmosError]) -> tuple[str, str]:
    """HTTP status and exit code of an error."""
    error = kind.__new__(kind)
    KosmosError.__init__(error)  # some kinds want more than a message, which does not matter here
    with contextlib.redirect_stderr(io.StringIO()):
        exit_code = fail(error)
    return str(status_of(error)), str(exit_code)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the reference pages from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is stale")
    parser.add_argument("folder", nargs="?", type=Path, default=REFERENCE)
    options = parser.parse_args(argv)
    folder: Path = options.folder.resolve()
    stale = {folder / name: text for name, text in pages().items() if not is_current(folder / name, text)}
    for file, text in stale.items():
        shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        if options.check:
            print(f"{shown} is stale; run: python scripts/make_reference.py")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"wrote {shown}")
    return 1 if options.check and stale else 0


def is_current(file: Path, text: str) -> bool:
    """Whether the file holds exactly this text."""
    return file.is_file() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main())
