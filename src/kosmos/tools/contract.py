"""What a tool is: a typed asynchronous function whose signature is its schema."""

import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

MAX_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that an answer may cite: lines of a document, or what the web says at a `url`.

    `text` is what may be shown; `exact` are the same lines to the letter, where something in them is hidden.
    """

    text: str
    source: str
    title: str = ""
    document_id: str = ""
    start_line: int = 0
    end_line: int = 0
    page: int | None = None
    version: int = 0
    chunk_id: str = ""
    url: str | None = None
    exact: str | None = None
    headings: tuple[str, ...] = ()  # below which it stands

    @property
    def place(self) -> tuple[str, int, int]:
        """What makes two passages the same one."""
        return self.url or self.document_id, self.start_line, self.end_line


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool found: words about it, passages to cite, and data of strangers that is neither.

    `failed` says that the tool itself calls its result a failure.
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    data: str = ""
    failed: bool = False


class MalformedCall(Exception):
    """The arguments of a call do not fit; the text tells the model why."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. One that is not `read_only` never runs beside another."""

    name: str
    description: str
    run: Callable[..., Awaitable[ToolOutput]]
    form: type[BaseModel]
    read_only: bool = True
    seconds: float = 30.0
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Any]:
        """The tool in the words of the chat protocol."""
        parameters = _untitled(self.form.model_json_schema())
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them, or MalformedCall."""
        try:
            checked = self.form.model_validate(dict(arguments))
        except ValidationError as error:
            faults = [
                f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
                for item in error.errors(include_url=False, include_input=False)[:MAX_FAULTS]
            ]
            raise MalformedCall("; ".join(faults)) from None
        return {name: getattr(checked, name) for name in self.form.model_fields}


def make_tool(
    function: Callable[..., Awaitable[ToolOutput]], *, read_only: bool = True, seconds: float = 30.0
) -> Tool:
    """The tool that a function is: its name, its docstring for the model, its parameters as a schema."""
    name = getattr(function, "__name__", "tool")
    code = getattr(function, "__code__", function)
    if code not in _FORMS:
        _FORMS[code] = _form(name, function)
    return Tool(name, inspect.getdoc(function) or name, function, _FORMS[code], read_only, seconds)


# Tools are made anew for every run, but their code stays, and making a form takes a millisecond.
_FORMS: dict[Any, type[BaseModel]] = {}


def _form(name: str, function: Callable[..., Awaitable[ToolOutput]]) -> type[BaseModel]:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _untitled(schema: Any) -> Any:
    """Without the titles that Pydantic adds: they say nothing and cost tokens."""
    if isinstance(schema, dict):
        return {
            key: _untitled(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema
