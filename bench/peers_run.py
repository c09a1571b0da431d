"""One system in a process of its own, for `bench/peers.py`: `peers_run.py JOB`, a JSON file with the task.

What was measured is written into the file that the task names. Does nothing when run without arguments.
"""

import gc
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from peers_floor import System
from peers_meter import Encoder, Meter, cpu_seconds
from peers_systems import SYSTEMS

WARM = 3


def ingest(job: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Make the index of all pages."""
    system = _start(job)
    with tempfile.TemporaryDirectory() as place:  # what is imported or loaded at first use is no stage
        first = Path(place) / "first.md"
        first.write_text("# First\n\nA first text.\n")
        system.ingest([first], Path(place), unheeded := Meter(meter.encoded))
    started = cpu_seconds() - meter.encoded.seconds
    folder = Path(job["folder"])
    pieces = system.ingest([Path(job["docs"]) / name for name in job["pages"]], folder, meter)
    disk = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
    made = {"start": started, "pieces": pieces, "disk": disk, "stages": meter.seconds}
    return {**made, "first_use": unheeded.seconds}


def ask(job: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Open the index and put all questions, by each of the system's modes."""
    system = _start(job)
    before = cpu_seconds()
    system.open(Path(job["folder"]))
    opened = cpu_seconds() - before
    asked: dict[str, Any] = {}
    for mode in system.modes:
        for question in job["questions"][:WARM]:
            system.ask(question, job["count"], mode)
        gc.collect()
        before, encoding = cpu_seconds(), meter.encoded.seconds
        found = [system.ask(question, job["count"], mode) for question in job["questions"]]
        asked[mode] = {
            "cpu": cpu_seconds() - before,
            "encode": meter.encoded.seconds - encoding,
            "found": found,
        }
    return {"open": opened, "modes": asked}


def _start(job: dict[str, Any]) -> System:
    encoder = Encoder(job["weights"], job["cache"])
    system = SYSTEMS[job["system"]](encoder)
    encoder.rows(["A first text."])
    return system


def main(file: Path) -> None:
    """Do the task."""
    job = json.loads(file.read_text(encoding="utf-8"))
    logging.disable(logging.WARNING)
    meter = Meter()
    made = ingest(job, meter) if job["task"] == "ingest" else ask(job, meter)
    made["encoded"] = vars(meter.encoded)
    Path(job["result"]).write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__" and len(sys.argv) == 2:
    main(Path(sys.argv[1]))
