"""What must hold in every world, whatever happened in it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise

from kosmos.domain.jobs import TRANSITIONS, JobStatus

# What ought to end but has not: not what a person paused, nor what rests because it waits for that.
UNDONE = """
    WITH RECURSIVE held(id) AS (
        SELECT id FROM job WHERE status = 'PAUSED' AND due_at IS NULL
        UNION SELECT job_id FROM job_dependency JOIN held ON depends_on_id = held.id
    )
    SELECT * FROM job WHERE due_at IS NOT NULL AND (status <> 'PAUSED' OR id NOT IN held) ORDER BY id
"""
_ENDED = tuple(status.value for status in JobStatus if status.ended)


@dataclass(frozen=True, slots=True)
class Findings:
    """The database at the end, and what was seen beside it."""

    book: sqlite3.Connection
    limits: Mapping[str, int]
    started: Counter[tuple[str, int]]
    finished: Set[tuple[str, int]]
    spent: Counter[str]
    in_doubt: Counter[str]  # what was spent for batches of which nobody knew whether they were written

    def rows(self, query: str) -> list[sqlite3.Row]:
        """What a query finds."""
        cursor = self.book.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(query).fetchall()


def check(findings: Findings) -> Iterator[str]:
    """Everything that does not hold."""
    for rule in (_work, _fence, _moves, _claims, _ends, _money, _events):
        yield from rule(findings)


def _work(findings: Findings) -> Iterator[str]:
    """No line is lost or done twice: a job has exactly the lines that its progress says, each once."""
    done: dict[str, list[int]] = {}
    for row in findings.rows("SELECT * FROM sim_line ORDER BY job_id, line"):
        done.setdefault(row["job_id"], []).append(row["line"])
        if (row["status_then"], row["epoch_then"]) != ("RUNNING", row["epoch"]):
            yield f"a line was written by a claim that no longer held: {tuple(row)}"
    for row in findings.rows("SELECT id, status, progress, context FROM job ORDER BY id"):
        current = json.loads(row["progress"]).get("current_line", 0)
        if done.get(row["id"], []) != list(range(current)):
            yield f"{row['id']} has progress {current}, but the lines {done.get(row['id'])}"
        if row["status"] == "COMPLETED" and current != json.loads(row["context"])["lines"]:
            yield f"{row['id']} is COMPLETED at line {current}"


def _fence(findings: Findings) -> Iterator[str]:
    """Only the holder of a claim writes to a running job; others take it when its lease is over."""
    running = "SELECT * FROM sim_book WHERE old_status = 'RUNNING' AND writer <> 'user' ORDER BY step"
    for row in findings.rows(running):
        step = f"step {row['step']}: {row['writer']} changed {row['job_id']}"
        if row["epoch"] == row["old_epoch"]:
            if row["old_worker"] != row["writer"] and not _is_booking(row):
                yield f"{step}, which {row['old_worker']} held"
        elif row["old_due"] > row["now"]:
            yield f"{step}, whose lease ran until {row['old_due']}"
    for key, times in findings.started.items():
        if times > 1:
            yield f"{times} handlers had the claim {key}"


def _moves(findings: Findings) -> Iterator[str]:
    """Epochs only rise, and rise at every claim and command; what has ended is not worked on."""
    for row in findings.rows("SELECT * FROM sim_book ORDER BY step"):
        step = f"step {row['step']}: {row['job_id']}"
        if row["epoch"] < row["old_epoch"]:
            yield f"{step}: the epoch fell"
        commanded = row["writer"] == "user" and row["status"] != row["old_status"]
        if (commanded or _is_claim(row)) and row["epoch"] <= row["old_epoch"]:
            yield f"{step}: the epoch did not rise from {row['old_status']} to {row['status']}"
        if row["old_status"] in _ENDED and row["progress"] != row["old_progress"]:
            yield f"{step}: progress after the end"
        if row["status"] in _ENDED and row["due"] is not None:
            yield f"{step}: {row['status']} and due"
        if row["attempts"] < 0:
            yield f"{step}: {row['attempts']} attempts"


def _claims(findings: Findings) -> Iterator[str]:
    """No claim exceeds a limit, or comes before what the job waits for has ended well enough."""
    for row in findings.rows("SELECT * FROM sim_book ORDER BY step"):
        if not _is_claim(row):
            continue
        step = f"step {row['step']}: {row['job_id']} was taken"
        if row["of_type"] > findings.limits.get(row["type"], row["of_type"]):
            yield f"{step} as number {row['of_type']} of its type"
        if row["lane_limit"] is not None and row["in_lane"] > row["lane_limit"]:
            yield f"{step} as number {row['in_lane']} of its lane"
        if row["waits"] or row["blocked"]:
            yield f"{step} before what it waits for had ended well"


def _is_booking(row: sqlite3.Row) -> bool:
    """Whether nothing changed but the money: that may be booked by whoever spent it."""
    changed = [name for name in ("due", "epoch", "progress", "status") if row[name] != row[f"old_{name}"]]
    return not changed and int(row["tokens"]) > int(row["old_tokens"])


def _is_claim(row: sqlite3.Row) -> bool:
    taken_over = row["old_status"] == "RUNNING" and row["old_worker"] != row["worker"]
    return bool(row["status"] == "RUNNING" and (row["old_status"] != "RUNNING" or taken_over))


def _ends(findings: Findings) -> Iterator[str]:
    """Everything has ended but what a person paused and what waits for that."""
    for row in findings.rows(UNDONE):
        yield f"{row['id']} is {row['status']} ({row['reason']}) after {row['attempts']} attempts"
    for row in findings.rows("SELECT * FROM job ORDER BY id"):
        shown = f"{row['id']} is {row['status']}"
        if row["status"] in _ENDED and (row["worker"] is not None or row["finished_at"] is None):
            yield f"{shown}, but looks unfinished"
        if row["status"] in ("FAILED", "CANCELLED", "PAUSED") and not row["reason"]:
            yield f"{shown} without a reason"
        if row["status"] == "COMPLETED" and (row["id"], row["epoch"]) not in findings.finished:
            yield f"{shown}, though the handler of epoch {row['epoch']} did not say so"


def _money(findings: Findings) -> Iterator[str]:
    """What a committed batch cost is booked; nothing is booked that nobody spent, or twice without need."""
    query = """
        SELECT id, prompt_tokens AS booked,
            (SELECT coalesce(sum(tokens), 0) FROM sim_line WHERE job_id = id) AS committed
        FROM job ORDER BY id
    """
    for row in findings.rows(query):
        if row["booked"] < row["committed"]:
            yield f"{row['id']} booked {row['booked']} tokens for work that cost {row['committed']}"
        spent = findings.spent[row["id"]]
        if row["booked"] > spent + findings.in_doubt[row["id"]]:
            yield f"{row['id']} booked {row['booked']} tokens, but spent {spent}"


def _events(findings: Findings) -> Iterator[str]:
    """The events of a job tell a legal story that ends with its present state."""
    stories: dict[str, list[sqlite3.Row]] = {}
    for row in findings.rows("SELECT * FROM job_event ORDER BY sequence"):
        stories.setdefault(row["job_id"], []).append(row)
    for row in findings.rows("SELECT id, status, progress, reason FROM job"):
        story = stories.get(row["id"], [])
        for before, after in pairwise(story):
            old, new = JobStatus(before["status"]), JobStatus(after["status"])
            if new is not old and new not in TRANSITIONS[old]:
                yield f"{row['id']} went from {old} to {new}"
            if after["epoch"] < before["epoch"]:
                yield f"{row['id']}: events with falling epochs"
        last = tuple(story[-1])[2:5] if story else ()
        if last != (row["status"], row["reason"], row["progress"]):
            yield f"{row['id']} is not as its last event says: {last}"
