"""Measures one engine: `retrieval_run.py ENGINE ROWS QUESTIONS FOLDER`; JSON on the last line."""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retrieval_data import K, Question, fuse, questions
from retrieval_engines import ENGINES, Engine

WARM = 3


def cpu() -> float:
    """CPU seconds of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory() -> int:
    """Megabytes that are resident now, mapped files among them."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    lines = dict(line.split(":", 1) for line in status.read_text().split("\n") if ":" in line)
    return int(lines["VmRSS"].split()[0]) // 1024


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds."""
    before, started = cpu(), time.perf_counter()
    work()
    return cpu() - before, time.perf_counter() - started


def ask(engine: Engine, asked: list[Question], *, filtered: bool) -> dict[str, Any]:
    """CPU milliseconds a question over four routes with fusion, and what was found."""
    for question in asked[:WARM]:
        engine.search(question, K, filtered=filtered)
    times, walls, fused, routes = [], [], [], []
    for question in asked:
        before, started = cpu(), time.perf_counter()
        found = engine.search(question, K, filtered=filtered)
        fused.append(fuse(found))
        times.append((cpu() - before) * 1000)
        walls.append((time.perf_counter() - started) * 1000)
        routes.append({route: keys[:10] for route, keys in found.items()})
    return {"cpu_ms": sum(times) / len(times), "walls_ms": sorted(walls), "fused": fused, "routes": routes}


def measure(name: str, rows: int, count: int, folder: Path) -> dict[str, Any]:
    """All numbers of an engine."""
    if name not in ENGINES:
        from retrieval_peers import PEERS

        engine = PEERS[name](folder)
    else:
        engine = ENGINES[name](folder)
    asked = questions(rows, count)
    ingest = timed(lambda: engine.ingest(rows))

    def reopen() -> None:
        engine.open()
        engine.search(asked[0], K, filtered=True)

    opened = timed(reopen)
    plain, narrow = ask(engine, asked, filtered=False), ask(engine, asked, filtered=True)
    used = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
    return {
        "engine": name,
        "ingest_cpu_s": ingest[0],
        "open_s": opened[1],
        "open_cpu_s": opened[0],
        "memory_mb": memory(),
        "disk_mb": used // 2**20,
        "plain": plain,
        "filtered": narrow,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
