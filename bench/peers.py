"""Kosmos beside LlamaIndex, Haystack, LangChain and txtai: same files, same encoder, same machine, one run.

    python bench/peers.py PAGES QUESTIONS --python VENV/bin/python [--every 6] [--fields doc_question,user_q1]

PAGES is a folder of Markdown, QUESTIONS a JSONL file whose lines name the `relevant` pages. Read are every
so-manieth page and all pages that answer a question. Each system ingests in a process of its own and answers
in another, from what it has written. All times are CPU time with all children; everybody has one thread for
sums. docs/design/peers.md says what was chosen for each system and why.

The peers live in a virtualenv of their own:

    uv venv --python 3.11 VENV
    uv pip install --link-mode copy --python VENV/bin/python -r bench/peers.txt
    uv pip install --link-mode copy --python VENV/bin/python --no-deps txtai==9.14.0
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest_memory import MB, run_watched
from measure import print_table, write_json
from peers_data import (
    Question,
    answerable,
    choose_pages,
    copy_pages,
    leanest,
    page_name,
    ratio,
    read_questions,
    score,
)

from kosmos.encoders.weights import REMEDY, find_weights

HERE = Path(__file__).resolve().parent
PEERS = ("LlamaIndex", "Haystack", "LangChain", "txtai")
FLOOR, OURS = "floor", "Kosmos"
COUNT = 20  # pieces that are asked for; the first five pages among them count
DURABLE = {
    FLOOR: "files",
    OURS: "SQLite + index, at every step",
    "LlamaIndex": "JSON, when told to",
    "Haystack": "JSON, when told to",
    "LangChain": "JSON, when told to; words not",
    "txtai": "files, when told to",
}
ALIKE = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
    "TOKENIZERS_PARALLELISM": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "KOSMOS_ENCODER_THREADS": "1",
    "PYTHONPATH": str(HERE.parent / "src"),
}
Result = dict[str, Any]


class Failed(Exception):
    """A system did not do its task."""


@dataclass(frozen=True)
class Field:
    """What all systems are given, and where they may write."""

    work: Path
    python: str
    weights: Path
    pages: list[str]
    questions: list[Question]

    @property
    def docs(self) -> Path:
        """The folder with the pages."""
        return self.work / "docs"

    def _first(self) -> Path:
        """A folder with one line of text: by adding it everything is imported and the model is opened."""
        (self.work / "first").mkdir(exist_ok=True)
        (self.work / "first" / "first.md").write_text("A first text.\n")
        return self.work / "first"

    def run(self, system: str, task: str) -> Result:
        """A system's task in a process of its own: what it wrote down, CPU seconds, most bytes held."""
        folder = self.work / (f"{system}-{task}" if task in ("stages", "start") else system)
        folder.mkdir(parents=True, exist_ok=True)
        job, result = self.work / "job.json", self.work / f"{system}-{task}.json"
        told = {
            "system": system,
            "task": task,
            "docs": str(self._first() if task == "start" else self.docs),
            "pages": self.pages,
            "questions": [question.text for question in self.questions],
            "count": COUNT,
            "folder": str(folder),
            "weights": str(self.weights),
            "cache": str(self.work / "cache"),
            "result": str(result),
        }
        job.write_text(json.dumps(told), encoding="utf-8")
        ours = system == OURS
        script = HERE / ("peers_kosmos.py" if ours else "peers_run.py")
        held = run_watched([sys.executable if ours else self.python, str(script), str(job)], folder)
        if not result.exists():
            raise Failed(f"{system} failed at: {task}. What it said stands above.")
        made: Result = json.loads(result.read_text(encoding="utf-8"))
        return {**made, "process_cpu": held.cpu_seconds, "peak": held.peak}


def measure(field: Field, system: str) -> Result:
    """All numbers of a system."""
    made = field.run(system, "ingest")
    if system == OURS:
        made = {**made, **_kosmos_stages(field, made)}
    asked = field.run(system, "ask")
    for found in asked["modes"].values():
        names = [[page_name(name, field.docs) for name in each] for each in found.pop("found")]
        found["asked"] = len(field.questions)
        found["hit"] = score(field.questions, names)
        found["hit_pieces"] = score(field.questions, [each[:5] for each in names])
    return {"ingest": made, "ask": asked, "durable": DURABLE[system]}


def _kosmos_stages(field: Field, added: Result) -> Result:
    """The command as a whole, shared out: what the stages do not explain is counted as writing."""
    first = field.run(OURS, "start")
    start = first["process_cpu"] - first["encoded"]["seconds"]
    seconds = field.run(OURS, "stages")["stages"]
    split = {"read": seconds["enter"] + seconds["convert"], "split": seconds["chunk"]}
    split["index"] = seconds["index"]
    rest = added["process_cpu"] - added["encoded"]["seconds"] - start - sum(split.values())
    return {"start": start, "stages": {**split, "write": rest}}


