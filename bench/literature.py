"""Two hundred papers in one question: wall time against the ideal schedule, calls at once, memory.

    python bench/literature.py [--papers 200] [--pages 50] [--latency 5.0]

A model double in a process of its own answers every call after a fixed time. The ideal schedule is that
time, once for each ten papers and once for the answer; the run is a process of its own too, so that its
memory can be told. It is asked three times: cold, again (nothing is summarised), and, on a home of its own,
killed in the middle and asked again.
"""

import argparse
import asyncio
import hashlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from measure import print_table, write_json

AT_ONCE = 10
WINDOW = 200_000
DOUBLE = """
import asyncio, json, sys
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
import uvicorn
latency = float(sys.argv[2])
stats = {"summaries": 0, "others": 0, "active": 0, "peak": 0}
TEXT = "\\n".join(f"{name}: measured with the gauge [1]. " + "It was found again and again. " * 6
    for name in ("Problem", "Method", "Data", "Result", "Limits"))
def chunk(delta, finish=None, usage=None):
    choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return "data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": choices, **({"usage": usage} if usage else {})}) + "\\n\\n"
async def chat(request):
    body = await request.body()
    stats["active"] += 1
    stats["peak"] = max(stats["peak"], stats["active"])
    stats["summaries" if b"Condense a paper" in body else "others"] += 1
    async def stream():
        try:
            await asyncio.sleep(latency)
            for at in range(0, len(TEXT), 40):
                yield chunk({"content": TEXT[at : at + 40]})
            yield chunk({}, "stop")
            yield chunk({}, usage={"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20})
            yield "data: [DONE]\\n\\n"
        finally:
            stats["active"] -= 1
    return StreamingResponse(stream(), media_type="text/event-stream")
async def tell(request):
    return JSONResponse(stats)
routes = [Route("/v1/chat/completions", chat, methods=["POST"]), Route("/stats", tell)]
uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="error")
"""


def paper(number: int, pages: int) -> str:
    """A paper of so many pages of some 3,000 characters."""
    sentence = f"Gauge {number} measured the depth of the tidal channel at Ostend and found it stable. "
    parts = [
        f"## Section {page}\n\n" + f"On page {page}: {sentence}\n\n" * 30 for page in range(1, pages + 1)
    ]
    return f"# Depth {number}\n\nMara Lindqvist\n\n## Abstract\n\nWe measure.\n\n" + "\n".join(parts).rstrip()


async def fill(home: Path, papers: int, pages: int, base_url: str) -> None:
    """A home with papers that are ready, and the double as its model."""
    from kosmos.accounts.credentials import NewCredential, add_credential
    from kosmos.accounts.spaces import list_spaces
    from kosmos.app import open_app
    from kosmos.config import load_settings
    from kosmos.domain.credentials import CredentialType
    from kosmos.tasks.adding import Source, add_document

    async with open_app(load_settings(home=home, encoder="none")) as app:
        who = await app.local_user()
        bench = app.bench
        new = NewCredential("double", CredentialType.LLM, base_url, "m", is_default=True)
        async with bench.db.write() as conn:
            (view,) = await list_spaces(conn, who)
            await add_credential(conn, who, new, box=app.box, now=bench.clock())
        for number in range(papers):
            text = paper(number, pages)
            source = Source(f"file:///bench/{number}.md", f"{number}.md", text.encode())
            added = await add_document(bench, who, view.space.id, source)
            await _make_live(bench, added.document.id, text)


async def _make_live(bench: Any, document_id: str, text: str) -> None:
    """What conversion, chunking and indexing would do, as far as reading needs it."""
    from kosmos.db import documents
    from kosmos.db.tables import job

    sha256 = hashlib.sha256(text.encode()).hexdigest()  # Markdown is its own canonical text
    changes = {
        "canonical_sha256": sha256,
        "status": "READY",
        "live_generation": 1,
        "draft_generation": None,
        "line_count": text.count("\n") + 1,
        "title": text.split("\n", 1)[0].strip("# "),
    }
    async with bench.db.write() as conn:
        await documents.update_document(conn, document_id, changes, bench.clock())
        await conn.execute(job.delete())


async def ask(home: Path) -> dict[str, Any]:
    """One question about all papers, in this process."""
    import openai  # noqa: F401  (a server has loaded it before the first question)

    from kosmos.agents.literature.intents import Intent
    from kosmos.app import open_app
    from kosmos.config import load_settings
    from kosmos.domain.sessions import SessionOrigin
    from kosmos.tasks import papers, runs, sessions
    from kosmos.tasks.literature_wishes import LiteratureWish
    from kosmos.tasks.run_models import ModelWish
    from kosmos.tasks.run_wishes import RunWish

    async with open_app(load_settings(home=home, encoder="none")) as app:
        who = await app.local_user()
        rows = await papers.list_papers(app.bench, who, "default")
        new = sessions.NewSession(agent="literature assistant", title="t", origin=SessionOrigin.ASK)
        session = await sessions.create_session(app.bench, who, new)
        literature = LiteratureWish(
            doc_ids=tuple(row.id for row in rows), mode_type=Intent.LITERATURE_SUMMARY
        )
        wish = RunWish("What do they find?", ModelWish(max_context_tokens=WINDOW), literature=literature)
        before, cpu, started = _memory(), time.process_time(), time.perf_counter()
        run = await runs.start_run(app.bench, who, session.id, wish)
        answer = await runs.collect_run(app.bench, who, session.id, run.id)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    details = answer["details"]
    return {
        "wall": wall,
        "cpu": cpu,
        "memory_mb": _memory(),
        "before_mb": before,
        "summaries": details["summaries"],
        "cached": details["cached_summaries"],
        "groups": details["groups"],
    }


