"""Tools: the schema is the signature, every call is checked, nothing a tool does is fatal."""

import asyncio
from typing import Annotated

import pytest
from pydantic import Field

from kosmos.errors import NotFound
from kosmos.tools.contract import MalformedCall, ToolOutput, make_tool
from kosmos.tools.registry import ToolFailed, choose_tools


async def look(
    query: Annotated[str, Field(min_length=1, description="What to look for.")],
    most: Annotated[int, Field(ge=1, le=5)] = 3,
    where: str | None = None,
) -> ToolOutput:
    """Look for something."""
    return ToolOutput(f"{query} {most} {where}")


async def fail(kind: str) -> ToolOutput:
    """Fail in some way."""
    if kind == "hang":
        await asyncio.sleep(60)
    raise NotFound("No such thing.", remedy="Look elsewhere.") if kind == "known" else RuntimeError("secret")


BOX = choose_tools([make_tool(look), make_tool(fail, seconds=0.05)], None)


def test_the_schema_is_the_signature() -> None:
    (schema, _) = BOX.schemas()
    function = schema["function"]
    assert (function["name"], function["description"]) == ("look", "Look for something.")
    parameters = function["parameters"]
    assert parameters["required"] == ["query"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["query"] == {
        "type": "string",
        "minLength": 1,
        "description": "What to look for.",
    }
    assert parameters["properties"]["most"] == {"type": "integer", "minimum": 1, "maximum": 5, "default": 3}


async def test_a_call_that_fits_is_made() -> None:
    arguments = BOX.check("look", {"query": "泵", "most": "4"}, "")
    assert (await BOX.run("look", arguments)).text == "泵 4 None"


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("look", {}, "query"),
        ("look", {"query": ""}, "at least 1"),
        ("look", {"query": "a", "most": 9}, "less than or equal to 5"),
        ("look", {"query": "a", "extra": 1}, "extra"),
        ("look", {"query": ["a"]}, "string"),
        ("look", None, "no JSON object"),
        ("delete_everything", {}, "There is no tool"),
    ],
)
def test_a_call_that_does_not_fit_is_explained(
    name: str, arguments: dict[str, object] | None, says: str
) -> None:
    with pytest.raises(MalformedCall, match=says):
        BOX.check(name, arguments, "{oops")


@pytest.mark.parametrize(
    ("kind", "says"), [("hang", "took longer"), ("known", "Look elsewhere"), ("bug", "unexpectedly")]
)
async def test_a_tool_that_fails_says_so(kind: str, says: str) -> None:
    with pytest.raises(ToolFailed, match=says) as caught:
        await BOX.run("fail", {"kind": kind})
    assert "secret" not in str(caught.value)


def test_only_allowed_tools_are_there() -> None:
    box = choose_tools([make_tool(look), make_tool(fail)], ["look", "unknown"])
    assert list(box.tools) == ["look"]
    assert choose_tools([make_tool(look)], []).tools == {}
    with pytest.raises(MalformedCall, match="There is no tool"):
        box.check("fail", {"kind": "bug"}, "")
