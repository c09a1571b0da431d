"""Five hundred streams at once on one process: what each event waits, what each stream costs, who is dropped.

    python bench/streams.py [--streams 500] [--words 40] [--pace 0.25]

A model double in a process of its own answers every question word by word at a fixed pace. The same clients
read it directly (the floor) and through `kosmos serve` (agents without tools, stored and numbered events).
The added latency of an event is the time between the moment a word leaves the double and the moment the
client reads it, less the same at the floor; every word carries the time at which it was sent.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from measure import print_table, write_json

DOUBLE = """
import asyncio, json, sys, time
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
import uvicorn
words, pace = int(sys.argv[2]), float(sys.argv[3])
def chunk(delta, finish=None, usage=None):
    choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return "data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": choices, **({"usage": usage} if usage else {})}) + "\\n\\n"
async def stream():
    yield chunk({"role": "assistant", "content": ""})
    for _ in range(words):
        await asyncio.sleep(pace)
        yield chunk({"content": f"t{time.time():.6f} "})
    yield chunk({}, "stop")
    yield chunk({}, usage={"prompt_tokens": 10, "completion_tokens": words, "total_tokens": 10 + words})
    yield "data: [DONE]\\n\\n"
async def chat(request):
    await request.body()
    return StreamingResponse(stream(), media_type="text/event-stream")
uvicorn.run(Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])]),
    port=int(sys.argv[1]), log_level="error", backlog=4096)
"""


@dataclass
class Read:
    """What one client saw."""

    waits: list[float] = field(default_factory=list)  # seconds from the double to the client, each word
    events: int = 0
    whole: bool = False


def _take(read: Read, text: str, now: float) -> None:
    for word in text.split():
        if word.startswith("t"):
            read.waits.append(now - float(word[1:]))


async def read_floor(http: httpx2.AsyncClient, base: str, read: Read) -> None:
    """A client that asks the double itself."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]}
    async with http.stream("POST", f"{base}/v1/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            read.whole = read.whole or line == "data: [DONE]"
            if line.startswith("data: {"):
                read.events += 1
                choices = json.loads(line[6:])["choices"]
                _take(read, (choices[0]["delta"].get("content") or "") if choices else "", time.time())


async def read_kosmos(http: httpx2.AsyncClient, base: str, read: Read) -> None:
    """A client that asks an agent, in a session of its own."""
    session = (await http.post(f"{base}/api/v1/sessions", json={"agent": "teller", "title": "t"})).json()[
        "id"
    ]
    body = {"question": "go"}
    expected = 0
    async with http.stream("POST", f"{base}/api/v1/sessions/{session}/runs", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: "):
                continue
            event = json.loads(line[6:])
            expected += 1
            read.events += 1
            if event["sequence"] != expected:
                return
            if event["type"] == "answer_chunk":
                _take(read, event["payload"]["text"], time.time())
            read.whole = read.whole or (
                event["type"] == "run_end" and event["payload"]["status"] == "COMPLETED"
            )


async def crowd(kind: Any, base: str, headers: dict[str, str], options: argparse.Namespace) -> list[Read]:
    """All clients at once."""
    reads = [Read() for _ in range(options.streams)]
    limits = httpx2.Limits(max_connections=options.streams + 10)
    async with httpx2.AsyncClient(timeout=120, limits=limits, headers=headers, trust_env=False) as http:

        async def one(number: int) -> None:
            await asyncio.sleep(number * options.spread / options.streams)
            await kind(http, base, reads[number])

        await asyncio.gather(*(one(number) for number in range(options.streams)), return_exceptions=True)
    return reads


def cpu_of(process: "subprocess.Popen[bytes]") -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def running(command: list[str], url: str, **environ: str) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """A process that answers at an address."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
    process = await asyncio.to_thread(subprocess.Popen, command, env={**kept, **environ})
    try:
        async with httpx2.AsyncClient(trust_env=False) as http:
            for _ in range(300):
                try:
                    await http.get(url)
                    break
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


def row_of(name: str, reads: list[Read], cpu: float, floor: float | None) -> dict[str, Any]:
    """What a crowd came to."""
    waits = sorted(wait for read in reads for wait in read.waits)
    median = statistics.median(waits) if waits else 0.0
    return {
        "way": name,
        "streams": len(reads),
        "dropped": sum(not read.whole for read in reads),
        "events": sum(read.events for read in reads),
        "median_ms": median * 1000,
        "p95_ms": (waits[int(0.95 * len(waits))] if waits else 0.0) * 1000,
        "added_ms": (median - floor) * 1000 if floor is not None else 0.0,
        "cpu_ms_per_stream": cpu / max(1, len(reads)) * 1000,
    }


async def prepare(base: str, headers: dict[str, str], double: str) -> None:
    """A model and an agent without tools."""
    form = {"name": "d", "type": "LLM", "base_url": f"{double}/v1", "model": "m", "is_default": True}
    async with httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False) as http:
        (await http.post("/api/v1/credentials", json=form)).raise_for_status()
        (await http.post("/api/v1/agents", json={"name": "teller", "allowed_tools": []})).raise_for_status()


async def bench(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The floor, then Kosmos."""
    double, base = f"http://127.0.0.1:{options.port}", f"http://127.0.0.1:{options.port + 1}"
    command = [sys.executable, "-c", DOUBLE, str(options.port), str(options.words), str(options.pace)]
    rows = []
    with tempfile.TemporaryDirectory() as home:
        async with running(command, double) as model:
            started = cpu_of(model)
            reads = await crowd(read_floor, double, {}, options)
            rows.append(row_of("the double itself", reads, cpu_of(model) - started, None))
            floor = rows[0]["median_ms"] / 1000
            serve = [sys.executable, "-m", "kosmos", "serve", "--port", str(options.port + 1)]
            environ = {"KOSMOS_HOME": home, "KOSMOS_WORKER_SLOTS": "0"}
            async with running(serve, f"{base}/healthz", **environ) as server:
                token = await asyncio.to_thread((Path(home) / "token").read_text)
                headers = {"authorization": f"Bearer {token.strip()}"}
                await prepare(base, headers, double)
                started = cpu_of(server)
                reads = await crowd(read_kosmos, base, headers, options)
                rows.append(row_of("through an agent", reads, cpu_of(server) - started, floor))
    return rows


def _shown(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Many streams at once.")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--pace", type=float, default=0.25)
    parser.add_argument("--spread", type=float, default=5.0, help="Seconds over which the clients come.")
    parser.add_argument("--port", type=int, default=8491)
    options = parser.parse_args()
    rows = asyncio.run(bench(options))
    columns = ["way", "streams", "dropped", "events", "median_ms", "p95_ms", "added_ms", "cpu_ms_per_stream"]
    shown = [
        [f"{row[name]:.1f}" if isinstance(row[name], float) else str(row[name]) for name in columns]
        for row in rows
    ]
    title = f"{options.streams} streams of {options.words} words, one each {options.pace * 1000:.0f} ms"
    print_table(title, columns, shown)
    print(f"written to {write_json('streams', {'options': vars(options), 'rows': rows})}")


if __name__ == "__main__":
    main()
