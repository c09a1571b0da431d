"""Hybrid search over four routes: the numpy floor, LocalStore and peers, on the same data in one run.

Each engine runs in a process of its own on one BLAS thread; a question is four routes of 100 results and
their fusion by reciprocal rank. CPU time counts all threads of the process. Recall is the share of the
floor's first ten per dense route, and of its first ten after fusion. Peers are looked for among the
installed packages and in the folder of `--peers`:

    uv pip install --target FOLDER lancedb pymilvus milvus-lite
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import print_table, write_json

HERE = Path(__file__).resolve().parent
PEERS = {"LanceDB": "lancedb", "Milvus Lite": "milvus_lite"}
MILLION = 1_000_000


def run(engine: str, rows: int, count: int, peers: str) -> dict[str, Any] | str:
    """The numbers of an engine, or why there are none."""
    paths = [str(HERE), str(HERE.parent / "src"), *([peers] if peers and engine in PEERS else [])]
    one = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": "1",
        "LANCE_CPU_THREADS": "1",
    }
    environment = {**os.environ, **one, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory(prefix="kosmos-bench-") as folder:
        command = [sys.executable, str(HERE / "retrieval_run.py"), engine, str(rows), str(count), folder]
        child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if child.returncode:
        return (child.stderr.strip().split("\n")[-1] or f"exit {child.returncode}")[:120]
    result: dict[str, Any] = json.loads(child.stdout.strip().split("\n")[-1])
    return result


def is_installed(module: str, peers: str) -> bool:
    """Whether a peer can be imported."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    environment = {**os.environ, "PYTHONPATH": peers}
    return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def overlap(mine: list[str], floor: list[str]) -> float:
    """The share of the floor's results that are here too."""
    return len(set(mine) & set(floor)) / len(floor) if floor else 1.0


def compare(result: dict[str, Any], floor: dict[str, Any]) -> dict[str, Any]:
    """The numbers of an engine without what it found, but with how much of the floor's that is."""
    shown = {key: value for key, value in result.items() if key not in ("plain", "filtered")}
    for kind in ("plain", "filtered"):
        mine, theirs = result[kind], floor[kind]
        pairs = [
            (found[route], known[route])
            for found, known in zip(mine["routes"], theirs["routes"], strict=True)
            for route in ("vector", "summary_vector")
        ]
        shown[f"{kind}_cpu_ms"] = mine["cpu_ms"]
        shown[f"{kind}_p95_ms"] = mine["walls_ms"][int(0.95 * (len(mine["walls_ms"]) - 1))]
        shown[f"{kind}_ratio"] = mine["cpu_ms"] / theirs["cpu_ms"]
        shown[f"{kind}_recall"] = sum(overlap(*pair) for pair in pairs) / len(pairs)
        fused = zip(mine["fused"], theirs["fused"], strict=True)
        shown[f"{kind}_fused"] = sum(overlap(*pair) for pair in fused) / len(mine["fused"])
    return shown


def report(rows: int, count: int, peers: str, engines: list[str]) -> list[dict[str, Any]]:
    """Measure and print one table."""
    results: list[dict[str, Any]] = []
    floor: dict[str, Any] | None = None
    for engine in engines:
        if engine in PEERS and not is_installed(PEERS[engine], peers):
            print(f"{engine} is not installed: left out")
            continue
        result = run(engine, rows, count, peers)
        if isinstance(result, str):
            print(f"{engine} failed: {result}")
            continue
        floor = floor or result
        results.append({"rows": rows, **compare(result, floor)})
    columns = [
        "engine",
        "CPU ms",
        "x floor",
        "p95 wall ms",
        "1% CPU ms",
        "recall",
        "1% recall",
        "fused",
        "ingest CPU s",
        "open s",
        "MB",
        "disk MB",
    ]
    print_table(
        f"{rows:,} chunks, two dense and two sparse routes", columns, [_line(result) for result in results]
    )
    return results


def _line(result: dict[str, Any]) -> list[str]:
    return [
        result["engine"],
        f"{result['plain_cpu_ms']:.1f}",
        f"{result['plain_ratio']:.2f}",
        f"{result['plain_p95_ms']:.0f}",
        f"{result['filtered_cpu_ms']:.2f}",
        f"{result['plain_recall']:.3f}",
        f"{result['filtered_recall']:.3f}",
        f"{result['plain_fused']:.3f}",
        f"{result['ingest_cpu_s']:.0f}",
        f"{result['open_s']:.2f}",
        str(result["memory_mb"]),
        str(result["disk_mb"]),
    ]


def main() -> None:
    """Measure, print, write `bench/results/retrieval.json`."""
    parser = argparse.ArgumentParser(description="Hybrid search beside the numpy floor and peers.")
    parser.add_argument("--rows", type=int, nargs="*", default=[50_000])
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--peers", default="", help="folder with packages of peers")
    parser.add_argument("--engines", nargs="*", default=["floor", "kosmos", *PEERS])
    parser.add_argument(
        "--million", action="store_true", help="also 1,000,000 chunks, floor and LocalStore only"
    )
    options = parser.parse_args()
    results = [
        result
        for rows in options.rows
        for result in report(rows, options.questions, options.peers, options.engines)
    ]
    if options.million:
        results += report(MILLION, options.questions, "", ["floor", "kosmos"])
    print(f"written: bench/results/{write_json('retrieval', {'results': results}).name}")


if __name__ == "__main__":
    main()
