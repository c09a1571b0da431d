"""The tools of MCP servers as our own: namespaced, trusted by hash, judged before they are called."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from kosmos.domain.clock import system_clock
from kosmos.errors import ConfigError, InvalidInput
from kosmos.risk import annotated_level, assess, digest, file_argv
from kosmos.sandbox.grants import KEY_VARIABLE, grant
from kosmos.tools.contract import MalformedCall, Tool, ToolOutput
from kosmos.tools.mcp_config import Entry
from kosmos.tools.mcp_trust import definition_hash
from kosmos.tools.reviewing import ARGV, FLOOR, RISK

SEPARATOR = "__"
APPROVAL = "approval"  # the argument by which our OS server takes a signed approval
MAX_DESCRIPTION = 2000
GOOD_FOR = timedelta(minutes=5)
Call = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


class _Any(BaseModel):
    """The parameters of a foreign tool are in its own schema."""


@dataclass(frozen=True, slots=True)
class McpTool(Tool):
    """A tool of a server. The schema is the server's."""

    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Any]:
        """The tool in the words of the chat protocol."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, or MalformedCall where they do not fit the server's schema."""
        known = self.parameters.get("properties")
        if isinstance(known, dict) and (extra := sorted(set(arguments) - set(known))):
            raise MalformedCall(f"There is no argument {', '.join(extra)[:200]}.")
        try:
            fault = _fault(dict(self.parameters), dict(arguments))
        except Exception:  # noqa: BLE001  (a foreign schema: broken patterns, references to nowhere or to itself)
            raise MalformedCall("The server's own schema of this tool is broken.") from None
        if fault:
            raise MalformedCall(fault[:500])
        return dict(arguments)


def _fault(schema: dict[str, Any], arguments: dict[str, Any]) -> str:
    """What of the arguments does not fit the schema, if anything."""
    from jsonschema import Draft202012Validator, exceptions, validators  # comes with mcp
    from referencing import Registry

    kind = validators.validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    # A registry of its own: with the usual one a reference to an address would be fetched.
    error = exceptions.best_match(kind(schema, registry=Registry()).iter_errors(arguments))
    return f"{error.json_path}: {error.message}" if error else ""


def make_mcp_tool(entry: Entry, definition: Mapping[str, Any], call: Call) -> McpTool:
    """A tool of a server out of its definition."""
    name = str(definition["name"])

    async def run(**arguments: Any) -> ToolOutput:
        result = await call(name, arguments)
        output = read_result(result)
        broke = name in entry.commands and _complains(result.structured_content)
        return replace(output, failed=True) if broke else output

    description = " ".join(str(definition.get("description") or name).split())[:MAX_DESCRIPTION]
    return McpTool(
        name=f"{entry.name}{SEPARATOR}{name}",
        description=description,
        run=run,
        form=_Any,
        read_only=False,
        seconds=entry.seconds + 5,
        labels=_labels(entry, definition),
        parameters=_parameters(entry, definition),
    )


def _labels(entry: Entry, definition: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of its risk: the operator's word, and the server's own where that is higher."""
    name = str(definition["name"])
    hint = annotated_level(definition.get("annotations"))
    labels: dict[str, Any] = {"hash": definition_hash(definition), RISK: entry.risk.get(name, "HIGH")}
    labels |= {FLOOR: hint.name} if hint is not None else {}
    labels |= {ARGV: entry.commands[name]} if name in entry.commands else {}
    return labels | ({"granted": granter(entry, name)} if entry.is_os_server else {})


def granter(entry: Entry, name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Adds to the arguments of an approved call the signature that our OS server asks for."""

    def granted(arguments: dict[str, Any]) -> dict[str, Any]:
        key = entry.env.get(KEY_VARIABLE, "")
        if not key:
            raise ConfigError(
                f"{entry.name} cannot be told of an approval.",
                remedy=f"Set env.{KEY_VARIABLE} of the server.",
            )
        if name in entry.commands:
            argv = [str(part) for part in arguments[entry.commands[name]]]
            judged = assess(argv)
            wanted = digest(argv, judged.context, judged.namespace)
        else:
            try:
                wanted = digest(file_argv(name, arguments))
            except InvalidInput:
                return arguments
        return {**arguments, APPROVAL: grant(key.encode(), wanted, expires=system_clock() + GOOD_FOR)}

    return granted


def _parameters(entry: Entry, definition: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the arguments; approvals are not the model's to give."""
    given = definition.get("inputSchema")
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    if given and isinstance(given, Mapping):
        schema = dict(given)
    if entry.is_os_server and isinstance(schema.get("properties"), dict):
        schema["properties"] = {key: item for key, item in schema["properties"].items() if key != APPROVAL}
    return schema


def _complains(answer: Any) -> bool:
    """Whether a command ended badly and said why; one that merely found nothing says nothing."""
    return isinstance(answer, dict) and answer.get("code") not in (None, 0) and bool(answer.get("stderr"))


def read_result(result: Any) -> ToolOutput:
    """What a server answered: everything in it is data of strangers."""
    texts = [_block(block) for block in result.content]
    body = "\n".join(text for text in texts if text)
    if not body and result.structured_content is not None:
        body = json.dumps(result.structured_content, ensure_ascii=False, indent=1)
    return ToolOutput(data=body, failed=bool(result.is_error))


def _block(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    if block.type == "resource" and getattr(block.resource, "text", None):
        return str(block.resource.text)
    if block.type == "resource_link":
        return f"({block.name}: {block.uri})"
    return f"({block.type})"