async def floor(port: int, papers: int, pages: int) -> dict[str, Any]:
    """The same calls by a bare client, and one for the answer: what this machine takes for the schedule."""
    import httpx2

    gate = asyncio.Semaphore(AT_ONCE)

    async def call(http: httpx2.AsyncClient, number: int) -> None:
        body = {"messages": [{"role": "user", "content": "Condense a paper: " + paper(number, pages)}]}
        async with (
            gate,
            http.stream("POST", f"http://127.0.0.1:{port}/v1/chat/completions", json=body) as got,
        ):
            async for _ in got.aiter_lines():
                pass

    cpu, started = time.process_time(), time.perf_counter()
    async with httpx2.AsyncClient(timeout=300, trust_env=False) as http:
        await asyncio.gather(*(call(http, number) for number in range(papers)))
        await call(http, 0)
    return {"wall": time.perf_counter() - started, "cpu": time.process_time() - cpu, "memory_mb": _memory()}


def _memory() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stats(port: int) -> dict[str, int]:
    """What the double has seen."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
        found: dict[str, int] = json.loads(answer.read())
    return found


def child(home: Path) -> "subprocess.Popen[bytes]":
    """The question in a process of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
    command = [sys.executable, __file__, "--ask", str(home)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=kept)


def measured(home: Path, port: int) -> dict[str, Any]:
    """Ask, and compare with what the double has seen."""
    before = stats(port)
    process = child(home)
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit("the question failed")
    after = stats(port)
    calls = {name: after[name] - before[name] for name in ("summaries", "others")}
    return {**json.loads(out), "calls": calls, "peak": after["peak"]}


def killed(home: Path, port: int, papers: int, latency: float) -> dict[str, Any]:
    """Ask, kill the process when half of the papers are done, and ask again."""
    before = stats(port)["summaries"]
    process = child(home)
    while stats(port)["summaries"] - before < papers // 2:
        time.sleep(0.02)
    time.sleep(latency / 2)  # what has come in is stored by now
    process.send_signal(signal.SIGKILL)
    process.communicate()
    begun = stats(port)["summaries"] - before
    again = measured(home, port)
    return {**again, "begun": begun, "paid": begun + again["calls"]["summaries"]}


def bench(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All three questions."""
    command = [sys.executable, "-c", DOUBLE, str(options.port), str(options.latency)]
    base = f"http://127.0.0.1:{options.port}/v1"
    double = subprocess.Popen(command)
    try:
        time.sleep(2)
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            home, other = Path(folder) / "a", Path(folder) / "b"
            asyncio.run(fill(home, options.papers, options.pages, base))
            asyncio.run(fill(other, options.papers, 2, base))
            bare = {"way": "bare client", "summaries": 0, "calls": {"summaries": options.papers, "others": 1}}
            found = asyncio.run(floor(options.port, options.papers, options.pages))
            rows.append({**bare, **found, "peak": stats(options.port)["peak"]})
            rows.append({"way": "cold", **measured(home, options.port)})
            rows.append({"way": "again", **measured(home, options.port)})
            rows.append(
                {"way": "killed, again", **killed(other, options.port, options.papers, options.latency)}
            )
    finally:
        double.kill()
        double.wait()
    for row in rows:
        rounds = math.ceil(row["calls"]["summaries"] / AT_ONCE) + row["calls"]["others"]
        row["ideal"] = rounds * options.latency
        row["ratio"] = row["wall"] / row["ideal"]
        row["to_bare"] = row["ratio"] / rows[0]["ratio"]
    return rows


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Many papers in one question.")
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--latency", type=float, default=5.0)
    parser.add_argument("--port", type=int, default=8497)
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(asyncio.run(ask(options.ask))))
        return
    rows = bench(options)
    columns = [
        "way",
        "summaries",
        "calls",
        "peak",
        "wall",
        "ideal",
        "ratio",
        "to_bare",
        "cpu",
        "memory_mb",
        "paid",
    ]
    shown = [[_shown(row, name) for name in columns] for row in rows]
    title = (
        f"{options.papers} papers of {options.pages} pages, {options.latency:g} s a call, {AT_ONCE} at once"
    )
    print_table(title, columns, shown)
    kept = {key: value for key, value in vars(options).items() if key != "ask"}
    print(f"written to {write_json('literature', {'options': kept, 'rows': rows})}")


def _shown(row: dict[str, Any], name: str) -> str:
    value = row["calls"]["summaries"] if name == "calls" else row.get(name, "")
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
