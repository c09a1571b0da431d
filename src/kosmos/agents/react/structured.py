"""Answers of a fixed form: by a call of a tool or by a JSON schema, repaired where they do not fit."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from kosmos.agents.react.kit import Kit
from kosmos.agents.wire import Wire
from kosmos.errors import ModelUnfit
from kosmos.llm.streaming import Inquiry, Turn

TRIES = 3
MAX_FAULTS = 5
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_SHOWN = 4000
Form = TypeVar("Form", bound=BaseModel)


async def ask_for(kit: Kit, form: type[Form], messages: list[Wire], *, name: str) -> Form:
    """The form, filled in by the model; ModelUnfit when it cannot do it."""
    talk, fault = list(messages), ""
    for _ in range(TRIES):
        turn = await kit.ask(_inquiry(kit, form, talk, name), False)
        given = _given(turn)
        try:
            return form.model_validate(given if given is not None else {})
        except ValidationError as error:
            fault = _faults(error) if given is not None else "there was no JSON object in it"
        talk = [*messages, *_again(turn, fault, name)]
    raise ModelUnfit(
        f"The model did not fill in {name} in {TRIES} tries: {fault[:300]}.",
        remedy="Choose a model that can call tools, or set the chat option structured: json_schema.",
    )


def _inquiry(kit: Kit, form: type[BaseModel], talk: list[Wire], name: str) -> Inquiry:
    schema = plain_schema(form)
    if kit.structured == "json_schema":
        wanted = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
        return Inquiry(talk, options={**kit.options, "response_format": wanted})
    function = {"name": name, "description": (form.__doc__ or name).strip(), "parameters": schema}
    return Inquiry(talk, [{"type": "function", "function": function}], "required", dict(kit.options))


def _given(turn: Turn) -> Mapping[str, Any] | None:
    """What the model gave: the arguments of its call, or an object in its text."""
    for item in turn.calls:
        if item.call.arguments is not None:
            return item.call.arguments
    texts = [item.call.text for item in turn.calls] + [*_FENCED.findall(turn.text), turn.text]
    return next((found for text in texts if (found := find_object(text)) is not None), None)


def find_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text."""
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(50):
        if at < 0:
            return None
        try:
            found, _end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        at = text.find("{", at + 1)
    return None


def _again(turn: Turn, fault: str, name: str) -> list[Wire]:
    """What the model wrote and what is wrong with it, in words that every server takes."""
    wrote = turn.text or next((item.call.text for item in turn.calls), "") or "(nothing)"
    wish = f"This cannot be used: {fault}. Give {name} again, complete, as one JSON object of the given form."
    return [{"role": "assistant", "content": wrote[:_SHOWN]}, {"role": "user", "content": wish}]


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)[:MAX_FAULTS]
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'it'}: {item['msg']}" for item in found)


def plain_schema(form: type[BaseModel]) -> dict[str, Any]:
    """The schema without references, which small servers do not understand, and what costs tokens only."""
    whole = form.model_json_schema()
    parts = whole.pop("$defs", {})
    plain: dict[str, Any] = _inlined(whole, parts)
    return plain


def _inlined(value: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        part = parts[str(value["$ref"]).rsplit("/", 1)[-1]]
        return _inlined({**part, **{key: item for key, item in value.items() if key != "$ref"}}, parts)
    return {
        key: _inlined(item, parts)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str)) and key != "maxLength"
    }