def rest_of(result: Result) -> dict[str, float]:
    """CPU seconds of a system's ingest by stage, encoding left out."""
    given = result["ingest"]["stages"]
    found = {name: given.get(name, 0.0) for name in ("read", "split")}
    found["index, write"] = sum(given.get(name, 0.0) for name in ("index", "words", "write"))
    return found


def print_results(results: dict[str, Result], files: int) -> None:
    """Three tables: ingest, memory, answers."""
    rest = {name: sum(rest_of(result).values()) for name, result in results.items()}
    least = leanest(rest, without=(FLOOR, OURS))
    rows = []
    for name, result in results.items():
        encoded = result["ingest"]["encoded"]
        stages = [f"{1000 * spent / files:.2f}" for spent in rest_of(result).values()]
        whole = f"{1000 * rest[name] / files:.2f}"
        ratios = [ratio(rest[name], rest[FLOOR]), ratio(rest[name], least)]
        model = [f"{1000 * encoded['seconds'] / files:.0f}", f"{encoded['tokens'] / files:.0f}"]
        pieces = f"{encoded['texts'] / files:.1f}"
        rows.append([name, *stages, whole, *ratios, *model, pieces])
    columns = ["ingest", "read", "split", "index, write", "sum", "× floor", "× leanest peer"]
    columns += ["encode", "tokens", "texts"]
    print_table(f"{files} files, CPU ms a file; encoding apart", columns, rows)
    _print_whole(results)
    _print_answers(results)


def _print_whole(results: dict[str, Result]) -> None:
    total = {name: result["ingest"]["process_cpu"] for name, result in results.items()}
    rows = [
        [
            name,
            f"{total[name]:.1f}",
            ratio(total[name], total[FLOOR]),
            f"{result['ingest']['peak'] / MB:.0f}",
            f"{result['ask']['peak'] / MB:.0f}",
            f"{result['ask']['open']:.2f}",
            result["durable"],
        ]
        for name, result in results.items()
    ]
    columns = ["whole", "ingest CPU s", "× floor", "ingest peak MB", "ask peak MB", "open CPU s"]
    print_table("Whole processes, encoding and imports included", [*columns, "kept"], rows)


def _print_answers(results: dict[str, Result]) -> None:
    rows = []
    for name, result in results.items():
        for mode, found in result["ask"]["modes"].items():
            asked = found["asked"]
            times = [f"{1000 * (found['cpu'] - found['encode']) / asked:.2f}"]
            times.append(f"{1000 * found['cpu'] / asked:.2f}")
            hits = [f"{value:.3f}" for value in found["hit"].values()]
            rows.append([f"{name}, {mode}", *times, *hits, f"{found['hit_pieces']['all']:.3f}"])
    ways = list(next(iter(results[FLOOR]["ask"]["modes"].values()))["hit"])
    columns = ["answers", "CPU ms", "with encoding", *(f"Hit@5 {way}" for way in ways), "5 pieces"]
    print_table("Questions: CPU ms each, answering page among the first five", columns, rows)


def run(options: argparse.Namespace, work: Path) -> tuple[dict[str, Result], Field]:
    """Every system that was asked for, one after the other."""
    weights = find_weights()
    if weights is None:
        sys.exit(f"The built-in encoder has no weights. {REMEDY}")
    questions = read_questions(options.questions, options.fields.split(","))
    pages = choose_pages(options.pages, questions, options.every)
    field = Field(work, str(options.python or ""), weights, pages, answerable(questions, pages))
    if not field.questions:
        sys.exit("None of the questions is answered by a page of that folder.")
    copy_pages(options.pages, field.docs, pages)
    os.environ.update(ALIKE)
    names = [FLOOR, *(PEERS if options.python else ()), OURS]
    if not options.python:
        field = Field(work, sys.executable, weights, pages, field.questions)
        print("The peers are not measured: name the Python of their virtualenv with --python. To make it:")
        print("\n".join((__doc__ or "").strip().split("\n")[-3:]))
    results: dict[str, Result] = {}
    for name in names:
        try:
            results[name] = measure(field, name)
        except Failed as error:
            print(error)
            continue
        told = {"files": len(pages), "questions": len(field.questions), "every": options.every}
        write_json("peers", {**told, "systems": results})  # a long run that is stopped leaves what it has
    return results, field


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write `bench/results/peers.json`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pages", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="?")
    parser.add_argument("--python", type=Path, help="Python of the virtualenv with the peers")
    parser.add_argument("--every", type=int, default=6, help="take one page of so many")
    parser.add_argument("--fields", default="doc_question,user_q1,user_q2,question")
    options = parser.parse_args(arguments)
    if options.pages is None or options.questions is None:
        print("peers: not measured, no folder of pages and no file of questions were named")
        return
    with tempfile.TemporaryDirectory() as place:
        results, field = run(options, Path(place).resolve())
    print_results(results, len(field.pages))
    print("written: bench/results/peers.json")


if __name__ == "__main__":
    main()
