"""Fuzzers of what models and tool servers say: broken calls, garbled streams, markers, MCP."""

import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
from hypothesis import strategies as st

from fuzzing.fuzzer import Fuzzer, require, wait
from fuzzing.mutating import damaged, shaped, texts, values
from kosmos.agents.citing import cite
from kosmos.agents.executing import MOST_TOKENS, execute
from kosmos.agents.markers import MarkerFilter, clean_markers
from kosmos.agents.react.structured import find_object
from kosmos.agents.sources import Sources
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.llm.chat import Call
from kosmos.llm.streaming import Inquiry, Model, StreamedCall, Turn, stream_once
from kosmos.llm.thoughts import ThinkSplitter
from kosmos.retrieval.rewriting import read_queries
from kosmos.risk import assess, assess_line
from kosmos.tools.contract import MalformedCall, Passage
from kosmos.tools.knowledge import Heading, Listed, knowledge_tools
from kosmos.tools.mcp_config import Entry, load_entries, parse_entries
from kosmos.tools.mcp_tools import make_mcp_tool, read_result
from kosmos.tools.registry import choose_tools

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CREDENTIAL = Credential(
    "c", None, "m", CredentialType.LLM, "http://127.0.0.1:9/v1", "m", {}, True, False, None, NOW, NOW
)
PASSAGE = Passage("A pump needs oil.\nEvery 40 days.\n证书每 90 天轮换。", "a.md", "A", "d1", 3, 5)
FIELDS = ("query", "document", "max_results", "pattern", "start_line", "end_line", "heading", "contains")
TOOLS = ("search", "read", "grep", "list_documents", "outline")


class _Desk:
    """Documents that answer anything."""

    async def search(self, query: str, *, k: int, document: str | None) -> Sequence[Passage]:  # noqa: ARG002
        return [PASSAGE] * k

    async def read(self, document: str, **_: Any) -> Passage:  # noqa: ARG002
        return PASSAGE

    async def grep(self, pattern: str, *, document: str | None, most: int) -> Sequence[Passage]:  # noqa: ARG002
        return [PASSAGE] * most

    async def list_documents(self, contains: str, *, most: int) -> tuple[Sequence[Listed], bool]:
        return [Listed("d1", contains, "A", 9)] * most, True

    async def outline(self, document: str) -> tuple[Listed, Sequence[Heading]]:
        return Listed("d1", document, "A", 9), [Heading(1, "A", 1, 9)]


TOOLBOX = choose_tools(knowledge_tools(_Desk()), None)


def _calls() -> st.SearchStrategy[list[tuple[str, str]]]:
    names = st.one_of(st.sampled_from(TOOLS), st.sampled_from(TOOLS), texts(8))
    good = json.dumps({"query": "pump", "max_results": 3, "document": "a.md"}).encode()
    near = st.fixed_dictionaries(
        {},
        optional={
            "query": st.one_of(texts(10), values(0)),
            "pattern": texts(10),
            "document": texts(10),
            "max_results": st.one_of(st.integers(-1, 30), values(0)),
            "start_line": st.one_of(st.integers(-1, 9), values(0)),
        },
    )
    given = st.one_of(
        near.map(json.dumps),
        shaped(FIELDS).map(json.dumps),
        damaged([good]).map(lambda data: data.decode(errors="replace")),
        texts(30),
    )
    return st.lists(st.tuples(names, given), min_size=1, max_size=3)


def _tool_calls(case: list[tuple[str, str]]) -> str:
    calls = [StreamedCall(str(at), _parsed(*said)) for at, said in enumerate(case)]
    done = wait(execute(calls, TOOLBOX, Sources("fence"), before=[]))
    require([item.call for item in done] == calls, "each call has its result, in order")
    require(all(len(item.text) < MOST_TOKENS * 8 for item in done), "a result without bounds")
    return "done" if any(item.ok for item in done) else "told why"


def _parsed(name: str, text: str) -> Call:
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        given = None
    return Call(name, given if isinstance(given, dict) else None, text)


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()
    )


_CALL = {"index": 0, "id": "a", "function": {"name": "search", "arguments": '{"query": "x"}'}}
STREAM = b"\n\n".join(
    [
        _chunk({"role": "assistant", "content": "<think>Hm."}),
        _chunk({"content": "</think>The pump [1] 需要油。"}),
        _chunk({"tool_calls": [_CALL]}),
        _chunk({}, "tool_calls"),
        b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}',
        b"data: [DONE]\n\n",
    ]
)
SSE = (
    b"data:",
    b"\n\n",
    b"data: [DONE]",
    b": ",
    b"null",
    b'{"error": 1}',
    b"\r",
    b"id: x",
    b"[]",
    b'"usage": 1e999',
)


def _streams() -> st.SearchStrategy[bytes]:
    odd = st.lists(
        shaped(("choices", "usage", "error", "delta")).map(
            lambda item: b"data: " + json.dumps(item).encode()
        ),
        max_size=4,
    )
    deltas = st.lists(
        shaped(("content", "tool_calls", "reasoning", "role")).map(lambda item: _chunk(item, "stop")),
        max_size=4,
    )
    joined = st.one_of(odd, deltas).map(b"\n\n".join)
    return st.one_of(joined, damaged([STREAM], SSE), damaged([STREAM], SSE))


