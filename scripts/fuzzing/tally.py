"""Counts of a fuzz run: cases, what came of them, and everything that should not have happened."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_EXAMPLE = 2000


@dataclass
class Row:
    """One line of the table."""

    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    cpu: float = 0.0


@dataclass
class Finding:
    """Something wrong, with the first case that showed it."""

    row: str
    what: str
    example: str
    count: int = 1


@dataclass
class Tally:
    """Rows by name, and findings; the same thing found again is counted."""

    rows: dict[str, Row] = field(default_factory=dict)
    found: dict[tuple[str, str], Finding] = field(default_factory=dict)

    def count(self, row: str, outcome: str) -> None:
        """One more case, and what came of it."""
        line = self.rows.setdefault(row, Row())
        line.cases += 1
        line.outcomes[outcome] += 1

    def report(self, row: str, what: str, example: str) -> None:
        """Something is wrong."""
        self.rows.setdefault(row, Row()).findings += 1
        known = self.found.get((row, what))
        if known is None:
            self.found[row, what] = Finding(row, what, example[:MAX_EXAMPLE])
        else:
            known.count += 1

    @property
    def cases(self) -> int:
        """How many there were."""
        return sum(row.cases for row in self.rows.values())

    def table(self, title: str) -> str:
        """The rows as a table for people, then the findings."""
        width = max([len(title), *(len(name) for name in self.rows), 5])
        whole = Row(self.cases)
        for row in self.rows.values():
            whole.outcomes += row.outcomes
            whole.findings += row.findings
            whole.cpu += row.cpu
        lines = [f"{title:<{width}}{'cases':>8}{'findings':>9}{'cpu s':>7}  outcomes"]
        lines += [_line(name, row, width) for name, row in [*self.rows.items(), ("all", whole)]]
        lines += [
            f"FOUND {item.row} ({item.count} times): {item.what}\n    {item.example}"
            for item in self.found.values()
        ]
        return "\n".join(lines)

    def write(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Everything as JSON."""
        rows = {
            name: {"cases": row.cases, "outcomes": dict(row.outcomes), "findings": row.findings}
            for name, row in self.rows.items()
        }
        found = [vars(item) for item in self.found.values()]
        whole = {**facts, "cases": self.cases, "rows": rows, "findings": found}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(whole, indent=1, ensure_ascii=True), encoding="utf-8")


def _line(name: str, row: Row, width: int) -> str:
    cpu = f"{row.cpu:>7.1f}" if row.cpu else f"{'':>7}"
    outcomes = ", ".join(f"{outcome} {count}" for outcome, count in sorted(row.outcomes.items()))
    return f"{name:<{width}}{row.cases:>8}{row.findings:>9}{cpu}  {outcomes}"
