"""The OS server as a client meets it: tools, refusals at the call, approvals, the audit log."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kosmos.domain.clock import system_clock
from kosmos.errors import ConfigError
from kosmos.mcp.os_calls import OsCalls, open_calls
from kosmos.mcp.os_server import build_server, serve
from kosmos.risk import assess, digest, file_argv
from kosmos.sandbox.audit import AuditLog, verify
from kosmos.sandbox.box import Sandbox
from kosmos.sandbox.commands import Rule
from kosmos.sandbox.files import Workspace
from kosmos.sandbox.grants import Grants, grant
from kosmos.sandbox.isolation import NOBODY, Kind, probe
from kosmos.sandbox.policy import Policy, default_policy

pytest.importorskip("mcp.server.mcpserver", reason="the MCP library is not installed")
from mcp import Client, StdioServerParameters

KEY = b"k" * 32
HELD = probe()
needs_isolation = pytest.mark.skipif(
    HELD.kind is Kind.NONE, reason=f"commands cannot be held here: {HELD.detail}"
)


@pytest.fixture
def root() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kosmos-os-"))
    (folder / "a.txt").write_text("one\n泵 two\n")
    (folder / "a.txt").chmod(0o644)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _policy() -> Policy:
    found = default_policy(environment={"HOME": "/nowhere"})
    touch = Rule("/usr/bin/touch")
    fake = Rule("/usr/bin/echo", open=True, refused=frozenset({"--token"}))
    return Policy({**found.commands, "touch": touch, "kubectl": fake})


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def calls(root: Path, state: Path) -> OsCalls:
    return open_calls(root, state=state, policy=_policy(), grants_key=KEY)


async def _call(served: OsCalls | Client, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Call a tool as a client does; whether it failed, and what it said."""
    if isinstance(served, OsCalls):
        async with Client(build_server(served)) as client:
            return await _call(client, tool, **arguments)
    result = await served.call_tool(tool, arguments)
    text = getattr(result.content[0], "text", "")
    return bool(result.is_error), text if result.is_error else json.loads(text)


def _names(root: Path) -> list[str]:
    return sorted(file.name for file in root.iterdir())


def _approval(argv: list[str] | tuple[str, ...], *, minutes: int = 5) -> str:
    judged = assess(argv)
    name = digest(argv, judged.context, judged.namespace)
    return grant(KEY, name, expires=system_clock() + timedelta(minutes=minutes))


async def test_the_tools_are_there_and_say_what_they_are(calls: OsCalls) -> None:
    async with Client(build_server(calls)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    reading = {"read_file", "list_files", "search_files", "system_info"}
    assert set(tools) == reading | {"run_command", "write_file", "move_file", "delete_file"}
    assert tools["run_command"].annotations is None
    for name in ("write_file", "move_file", "delete_file"):
        hints = tools[name].annotations
        assert hints is not None
        assert hints.destructive_hint


@needs_isolation
async def test_reading_commands_run(calls: OsCalls) -> None:
    failed, said = await _call(calls, "run_command", argv=["grep", "泵", "a.txt", "-n"])
    assert not failed
    assert (said["code"], said["stdout"], said["risk"], said["stdout_truncated"]) == (
        0,
        "2:泵 two\n",
        "LOW",
        False,
    )


async def test_files_are_read_listed_and_searched(calls: OsCalls) -> None:
    assert (await _call(calls, "read_file", path="a.txt"))[1]["content"] == "one\n泵 two\n"
    assert (await _call(calls, "list_files"))[1]["entries"][0]["name"] == "a.txt"
    hits = (await _call(calls, "search_files", text="泵"))[1]
    assert hits == {"hits": [{"path": "a.txt", "line": 2, "text": "泵 two"}], "complete": True}
    for path in ("../x", "/etc/passwd"):
        failed, said = await _call(calls, "read_file", path=path)
        assert failed
        assert "workspace" in said


REFUSED = [
    ["sh", "-c", "id"],
    ["/bin/cat", "a.txt"],
    ["cat", "--frobnicate"],
    ["sort", "-o", "x", "a.txt"],
    ["python3", "-c", "1"],
    ["cat a.txt"],
    ["cat", "a.txt", "\0"],
]


@pytest.mark.parametrize("argv", REFUSED)
async def test_other_programs_and_words_are_refused_even_with_an_approval(
    calls: OsCalls, argv: list[str]
) -> None:
    assert (await _call(calls, "run_command", argv=argv))[0]
    assert (await _call(calls, "run_command", argv=argv, approval=_approval(argv)))[0]


async def test_a_tool_that_is_not_listed_cannot_be_called(calls: OsCalls) -> None:
    assert (await _call(calls, "make_folder", path="x"))[0]


@needs_isolation
async def test_a_change_runs_once_with_its_approval_and_never_without(calls: OsCalls, root: Path) -> None:
    argv = ["touch", "made"]
    failed, said = await _call(calls, "run_command", argv=argv)
    assert failed
    assert digest(argv) in said
    assert not (root / "made").exists()
    token = _approval(argv)
    assert (await _call(calls, "run_command", argv=["touch", "other"], approval=token))[0]
    assert not (root / "other").exists()
    failed, said = await _call(calls, "run_command", argv=argv, approval=token)
    assert (failed, said["code"]) == (False, 0)
    assert (root / "made").exists()
    assert "used already" in (await _call(calls, "run_command", argv=argv, approval=token))[1]


@needs_isolation
async def test_an_approval_is_for_one_target(calls: OsCalls) -> None:
    asked = ["kubectl", "--context", "test", "-n", "a", "delete", "pod", "x"]
    other = ["kubectl", "--context", "prod", "-n", "a", "delete", "pod", "x"]
    assert (await _call(calls, "run_command", argv=other, approval=_approval(asked)))[0]
    assert (
        "expired" in (await _call(calls, "run_command", argv=asked, approval=_approval(asked, minutes=-1)))[1]
    )
    assert not (await _call(calls, "run_command", argv=asked, approval=_approval(asked)))[0]
    assert (await _call(calls, "run_command", argv=[*asked, "--token=x"]))[0]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "new", "content": "x"}),
        ("move_file", {"source": "a.txt", "target": "b.txt"}),
        ("delete_file", {"path": "a.txt"}),
    ],
)
async def test_changes_of_files_need_their_approval(
    calls: OsCalls, root: Path, tool: str, arguments: dict[str, str]
) -> None:
    before = _names(root)
    failed, said = await _call(calls, tool, **arguments)
    assert failed
    assert "approval" in said
    assert _names(root) == before
    argv = file_argv(tool, arguments)
    token = grant(KEY, digest(argv), expires=system_clock() + timedelta(minutes=5))
    wrong = {**arguments, **({"content": "y"} if "content" in arguments else {"path": "c", "target": "c"})}
    wrong = {name: wrong[name] for name in arguments}
    assert (await _call(calls, tool, **wrong, approval=token))[0]
    assert not (await _call(calls, tool, **arguments, approval=token))[0]
    assert _names(root) != before