def _stream(data: bytes) -> str:
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)
    )
    turn = wait(_collect(Model(CREDENTIAL, "key", transport)))
    require(isinstance(turn, Turn), "the last piece is the turn")
    json.dumps(turn.spent.prompt_tokens + turn.spent.output_tokens)
    require(all(isinstance(item.id, str) for item in turn.calls), "the id of a call is a text")
    return "turn"


async def _collect(model: Model) -> Any:
    last: Any = None
    async for piece in stream_once(model, Inquiry([{"role": "user", "content": "?"}]), seconds=5):
        last = piece
    return last


MARKS = (
    "[1]",
    "[2",
    "]",
    "[9]",
    "【1】",
    "[1-3]",
    "[source 2]",
    "`",
    "```\n",
    "(x)",
    '(x "t")',
    "(<x>)",
    "(",
    ")",
    " ",
    "pump",
    "证书。",
    "[^1]",
    "\n",
)


def _marked() -> st.SearchStrategy[tuple[str, int]]:
    answer = st.lists(st.one_of(st.sampled_from(MARKS), st.sampled_from(MARKS), texts(5)), max_size=14)
    return st.tuples(answer.map("".join), st.integers(0, 2**32))


def _markers(case: tuple[str, int]) -> str:
    text, seed = case
    known = {1, 2}.__contains__
    whole, used, removed = clean_markers(text, known)
    require(set(used) <= {1, 2} and not {"1", "2"} & set(removed), "a marker on the wrong side")
    chance, filtering, told, at = random.Random(seed), MarkerFilter(known), "", 0  # noqa: S311
    while at < len(text):
        size = chance.randint(1, 4)
        told += filtering.feed(text[at : at + size])
        at += size
    require(told + filtering.end() == whole, "pieces give another text than the whole")
    require(clean_markers(whole, known)[0] == whole, "cleaned twice is not cleaned once")
    return "held"


def _citations(case: tuple[str, int]) -> str:
    sources = Sources("fence")
    sources.show([PASSAGE, Passage("Second.", "b.md", "B", "d2", 1, 1)])
    cited = wait(cite(case[0], sources, "pump 证书?"))
    lines = {"1": PASSAGE.text, "2": "Second."}
    for item in cited.citations:
        require(item.quote in lines[item.marker], "a quote that does not stand there")
        require(item.start_line <= item.end_line, "lines of a citation")
    return "held"


def _thoughts(case: tuple[str, int]) -> str:
    text, seed = case
    chance, splitter, at, told = random.Random(seed), ThinkSplitter(), 0, 0  # noqa: S311
    while at < len(text):
        size = chance.randint(1, 4)
        told += sum(len(getattr(piece, "text", "")) for piece in splitter.feed(text[at : at + size]))
        at += size
    told += sum(len(getattr(piece, "text", "")) for piece in splitter.end())
    require(told <= len(text), "more came out than went in")
    return "held"


def _thinking() -> st.SearchStrategy[tuple[str, int]]:
    parts = ("<think>", "</think>", "<", "think", ">", "</", "pump", "\n", "<thinking>", "证")
    return st.tuples(st.lists(st.sampled_from(parts), max_size=12).map("".join), st.integers(0, 2**32))


def _objects(text: str) -> str:
    found = find_object(text)
    require(found is None or isinstance(found, dict), "no object")
    require(all(isinstance(item, str) for item in read_queries(text, "pump")), "a query that is no text")
    return "found" if found is not None else "none"


def _object_texts() -> st.SearchStrategy[str]:
    good = (
        b'Here it is:\n```json\n{"action": "RETRIEVE", "queries": ["a", "b"], "n": [1, {"x": null}]}\n```\n'
    )
    return st.one_of(damaged([good]).map(lambda data: data.decode(errors="replace")), texts(80))


CONFIG = {
    "mcpServers": {
        "files": {"command": "kosmos", "args": ["os-mcp"], "workspace_root": ".", "risk": {"x": "LOW"}},
        "web": {"url": "http://127.0.0.1:9/mcp", "headers": {"A": "${HOME:-x}"}, "timeout": 5},
    }
}
SERVER: tuple[str, ...] = (
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "type",
    "workspace_root",
    "timeout",
    "disabled",
)
SERVER += ("allow_local", "commands", "risk")


def _configs() -> st.SearchStrategy[Any]:
    one = st.one_of(_likely_server(), _likely_server(), shaped(SERVER), values(1))
    names = st.sampled_from(["files", "web", "b-1", "os", "x_y", "a__b", "\ud800"])
    servers = st.dictionaries(names, one, max_size=2)
    return st.one_of(*[servers.map(lambda item: {"mcpServers": item})] * 4, values(2))


