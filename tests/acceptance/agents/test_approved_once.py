"""A run waits for a word, the server is killed and started again, the word is given: it acts once."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from acceptance.agents.server import Server, prepare, serving
from acceptance.cli.running import Kosmos
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall

SCRIPT = Path(__file__).with_name("notebook_server.py")
FORMS: dict[str, list[dict[str, Any]]] = {
    "problem_analysis": [
        {
            "reasoning": "r",
            "target_operation": "RESOURCE_MUTATION",
            "technical_summary": "write a note",
            "risk_level": "MEDIUM",
        }
    ],
    "execution_plan": [
        {
            "reasoning": "r",
            "action": "TOOL_USE",
            "tool_name": "book__note",
            "tool_args": {"line": "hello", "seconds": 0},
        }
    ],
    "self_evaluation": [
        {"reasoning": "r", "status": "PASS", "next_step": "TO_EXPRESSION", "evidence": ["T1"]}
    ],
}


def decide(body: dict[str, Any]) -> Reply:
    name = body["tools"][0]["function"]["name"] if body.get("tools") else ""
    if name == "execution_plan" and "started before under its approval" in json.dumps(body):
        plan = {"reasoning": "r", "action": "DIRECT_ANSWER", "final_answer": "It was begun."}
        return Reply(tool_calls=(ToolCall(name, plan),))
    return Reply(tool_calls=(ToolCall(name, FORMS[name][0]),)) if name else Reply(content="It is noted (T1).")


def trust(home: Path, notes: Path) -> None:
    """Configure the server of tests and trust it."""
    entry = {"command": sys.executable, "args": [str(SCRIPT), str(notes)], "risk": {"look": "LOW"}}
    home.mkdir(exist_ok=True)
    (home / "mcp_config.json").write_text(json.dumps({"mcpServers": {"book": entry}}))
    assert Kosmos(home, quick=True).run("tools", "trust", "book").returncode == 0


async def until_asked(server: Server) -> dict[str, Any]:
    async with server.client() as http:
        for _ in range(600):
            found = (await http.get("/api/v1/approvals?status=PENDING")).json()["items"]
            if found:
                return dict(found[0])
            await asyncio.sleep(0.1)
    raise AssertionError("nobody asks")


async def test_killed_while_it_waits_it_acts_once(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    trust(tmp_path / "home", notes)
    async with ModelServer(decide) as double, serving(tmp_path / "home") as server:
        async with server.client() as http:
            agent = {"workflow": "react", "allowed_tools": ["book__note"]}
            session = await prepare(http, double, **agent)
            path = f"/api/v1/sessions/{session}/runs"
            answer = await http.post(path, json={"question": "Note hello.", "stream": False})
            assert answer.status_code == 409
            assert "waits for your approval" in answer.text
        asked = await until_asked(server)
        assert asked["request"]["arguments"] == {"line": "hello", "seconds": 0}
        server.end(signal.SIGKILL)
        assert not notes.exists()
        await server.start()
        async with server.client() as http:
            word = f"/api/v1/approvals/{asked['id']}/decide"
            told = await asyncio.gather(*(http.post(word, json={"approved": True}) for _ in range(3)))
            assert sorted(one.status_code for one in told) == [200, 409, 409]
            async with http.stream("GET", f"{path}/{asked['run_id']}/events") as response:
                text = "".join([chunk async for chunk in response.aiter_text()])
            run = (await http.get(f"{path}/{asked['run_id']}")).json()
            used = (await http.get(f"/api/v1/approvals/{asked['id']}")).json()
    assert run["status"] == "COMPLETED"
    assert used["status"] == "USED"
    assert "It is noted (T1)." in text
    assert notes.read_text() == "hello\n"


async def test_without_a_server_the_command_line_lets_the_run_go_on(tmp_path: Path) -> None:
    home, notes = tmp_path / "home", tmp_path / "notes.txt"
    trust(home, notes)
    async with ModelServer(decide) as double:
        async with serving(home) as server, server.client() as http:
            session = await prepare(http, double, workflow="react", allowed_tools=["book__note"])
            body = {"question": "Note hello.", "stream": False}
            await http.post(f"/api/v1/sessions/{session}/runs", json=body)
            asked = await until_asked(server)
        command = [sys.executable, "-m", "kosmos", "approvals", "approve", asked["id"]]
        environ = {**os.environ, "KOSMOS_HOME": str(home)}
        done = await asyncio.create_subprocess_exec(*command, env=environ, stdout=subprocess.PIPE)
        printed, _ = await done.communicate()
    assert done.returncode == 0
    assert "It is noted (T1)." in printed.decode()
    assert notes.read_text() == "hello\n"


async def test_killed_while_it_acts_it_does_not_act_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    trust(tmp_path / "home", notes)
    FORMS["execution_plan"][0]["tool_args"]["seconds"] = 30
    try:
        async with ModelServer(decide) as double, serving(tmp_path / "home") as server:
            async with server.client() as http:
                session = await prepare(http, double, workflow="react", allowed_tools=["book__note"])
                path = f"/api/v1/sessions/{session}/runs"
                await http.post(path, json={"question": "Note hello.", "stream": False})
                asked = await until_asked(server)
                await http.post(f"/api/v1/approvals/{asked['id']}/decide", json={"approved": True})
                for _ in range(600):
                    if notes.exists():
                        break
                    await asyncio.sleep(0.1)
            server.end(signal.SIGKILL)
            await server.start()
            async with server.client() as http:
                async with http.stream("GET", f"{path}/{asked['run_id']}/events") as response:
                    text = "".join([chunk async for chunk in response.aiter_text()])
                run = (await http.get(f"{path}/{asked['run_id']}")).json()
        assert notes.read_text() == "hello\n"
        assert "started before under its approval" in text
        assert "It was begun." in text
        assert run["status"] == "COMPLETED"
    finally:
        FORMS["execution_plan"][0]["tool_args"]["seconds"] = 0
