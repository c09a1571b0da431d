"""Results of evaluations, kept as files so that the next run can be compared with the last."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from kosmos.eval.retrieval import Report
from kosmos.eval.retrieval_metrics import METRICS, Mean

_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def keep_result(folder: Path, name: str, body: Mapping[str, Any], now: datetime) -> Path:
    """Write a result; runs of one name lie beside each other in the order of time."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{plain_name(name)}-{now:%Y%m%dT%H%M%S%f}.json"
    path.write_text(json.dumps(body, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


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
