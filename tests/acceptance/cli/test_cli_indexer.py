"""The indexer on the command line: a model that fails for some lines, one region retried, the cost of it."""

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.cli.running import Kosmos
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall

PART = "The pump 泵 number {0} is blue and needs oil every {0} days, says the manual of the maker. " * 6
TEXT = "\n\n".join(f"## Part {n}\n\n{PART.format(n)}\n\n{PART.format(n + 100)}" for n in range(60))
_WANTED = re.compile(r"Begin units at ([\d, ]+); \d")


class Provider:
    """Points at what it is asked to point at, except in lines that it does not like."""

    def __init__(self) -> None:
        self.bad: str | None = "number 30 is"
        self.calls = 0

    def decide(self, body: dict[str, Any]) -> Reply:
        self.calls += 1
        text = str(body["messages"][1]["content"])
        if self.bad and self.bad in text:
            return Reply(content="I would rather not.")
        numbers = _WANTED.findall(text)[-1].split(",")
        units = [{"line": int(number), "summary": "What a model says."} for number in numbers]
        return Reply(tool_calls=(ToolCall("generate_content_summary", {"units": units}),))


@pytest.fixture
def served() -> Iterator[tuple[Provider, str]]:
    """A provider and its address, in a thread of its own."""
    provider, ready, address = Provider(), threading.Event(), list[str]()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with ModelServer(provider.decide) as server:
            address.append(server.base_url)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(20)
    yield provider, address[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join(20)
    loop.close()


def test_from_a_failed_region_to_a_whole_document(served: tuple[Provider, str], tmp_path: Path) -> None:
    provider, url = served
    kosmos = Kosmos(tmp_path / "home", quick=True)
    prices = '{"prompt_price": 1.0, "output_price": 4.0}'
    add = ("credentials", "add", "small", "--type", "LLM", "--base-url", url, "--model", "scripted")
    kosmos.json(*add, "--default", "--options", prices)
    kosmos.json("spaces", "set", "default", "--producer", "indexer", "--fallback", "sentinel")
    (tmp_path / "a.md").write_text(TEXT)
    assert kosmos.json("add", tmp_path / "a.md")["added"] == ["a.md"]
    (failed,) = kosmos.json("chunks", "errors")
    assert failed["summary"].startswith("Chunking failed after")
    again = kosmos.run("chunks", "retry", failed["id"])
    assert (again.returncode, "Chunking failed after" in again.stdout) == (1, True)
    provider.bad = None
    (failed,) = kosmos.json("chunks", "errors")
    calls = provider.calls
    done = kosmos.json("chunks", "retry", failed["id"])
    assert (done["error"], provider.calls) == (None, calls + 1)
    assert done["chunks"] > 1
    assert kosmos.json("chunks", "errors") == []
    assert kosmos.run("verify").stdout == "verified 1 of 1\n"
    assert "What a model says." in kosmos.run("chunks", "a.md").stdout
    cost = kosmos.json("documents", "cost", "a.md")
    assert cost["sum"]["calls"] == provider.calls == len(kosmos.json("documents", "cost", "a.md", "--calls"))
    assert cost["sum"]["spent"]["cost"] > 0
    told = kosmos.run("documents", "cost").stdout
    assert f"{provider.calls} calls" in told
    assert "a.md" in told
    estimate = kosmos.run("documents", "cost", "--estimate").stdout
    assert estimate.startswith("estimate for 1 of 1 documents by indexer: ")
    assert estimate.rstrip().endswith("by small")
