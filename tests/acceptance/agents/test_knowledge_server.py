"""`kosmos mcp` with the official client of the protocol: over standard input and output, and over HTTP."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from acceptance.agents.server import free_port
from kosmos.errors import EngineUnavailable
from kosmos.tools.mcp_pool import McpPool
from kosmos.tools.reviewing import review_call

GUIDE = (
    "# Pump guide\n\nThe blue pump must be oiled every 40 days.\n\n## 证书\n\n叶子证书每九十天轮换一次。\n"
)


def kosmos(home: Path, *words: str) -> None:
    environ = {**os.environ, "KOSMOS_HOME": str(home)}
    command = [sys.executable, "-m", "kosmos", *words]
    subprocess.run(command, env=environ, check=True, timeout=300, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one document."""
    folder = tmp_path_factory.mktemp("knowledge")
    (folder / "pump.md").write_text(GUIDE)
    kosmos(folder / "home", "add", str(folder / "pump.md"))
    return folder / "home"


async def use(client: Client) -> None:
    """Every tool of the server."""
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert tools == {"search", "read", "grep", "outline", "ask"}
    assert "oiled every 40 days" in await text(client, "search", query="blue pump oil")
    assert "pump.md:3-3" in await text(client, "read", document="pump.md", start_line=3, end_line=3)
    assert "轮换" in await text(client, "grep", pattern="九十天")
    assert "证书 (5-" in await text(client, "outline", document="pump.md")
    asked = await client.call_tool("ask", {"question": "How often is the blue pump oiled?"})
    assert asked.structured_content is not None
    assert asked.structured_content["citations"][0]["quote"] in GUIDE
    wrong = await client.call_tool("read", {"document": "nobody.md"})
    assert wrong.is_error
    assert "There is no document" in wrong.content[0].text  # type: ignore[union-attr]


async def text(client: Client, name: str, **arguments: Any) -> str:
    found = await client.call_tool(name, arguments)
    assert not found.is_error, found
    return "".join(block.text for block in found.content if block.type == "text")


async def test_over_standard_input_and_output(home: Path) -> None:
    environ = {"KOSMOS_HOME": str(home), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    server = StdioServerParameters(command=sys.executable, args=["-m", "kosmos", "mcp"], env=environ)
    async with Client(server) as client:
        await use(client)


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[str]:
    port = free_port()
    environ = {**os.environ, "KOSMOS_HOME": str(home)}
    command = [sys.executable, "-m", "kosmos", "mcp", "--http", "--port", str(port)]
    process = await asyncio.to_thread(subprocess.Popen, command, env=environ)
    try:
        async with httpx2.AsyncClient(trust_env=False) as http:
            for _ in range(600):
                try:
                    await http.get(f"http://127.0.0.1:{port}/mcp")
                    break
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


async def test_as_a_server_of_our_own_agents(home: Path, tmp_path: Path) -> None:
    token = (home / "token").read_text().strip()
    async with served(home) as url:
        entry = {"url": url, "headers": {"Authorization": f"Bearer {token}"}, "risk": {"search": "LOW"}}
        for allowed in (False, True):
            config = {"servers": {"own": {**entry, "allow_local": allowed}}}
            (tmp_path / "mcp_config.json").write_text(json.dumps(config))
            pool = McpPool(tmp_path / "mcp_config.json", tmp_path / f"trust-{allowed}.json")
            try:
                if not allowed:
                    with pytest.raises(EngineUnavailable):
                        await pool.trust("own")
                    continue
                await pool.trust("own")
                tools = {tool.name: tool for tool in await pool.tools()}
                found = await tools["own__search"].run(query="blue pump oil")
                assert "oiled every 40 days" in found.data
                assert not review_call(tools["own__search"], {"query": "x"}).needs_approval
                assert review_call(tools["own__ask"], {"question": "x"}).needs_approval
            finally:
                await pool.close()


async def test_over_http_with_a_token(home: Path) -> None:
    token = (home / "token").read_text().strip()
    async with served(home) as url:
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            await use(client)
        async with httpx2.AsyncClient(trust_env=False) as http:
            for wrong in ({}, {"authorization": "Bearer kosmos_wrong"}):
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                assert (await http.post(url, json=body, headers=wrong)).status_code == 401
