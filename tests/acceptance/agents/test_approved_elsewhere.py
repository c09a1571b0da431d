"""A run waits for a word; its home is put into a backup and restored elsewhere; there the word is given."""

import asyncio
import json
import shutil
from pathlib import Path

from acceptance.agents.server import prepare, serving
from acceptance.agents.test_approved_once import decide, trust, until_asked
from acceptance.cli.running import Kosmos
from kosmos.doubles.model_server import ModelServer


async def test_restored_it_goes_on_where_it_waited(tmp_path: Path) -> None:
    home, other, notes = tmp_path / "home", tmp_path / "other", tmp_path / "notes.txt"
    await asyncio.to_thread(trust, home, notes)
    async with ModelServer(decide) as double:
        async with serving(home) as server, server.client() as http:
            session = await prepare(http, double, workflow="react", allowed_tools=["book__note"])
            body = {"question": "Note hello.", "stream": False}
            await http.post(f"/api/v1/sessions/{session}/runs", json=body)
            asked = await until_asked(server)
            made = await asyncio.to_thread(Kosmos(home).json, "backup", tmp_path / "b.zip", "--with-key")
        assert made["waiting"] == 1
        restored = await asyncio.to_thread(Kosmos(other).json, "restore", tmp_path / "b.zip")
        assert (restored["waiting"], restored["verified"]["faults"]) == (1, [])
        for name in ("mcp_config.json", "mcp_trust.json"):
            shutil.copy(home / name, other / name)
        done = await asyncio.to_thread(Kosmos(other).run, "approvals", "approve", asked["id"])
        assert done.returncode == 0, done
        assert "It is noted (T1)." in done.stdout
        shown = await asyncio.to_thread(Kosmos(other).json, "sessions", "show", session)
    assert notes.read_text() == "hello\n"
    assert "It is noted" in json.dumps(shown)