async def test_everything_is_in_the_audit_log_and_no_content(calls: OsCalls, state: Path) -> None:
    await _call(calls, "run_command", argv=["sh", "-c", "id"])
    await _call(calls, "write_file", path="x", content="very private")
    await _call(calls, "read_file", path="a.txt")
    text = (state / "audit.jsonl").read_text()
    events = [json.loads(line)["event"] for line in text.split("\n")[:-1]]
    assert events == ["command_refused", "write_file_refused", "read_file_done"]
    assert "very private" not in text
    assert verify(state / "audit.jsonl").count == 3


async def test_with_nothing_to_hold_commands_they_are_refused_and_it_says_so(root: Path, state: Path) -> None:
    calls = OsCalls(
        Sandbox(root, probe(bubblewrap=False, fallback=False)),
        Workspace(root),
        policy=_policy(),
        grants=Grants(KEY, state / "grants"),
        log=AuditLog(state / "audit.jsonl"),
    )
    async with Client(build_server(calls)) as client:
        said = (await _call(client, "system_info"))[1]
        assert (said["execution"], said["isolation"]) == (False, "none")
        token = _approval(["touch", "x"])
        failed, words = await _call(client, "run_command", argv=["touch", "x"], approval=token)
        assert failed
        assert "Install bubblewrap" in words
        assert not (state / "grants").exists(), "the approval must not be used up"
        assert not (await _call(client, "read_file", path="a.txt"))[0]


async def test_a_fault_of_ours_tells_nothing(calls: OsCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("internal detail")

    monkeypatch.setattr(Workspace, "read", fail)
    failed, said = await _call(calls, "read_file", path="a.txt")
    assert failed
    assert "internal detail" not in said


@needs_isolation
async def test_an_approval_is_for_what_the_command_is_fed(calls: OsCalls) -> None:
    argv = ["kubectl", "apply", "-f", "-"]
    name = digest(argv, stdin=b"kind: Pod")
    token = grant(KEY, name, expires=system_clock() + timedelta(minutes=5))
    failed, said = await _call(calls, "run_command", argv=argv, stdin="kind: ClusterRole", approval=token)
    assert (failed, "another command" in said) == (True, True)
    assert not (await _call(calls, "run_command", argv=argv, stdin="kind: Pod", approval=token))[0]


async def test_the_command_serves_a_client_over_stdio(root: Path, state: Path) -> None:
    key = state.parent / "key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    arguments = ["-m", "kosmos", "os-mcp", "--root", str(root), "--state", str(state), "--key-file", str(key)]
    here = {"PYTHONPATH": os.pathsep.join(sys.path)}
    async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=here)) as client:
        assert (await _call(client, "read_file", path="a.txt"))[1]["size"] == 12
        token = grant(KEY, digest(("delete_file", "a.txt")), expires=system_clock() + timedelta(minutes=1))
        assert not (await _call(client, "delete_file", path="a.txt", approval=token))[0]
    assert not (root / "a.txt").exists()
    assert verify(state / "audit.jsonl").count == 3


def test_the_log_is_never_inside_the_workspace(root: Path) -> None:
    with pytest.raises(ConfigError, match="inside the workspace"):
        serve(root, state=root / "state")
    with pytest.raises(ConfigError, match="no folder"):
        serve(root / "nowhere", state=root)