def _likely_server() -> st.SearchStrategy[dict[str, Any]]:
    """A server that is right but for a field or two."""
    path = st.sampled_from([".", "~", "a/../b", "x" * 300, "/", "~nobody-here", "a\x00b", "\ud800", ""])
    word = st.one_of(st.sampled_from(["kosmos", "os-mcp", "python3", "-m", "${HOME}", "${NO:-x}"]), texts(6))
    level = st.sampled_from(["low", "HIGH", "Medium", "critical", "ß"])
    return st.fixed_dictionaries(
        {"command": word},
        optional={
            "args": _mostly(st.lists(word, max_size=2)),
            "cwd": path,
            "workspace_root": path,
            "env": _mostly(st.dictionaries(word, word, max_size=2)),
            "timeout": _mostly(st.integers(1, 3600)),
            "risk": _mostly(st.dictionaries(word, level, max_size=2)),
            "disabled": st.booleans(),
            "commands": _mostly(st.dictionaries(word, word, max_size=1)),
        },
    )


def _mostly(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(right, right, right, right, values(1))


def _mcp_config(whole: Any) -> str:
    entries, warnings = parse_entries(whole, Path("mcp_config.json"), {"HOME": "/home/user"})
    require(all(isinstance(entry.is_os_server, bool) for entry in entries), "an entry")
    require(all(isinstance(line, str) for line in warnings), "a warning that is no text")
    return "read"


def _mcp_file(data: bytes) -> str:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        load_entries(Path(file.name), {})
    return "read"


def _definitions() -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    schema = st.one_of(shaped(("type", "properties", "required", "$ref", "pattern", "enum"), 2), values(1))
    definition = st.fixed_dictionaries(
        {"name": texts(10)},
        optional={"description": values(1), "inputSchema": schema, "annotations": values(1)},
    )
    return st.tuples(definition, shaped(("path", "argv", "approval"), 1))


async def _nothing(_: str, arguments: Mapping[str, Any]) -> Any:
    return SimpleNamespace(content=[], structured_content=arguments, is_error=False)


def _mcp_tools(case: tuple[dict[str, Any], Any]) -> str:
    definition, arguments = case
    tool = make_mcp_tool(Entry("web", "h", url="http://127.0.0.1:9/"), definition, _nothing)
    require(isinstance(tool.schema["function"]["parameters"], dict), "parameters are an object")
    try:
        wait(tool.run(**tool.check(arguments)))
    except MalformedCall:
        return "told why"
    return "called"


def _mcp_results(case: list[Any]) -> str:
    content = [
        SimpleNamespace(type=kind, text=text, resource=None, name=text, uri=text) for kind, text in case
    ]
    output = read_result(SimpleNamespace(content=content, structured_content=None, is_error=None))
    require(isinstance(output.data, str), "data is a text")
    return "read"


def _result_blocks() -> st.SearchStrategy[list[Any]]:
    kinds = st.sampled_from(["text", "image", "resource", "resource_link", "audio", ""])
    return st.lists(st.tuples(kinds, values(1)), max_size=4)


SHELL: tuple[str, ...] = (
    "kubectl",
    " delete",
    " get",
    " pods",
    ";",
    "|",
    "&&",
    "$(",
    ")",
    "`",
    "'",
    '"',
    "\\",
    " --",
    " -rf",
    " rm",
    " /",
)
SHELL += (
    "sudo ",
    "bash -c ",
    "env ",
    "xargs ",
    "\n",
    ">",
    "<<EOF\n",
    "helm ",
    "docker ",
    " -n",
    "=",
    "{",
    "}",
    "systemctl ",
)


def _lines() -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(SHELL), st.sampled_from(SHELL), texts(4)), max_size=14).map(
        "".join
    )


def _commands(text: str) -> str:
    one, other = assess_line(text), assess(text.split(" "))
    require(bool(one.level) and bool(other.level), "a command without a level of risk")
    return str(one.level.name)


ONLY = "told to the model, or done; never an exception"
FUZZERS = (
    Fuzzer("tool calls", ONLY, 4000, _calls, _tool_calls),
    Fuzzer("streams of providers", "a whole turn, or an error of the provider", 1250, _streams, _stream),
    Fuzzer("thoughts in streams", "no more comes out than went in", 2000, _thinking, _thoughts),
    Fuzzer("markers", "any pieces give the same; cleaned once is cleaned", 4000, _marked, _markers),
    Fuzzer("citations", "every quote stands where it is said to", 1500, _marked, _citations),
    Fuzzer("objects in answers", "an object, or none", 2000, _object_texts, _objects),
    Fuzzer("MCP config", "entries, or a ConfigError", 3000, _configs, _mcp_config),
    Fuzzer(
        "MCP config bytes",
        "entries, or a ConfigError",
        1500,
        lambda: damaged([json.dumps(CONFIG).encode()]),
        _mcp_file,
    ),
    Fuzzer("MCP tools", ONLY, 1500, _definitions, _mcp_tools),
    Fuzzer("MCP results", "data, whatever was sent", 1500, _result_blocks, _mcp_results),
    Fuzzer("commands", "a level of risk, whatever is written", 3000, _lines, _commands),
)
