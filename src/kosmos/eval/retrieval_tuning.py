"""Tuning: better parameters for one's own questions, found on half of them and checked on the others."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kosmos.eval.retrieval import Gleaned, Report, compare_reports, evaluate
from kosmos.eval.retrieval_metrics import NDCG, Difference
from kosmos.retrieval.routes import ROUTES
from kosmos.retrieval.tuning import FUSIONS, RRF, Tuning, Weights

FACTORS = (0.0, 0.5, 0.7, 1.4, 2.0)
START = 0.2  # what a route begins with that is switched off
ROUNDS = 3
LEAST = 0.002  # smaller gains are chance


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found: the parameters, how they did where they were sought, and where they were checked."""

    tuning: Tuning
    sought: Report
    checked: Report
    gain: Difference

    @property
    def worth_it(self) -> bool:
        """Whether the gain on questions that were not used is there at all."""
        return self.gain.value > 0


def tune(gleaned: Sequence[Gleaned], start: Tuning) -> Tuned:
    """One parameter after the other, in whichever direction is better, until nothing is."""
    seeking = [item for item in gleaned if _in_first_half(item.asked.id)]
    checking = [item for item in gleaned if not _in_first_half(item.asked.id)]
    if not seeking or not checking:
        middle = max(1, len(gleaned) // 2)
        seeking, checking = list(gleaned[:middle]), list(gleaned[middle:]) or list(gleaned)
    best, score = start, _score(seeking, start)
    for _ in range(ROUNDS):
        before = score
        for tuning in _variations(best):
            other = _score(seeking, tuning)
            if other > score + LEAST:
                best, score = tuning, other
        if score <= before:
            break
    checked = evaluate(checking, best)
    gain = compare_reports(checked, evaluate(checking, start))[NDCG]
    return Tuned(best, evaluate(seeking, best), checked, gain)


def _variations(tuning: Tuning) -> Iterator[Tuning]:
    """What differs from a tuning in one parameter."""
    yield from (replace(tuning, fusion=fusion) for fusion in FUSIONS if fusion != tuning.fusion)
    yield from (replace(tuning, same=weights) for weights in _reweighted(tuning.same))
    yield from (replace(tuning, other=weights) for weights in _reweighted(tuning.other))
    yield from (replace(tuning, document=value) for value in (0.0, 0.15, 0.3, 0.5))
    yield from (replace(tuning, links=value) for value in (0.0, 0.1, 0.2, 0.3))
    if tuning.fusion == RRF:
        yield from (replace(tuning, rrf_k=value) for value in (10.0, 30.0, 60.0, 120.0))


def _reweighted(weights: Weights) -> Iterator[Weights]:
    for route in ROUTES:
        usual = weights.get(route, 0.0) or START
        yield from ({**weights, route: round(usual * factor, 4)} for factor in FACTORS)


def _score(gleaned: Sequence[Gleaned], tuning: Tuning) -> float:
    if not any([*tuning.same.values(), *tuning.other.values()]):
        return 0.0
    return evaluate(gleaned, tuning).overall[NDCG].value


def _in_first_half(key: str) -> bool:
    """By the question itself, so that a set that grows keeps its halves."""
    return hashlib.sha256(key.encode(errors="replace")).digest()[0] % 2 == 0
