"""Results of evaluations, kept as files so that the next run can be compared with the last."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kosmos.eval.retrieval import Report
from kosmos.eval.retrieval_metrics import METRICS, Mean

_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_FILE = re.compile(r"(.+)-(\d{8}T\d{12})\.json")
_LONG = ("each", "gleaned")  # question by question: not for an overview


@dataclass(frozen=True, slots=True)
class Result:
    """A result that was kept: `kind` is `retrieval` or `chunking`."""

    name: str
    at: str
    kind: str
    body: Mapping[str, Any]


def keep_result(folder: Path, name: str, body: Mapping[str, Any], now: datetime) -> Path:
    """Write a result; runs of one name lie beside each other in the order of time."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{plain_name(name)}-{now:%Y%m%dT%H%M%S%f}.json"
    path.write_text(json.dumps(body, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def list_results(folder: Path, *, limit: int) -> list[Result]:
    """The newest results that can be read, whatever was measured."""
    dated = [
        (found[2], found[1], path) for path in folder.glob("*.json") if (found := _FILE.fullmatch(path.name))
    ]
    results: list[Result] = []
    for moment, name, path in sorted(dated, reverse=True):
        if len(results) == limit:
            break
        results += _read(path, name, moment)
    return results


def _read(path: Path, name: str, moment: str) -> Iterator[Result]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(body, dict):
        kind = "chunking" if "rows" in body else "retrieval"
        at = datetime.strptime(f"{moment}+0000", "%Y%m%dT%H%M%S%f%z").isoformat()
        yield Result(str(body.get("name", name)), at, kind, _short(body))


def _short(value: Any) -> Any:
    """A body without what is said of single questions."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items() if key not in _LONG}
    return [_short(item) for item in value] if isinstance(value, list) else value


def last_report(folder: Path, name: str) -> Report | None:
    """The newest report of that name that can be read."""
    start = f"{plain_name(name)}-"
    for path in sorted(folder.glob(f"{start}*.json"), reverse=True):
        if not re.fullmatch(r"\d{8}T\d{12}\.json", path.name[len(start) :]):
            continue
        try:
            return _report(json.loads(path.read_text(encoding="utf-8"))["report"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def plain_name(name: str) -> str:
    """A name that a file may have on every system."""
    return _NAME.sub("_", name)[:80] or "set"


def _report(given: Mapping[str, Any]) -> Report:
    each = {
        str(key): {name: float(values[name]) for name in METRICS} for key, values in given["each"].items()
    }
    overall = {name: Mean(**given["overall"][name]) for name in METRICS}
    return Report(len(each), overall, {}, each)
