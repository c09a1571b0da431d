"""Agents as files: YAML that people write, keep and exchange, and the agents that come with Kosmos."""

import re
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from typing import Any

import yaml

from kosmos.domain.agents import MAX_STEPS, STEP_LIMIT, AgentForm, Language, Workflow
from kosmos.domain.names import clean_name
from kosmos.domain.values import check_json, check_text
from kosmos.errors import InvalidInput

MAX_DESCRIPTION = 4000
MAX_PROMPT = 32_000
MAX_OPTIONS = 8192
MAX_FILE = 100_000
_FIELDS = tuple(field.name for field in fields(AgentForm))
_TOOL = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
# What the request is made of is not an option of it.
_NOT_OPTIONS = frozenset(
    """
    model messages tools tool_choice functions function_call stream stream_options n timeout api_key base_url
    extra_headers extra_query extra_body
    """.split()  # noqa: SIM905  (reads better than a list)
)


def make_form(values: Mapping[str, Any]) -> AgentForm:
    """The form out of plain values, or InvalidInput that names what is wrong."""
    given = dict(values)
    if "allowed_kbs" in given:  # the name it had first
        given.setdefault("allowed_spaces", given.pop("allowed_kbs"))
    unknown = sorted(set(map(str, given)) - set(_FIELDS))
    if unknown:
        raise InvalidInput(
            f"An agent has no {', '.join(unknown)}.", remedy=f"It may have: {', '.join(_FIELDS)}."
        )
    if not isinstance(given.get("name"), str):
        raise InvalidInput("An agent needs a name.", remedy="Add a line like `name: knowledge assistant`.")
    return AgentForm(
        name=clean_name(given["name"], what="agent name"),
        description=_text(given, "description", MAX_DESCRIPTION),
        system_prompt=_text(given, "system_prompt", MAX_PROMPT),
        model=_text(given, "model", 200) or None,
        allowed_tools=_names(given, "allowed_tools"),
        allowed_spaces=_names(given, "allowed_spaces"),
        chat_options=_options(given.get("chat_options")),
        workflow=_choice(given, "workflow", Workflow),
        step_limit=_steps(given.get("step_limit", STEP_LIMIT)),
        language=_choice(given, "language", Language),
    )


def load_form(text: str) -> AgentForm:
    """The agent that a YAML file describes."""
    check_text(text, what="file", most=MAX_FILE)
    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise InvalidInput(f"The file is not YAML{where}.", remedy="Correct it there.") from None
    if not isinstance(values, dict):
        raise InvalidInput("The file describes no agent.", remedy=f"Give some of: {', '.join(_FIELDS)}.")
    return make_form(values)


def dump_form(form: AgentForm) -> str:
    """The agent as YAML that `load_form` reads back unchanged."""
    values: dict[str, Any] = {name: getattr(form, name) for name in _FIELDS}
    for name in ("allowed_tools", "allowed_spaces"):
        values[name] = None if values[name] is None else list(values[name])
    values |= {"workflow": form.workflow.value, "language": form.language.value}
    values["chat_options"] = dict(form.chat_options)
    return yaml.dump(values, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def shipped_forms() -> list[AgentForm]:
    """The agents that are there from the first start."""
    folder = resources.files("kosmos.agents") / "shipped"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda f: f.name)
    return [load_form(file.read_text(encoding="utf-8")) for file in files]


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _block)


def _text(values: Mapping[str, Any], name: str, most: int) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(name, "a text")
    return check_text(value, what=name, most=most)


def _names(values: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _wrong(name, "a list of names, or nothing for all of them")
    if len(value) > 100 or not all(0 < len(item) <= 120 for item in value):
        raise _wrong(name, "a list of at most 100 names")
    if name == "allowed_tools" and not all(_TOOL.fullmatch(item) for item in value):
        raise _wrong(name, "a list of names of tools such as `search`")
    return tuple(check_text(item, what=name, most=120) for item in dict.fromkeys(value))


def _options(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong("chat_options", "an object like {temperature: 0.2}")
    options = check_json({str(key): item for key, item in value.items()}, what="options", most=MAX_OPTIONS)
    if wrong := sorted(_NOT_OPTIONS & set(options)):
        raise InvalidInput(f"{', '.join(wrong)} cannot be a chat option.", remedy="Leave it out.")
    return options


def _choice(values: Mapping[str, Any], name: str, kind: Any) -> Any:
    try:
        return kind(values.get(name) or next(iter(kind)))
    except ValueError:
        raise _wrong(name, f"one of {', '.join(kind)}") from None


def _steps(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_STEPS:
        raise _wrong("step_limit", f"a number from 1 to {MAX_STEPS}")
    return value


def _wrong(name: str, wanted: str) -> InvalidInput:
    return InvalidInput(f"{name} is not {wanted}.", remedy=f"Give {wanted}.")
