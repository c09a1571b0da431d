"""What a seed decides before the world begins, and the jobs that its users ask for."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.domain.jobs import NewJob, OnFailure

TYPES = ("plain", "limited", "rescued", "hurried", "checked")


@dataclass(frozen=True, slots=True)
class Scenario:
    """How large the world is, and how bad its weather."""

    workers: int
    slots: int
    lease: float
    poll: float
    storm: float  # seconds until the weather calms down
    skew: float  # by how much clocks differ
    type_limit: int
    lane_limit: int
    fault_rate: float  # of all statements
    commit_fault_rate: float  # before and after each commit
    crash_rate: float  # before and after each commit
    delay_rate: float
    trouble_rate: float  # of all steps of a handler
    freeze_rate: float  # of all steps of a handler
    crashes: int
    freezes: int
    stops: int
    commands: int


def draw(rng: random.Random) -> Scenario:
    """A world."""
    calm = rng.random() < 0.15
    return Scenario(
        workers=rng.choice((1, 2, 2, 3, 3)),
        slots=rng.randint(1, 3),
        lease=rng.uniform(6.0, 12.0),
        poll=rng.uniform(2.0, 6.0),
        storm=rng.uniform(15.0, 50.0),
        skew=rng.choice((0.0, 0.5, 2.0, 15.0)),
        type_limit=rng.randint(1, 2),
        lane_limit=rng.randint(1, 2),
        fault_rate=0.0 if calm else rng.choice((0.0, 0.004, 0.02)),
        commit_fault_rate=0.0 if calm else rng.choice((0.0, 0.02, 0.08)),
        crash_rate=0.0 if calm else rng.choice((0.0, 0.01, 0.03)),
        delay_rate=rng.choice((0.02, 0.2, 0.5)),
        trouble_rate=0.0 if calm else rng.choice((0.02, 0.1)),
        freeze_rate=0.0 if calm else rng.choice((0.0, 0.04, 0.12)),
        crashes=rng.randint(0, 2),
        freezes=rng.randint(0, 2),
        stops=rng.randint(0, 1),
        commands=rng.randint(0, 6),
    )


def wanted_jobs(rng: random.Random, scenario: Scenario, present: Sequence[str]) -> list[NewJob]:
    """Jobs that may wait for each other and for those that are there."""
    jobs: list[NewJob] = []
    for index in range(rng.randint(2, 4)):
        earlier = [new.key for new in jobs] + list(present[-3:])
        after = tuple(rng.sample(earlier, min(len(earlier), rng.randint(1, 2)))) if rng.random() < 0.4 else ()
        kind = rng.choice(TYPES)
        lane = rng.choice((None, None, "left", "right"))
        jobs.append(
            NewJob(
                kind,
                key=f"new {index}",
                priority=rng.choice((0, 0, 1)),
                lane=lane,
                lane_limit=scenario.lane_limit if lane else None,
                dedupe_key=rng.choice(("red", "blue")) if rng.random() < 0.25 else None,
                context=_context(rng),
                deadline_seconds=rng.uniform(5, 30) if kind == "hurried" and rng.random() < 0.5 else None,
                after=after,
                on_failure=rng.choice(tuple(OnFailure)),
            )
        )
    return jobs


def _context(rng: random.Random) -> dict[str, object]:
    lines = rng.randint(0, 8)
    return {
        "lines": lines,
        "size": rng.randint(1, 4),
        "pace": rng.choice((0.05, 0.5, 3.0)),
        "poison": rng.randint(0, lines) if rng.random() < 0.08 else None,  # the line that kills its worker
        "stubborn": rng.random() < 0.5,  # tries a batch again that could not be written
        "restless": rng.random() < 0.2,  # commits something at every start, without progress
        "report": rng.random() < 0.5,  # ends with a result
    }
