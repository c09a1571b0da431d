"""What a load run came to, as tables and as JSON. Does nothing when run."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from load_client import RECOVERY, Record, Try
from load_proof import Verdict

RATIO = 2.0  # the search of the storm may take so many times as long as the idle one
SHOWN = 10
STARTING = 30.0  # seconds in which a process that was started too early notices that


@dataclass(slots=True)
class Outcome:
    """Everything that is told of a run."""

    users: int
    seconds: float
    seed: int
    record: Record
    idle: tuple[float, float]  # when it began and ended
    storm: tuple[float, float]
    verdict: Verdict
    mix: Mapping[str, int]
    think: float
    strikes: Sequence[str] = ()
    cpu: Mapping[str, float] = field(default_factory=dict)  # in the storm, by group
    crashes: Sequence[tuple[float, str]] = ()
    gave_up: Sequence[str] = ()
    verified: str = ""
    uploads: int = 0

    def tries(self, span: tuple[float, float]) -> list[Try]:
        """The requests that began in a span of time."""
        return [one for one in self.record.tries if span[0] <= one.began < span[1]]

    def errors(self) -> Counter[str]:
        """Failed requests of the storm by kind."""
        found: Counter[str] = Counter()
        for one in self.tries(self.storm):
            if one.status == 0 or one.status >= 500:
                found[_kind(one, excused=self.record.excused(one))] += 1
        return found

    def unexplained(self) -> list[Try]:
        """Failed requests that nothing explains."""
        failed = [one for one in self.tries(self.storm) if one.status == 0 or one.status >= 500]
        return [one for one in failed if not self.record.excused(one)]

    def crashed(self) -> list[str]:
        """Processes that ended by themselves; one that starts while its database is away has to."""
        away = [one for one in self.record.absences if one.what in ("postgres", "redis")]
        return [
            text
            for when, text in self.crashes
            if not any(one.since <= when <= one.until + STARTING for one in away)
        ]

    def search(self) -> tuple[float, float]:
        """The p95 of searches, idle and in the storm, in seconds."""
        spans = (self.idle, self.storm)
        idle, storm = (_seconds(self.tries(span), "search") for span in spans)
        return percentile(idle, 95), percentile(storm, 95)

    def violations(self, *, strict: bool) -> list[str]:
        """What must not be."""
        wrong = [*self.verdict.lost, *self.verdict.duplicated, *self.crashed(), *self.gave_up]
        wrong += [
            f"{one.operation}: {one.status} {one.detail} at {one.began - self.storm[0]:.1f}s"
            for one in self.unexplained()
        ]
        idle, storm = self.search()
        if strict and storm > RATIO * idle:
            wrong.append(f"the p95 of search is {storm / idle:.2f} times the idle one")
        return wrong if self.verified.startswith("verified") else [*wrong, self.verified]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so many per cent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)] if ordered else 0.0


def _seconds(tries: Sequence[Try], operation: str) -> list[float]:
    return [one.seconds for one in tries if one.operation == operation and 0 < one.status < 400]


def _kind(one: Try, *, excused: bool) -> str:
    what = "connection" if one.status == 0 else f"{one.status}"
    return f"{what} while something was away" if excused else f"{what} otherwise"


def print_report(outcome: Outcome) -> None:
    """Print the tables."""
    span = outcome.storm[1] - outcome.storm[0]
    tries = outcome.tries(outcome.storm)
    mix = " ".join(f"{name}={share}" for name, share in outcome.mix.items())
    print(f"users={outcome.users} seconds={span:.0f} think={outcome.think:g}s seed={outcome.seed}")
    print(f"mix (of 100): {mix}")
    print(f"strikes: {' '.join(outcome.strikes) or 'none'}; excused until {RECOVERY:g} s after the return")
    heads = "".join(f"{name:>9}" for name in ("requests", "failed", "p50 ms", "p95 ms", "p99 ms", "felt p95"))
    print(f"{'operation':<18}{heads}")
    for name in sorted({one.operation for one in tries}):
        print(_line(outcome, name, tries))
    _print_rest(outcome, len(tries), span)


def _line(outcome: Outcome, name: str, tries: Sequence[Try]) -> str:
    of = [one for one in tries if one.operation == name]
    good = _seconds(of, name)
    failed = sum(one.status == 0 or one.status >= 500 for one in of)
    felt = [took for what, when, took in outcome.record.felt if what == name and when >= outcome.storm[0]]
    shown = "".join(f"{1000 * percentile(good, share):>9.0f}" for share in (50, 95, 99))
    last = f"{1000 * percentile(felt, 95):>9.0f}" if felt else f"{'-':>9}"
    return f"{name:<18}{len(of):>9}{failed:>9}{shown}{last}"


def _print_rest(outcome: Outcome, requests: int, span: float) -> None:
    errors = " ".join(f"[{kind}]={count}" for kind, count in sorted(outcome.errors().items()))
    print(f"requests={requests} a_second={requests / span:.1f} errors: {errors or 'none'}")
    for absence in outcome.record.absences:
        since = absence.since - outcome.storm[0]
        print(f"  {absence.what} away at {since:.1f}s for {absence.until - absence.since:.1f} s")
    idle, storm = outcome.search()
    ratio = storm / idle if idle else math.inf
    print(f"search p95: idle {1000 * idle:.0f} ms, storm {1000 * storm:.0f} ms, ratio {ratio:.2f}")
    shares = " ".join(f"{name}={taken / span:.2f}" for name, taken in sorted(outcome.cpu.items()))
    print(f"cores used: {shares} all={sum(outcome.cpu.values()) / span:.2f}")
    verdict = outcome.verdict
    runs = " ".join(f"{name.lower()}={count}" for name, count in sorted(verdict.runs.items()))
    print(f"uploads={outcome.uploads} documents={verdict.documents} chunks={verdict.chunks}", end=" ")
    print(f"index_rows={verdict.index_rows} jobs={verdict.jobs}")
    print(f"runs: {runs}; events={verdict.events} messages={verdict.messages}; verify: {outcome.verified}")
    unexplained = sum(one.status >= 500 for one in outcome.unexplained())
    print(f"lost={len(verdict.lost)} duplicated={len(verdict.duplicated)} 5xx_otherwise={unexplained}")


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The same for other programs."""
    tries = outcome.tries(outcome.storm)
    operations = {}
    for name in sorted({one.operation for one in tries}):
        good = _seconds(tries, name)
        times = {f"p{share}": percentile(good, share) for share in (50, 95, 99)}
        operations[name] = {"requests": sum(one.operation == name for one in tries), **times}
    idle, storm = outcome.search()
    verdict = outcome.verdict
    return {
        "users": outcome.users,
        "seconds": outcome.storm[1] - outcome.storm[0],
        "seed": outcome.seed,
        "mix": dict(outcome.mix),
        "strikes": list(outcome.strikes),
        "absences": [
            {"what": one.what, "at": one.since - outcome.storm[0], "seconds": one.until - one.since}
            for one in outcome.record.absences
        ],
        "requests": len(tries),
        "errors": dict(outcome.errors()),
        "operations": operations,
        "search_p95": {"idle": idle, "storm": storm},
        "cpu_seconds": dict(outcome.cpu),
        "lost": verdict.lost,
        "duplicated": verdict.duplicated,
        "runs": dict(verdict.runs),
        "documents": verdict.documents,
        "verify": outcome.verified,
    }
