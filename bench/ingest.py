"""What it costs to read Markdown, beside LlamaIndex and Haystack, and what each stage of `kosmos add` costs.

`python bench/ingest.py [FOLDER] [--peers DIR]`: all readers read the same files in one run, each in a process
of its own; CPU time, medians of several runs. The peers are kept apart from Kosmos' own libraries:
`uv pip install --link-mode copy --target DIR llama-index-core llama-index-readers-file haystack-ai
markdown-it-py mdit_plain`.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ingest_memory import MB, add_command, run_watched
from ingest_readers import READERS, markdown_files
from ingest_stages import Stages, measure_stages
from measure import print_table, write_json

HERE = Path(__file__).resolve().parent
OURS = ("floor", "Kosmos")
Cost = dict[str, float]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE.parent / "examples")
    parser.add_argument("--peers", type=Path, help="folder with LlamaIndex and Haystack")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    readers = compare_readers(options.folder, options.peers, options.runs)
    with tempfile.TemporaryDirectory() as home:
        paths = sorted(path for path in options.folder.resolve().rglob("*") if path.is_file())
        stages = asyncio.run(measure_stages(paths, Path(home) / "stages"))
        whole = run_watched(add_command(options.folder), Path(home) / "whole")
    report = json.loads(whole.output)
    counts = {name: len(found) for name, found in report.items()}
    print_stages(stages)
    spent = f"{whole.cpu_seconds:.1f} s CPU, {whole.cpu_seconds / max(1, stages.files) * 1000:.1f} ms a file"
    print(f"kosmos add as a whole: {spent}, peak {whole.peak / MB:.0f} MB: {counts}")
    print(f"second conversion: {stages.identical} of {stages.files} texts byte for byte the same")
    write_json(
        "ingest",
        {
            "readers": readers,
            "stages": {"files": stages.files, "cpu_seconds": stages.seconds, "failures": stages.failures},
            "identical": stages.identical,
            "whole": {"cpu_seconds": whole.cpu_seconds, "peak_bytes": whole.peak, "report": counts},
        },
    )
    if stages.failures or stages.identical < stages.files:
        sys.exit("Some files failed, or gave another text the second time.")


def compare_readers(folder: Path, peers: Path | None, runs: int) -> dict[str, Cost]:
    """The cost of every reader that is there."""
    paths = markdown_files(folder)
    wanted = [name for name in READERS if name in OURS or peers is not None]
    rounds = [{name: run_reader(name, folder, peers) for name in wanted} for _ in range(runs)]
    costs = {
        name: {key: statistics.median(turn[name][key] for turn in rounds) for key in rounds[0][name]}
        for name in wanted
    }
    floor = _total(costs[OURS[0]])
    rows = [_row(name, cost, len(paths), floor) for name, cost in costs.items()]
    columns = ["reader", "convert", "split", "both", "× floor", "pieces"]
    print_table(f"Markdown: {len(paths)} files, CPU ms for each", columns, rows)
    if peers is None:
        print("LlamaIndex and Haystack are not compared: give the folder they are installed in with --peers.")
    return costs


def run_reader(name: str, folder: Path, peers: Path | None) -> Cost:
    """One reader in a process of its own; others' libraries come before ours there."""
    command = [sys.executable, str(HERE / "ingest_readers.py"), name, str(folder)]
    environment = {**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False"}
    if name not in OURS:
        environment["PYTHONPATH"] = str(peers)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name} cannot be run: {done.stderr.strip().split(chr(10))[-1]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().split("\n")[-1])
    return found


def _total(cost: Cost) -> float:
    return cost["convert"] + cost["split"]


def _row(name: str, cost: Cost, files: int, floor: float) -> list[str]:
    times = [cost["convert"], cost["split"], _total(cost)]
    ratio = f"{_total(cost) / floor:.1f}" if floor else "-"
    return [
        name,
        *(f"{seconds / max(1, files) * 1000:.2f}" for seconds in times),
        ratio,
        f"{cost['pieces']:.0f}",
    ]


def print_stages(stages: Stages) -> None:
    """A row for each stage."""
    rows = []
    for name, seconds in stages.seconds.items():
        each = seconds / max(1, stages.files)
        speed = f"{1 / each:.0f}" if each else "-"
        rows.append([name, f"{seconds:.1f}", f"{each * 1000:.2f}", speed])
    print_table(
        f"Stages of kosmos add: {stages.files} files, {len(stages.failures)} failures",
        ["stage", "CPU s", "CPU ms/file", "files per CPU s"],
        rows,
    )
    for reason in stages.failures[:20]:
        print(f"  {reason}")


if __name__ == "__main__":
    main()
