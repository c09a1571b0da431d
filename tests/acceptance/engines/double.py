"""The scripted model of an instance: it points at lines, searches, answers, and waits when it is told to."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kosmos.doubles.model_server import ModelServer, Reply, ToolCall
from kosmos.doubles.requests import strings_in

_WANTED = re.compile(r"Begin units at ([\d, ]+); \d")
WORDS = 60
SLOW = "".join(f"word{number} " for number in range(WORDS))
ANSWER = "The blue pump must be oiled every 40 days [1]."
SUMMARY = "What the model says of it."


class Double:
    """What the model does; `held` lets it keep the indexer waiting, `calls` counts what was asked."""

    def __init__(self) -> None:
        self.held = False
        self.calls = 0
        self.waiting = threading.Event()
        self.url = ""

    def decide(self, body: dict[str, Any]) -> Reply:
        """The reply to one question."""
        self.calls += 1
        text = "\n".join(strings_in(body))
        tools = [tool["function"]["name"] for tool in body.get("tools", ())]
        if "generate_content_summary" in tools:
            return self._point(str(body["messages"][1]["content"]))
        if "Tell me slowly" in text:
            return Reply(content=SLOW, pace=0.02)
        if "pumps.md" in text:  # what search has found
            return Reply(content=ANSWER)
        if "search" in tools:
            return Reply(tool_calls=(ToolCall("search", {"query": "blue pump oiled"}),), reasoning="Look.")
        return Reply(content="Pumps")

    def _point(self, text: str) -> Reply:
        if self.held:
            self.waiting.set()
            return Reply(hang=True)
        numbers = _WANTED.findall(text)[-1].split(",")
        units = [{"line": int(number), "summary": SUMMARY} for number in numbers]
        return Reply(tool_calls=(ToolCall("generate_content_summary", {"units": units}),))


@contextmanager
def scripted_model() -> Iterator[Double]:
    """The model on a port, in a thread of its own."""
    double, ready = Double(), threading.Event()
    loop, ended = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with ModelServer(double.decide) as server:
            double.url = server.base_url
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    yield double
    loop.call_soon_threadsafe(ended.set)
    thread.join(20)
    loop.close()
