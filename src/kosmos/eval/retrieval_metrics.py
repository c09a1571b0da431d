"""Measures of ranked lists, their means with intervals, and differences between two ways of ranking."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

NDCG = "nDCG@10"
RECALL = "Recall@100"
HIT = "Hit@5"
MRR = "MRR@10"
METRICS = (NDCG, RECALL, HIT, MRR)
RESAMPLES = 2000
SEED = 7


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over questions with its 95% interval by bootstrap."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much one way beats another on the same questions; `p` is how often a resample says otherwise."""

    value: float
    low: float
    high: float
    p: float
    better: int
    worse: int


def measure(ranked: Sequence[str], relevant: Mapping[str, float]) -> dict[str, float]:
    """All measures of one question; `ranked` are documents, best first, each once."""
    grades = [relevant.get(name, 0.0) for name in ranked[:100]]
    ideal = sorted(relevant.values(), reverse=True)
    found = sum(grade > 0 for grade in grades)
    first = next((place for place, grade in enumerate(grades[:10], start=1) if grade > 0), None)
    return {
        NDCG: _gain(grades[:10]) / (_gain(ideal[:10]) or 1.0),
        RECALL: found / max(1, sum(grade > 0 for grade in ideal)),
        HIT: float(any(grade > 0 for grade in grades[:5])),
        MRR: 1 / first if first else 0.0,
    }


def mean_of(values: Sequence[float]) -> Mean:
    """The mean and where it would lie had other questions of the same kind been asked."""
    if not values:
        return Mean(0.0, 0.0, 0.0)
    means = _resampled(values)
    return Mean(float(np.mean(values)), *(float(x) for x in np.percentile(means, (2.5, 97.5))))


def compare(ones: Sequence[float], others: Sequence[float]) -> Difference:
    """How much better `ones` are, question by question."""
    changes = [one - other for one, other in zip(ones, others, strict=True)]
    if not changes:
        return Difference(0.0, 0.0, 0.0, 1.0, 0, 0)
    means = _resampled(changes)
    value = float(np.mean(changes))
    against = means <= 0 if value > 0 else means >= 0
    low, high = (float(x) for x in np.percentile(means, (2.5, 97.5)))
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    return Difference(value, low, high, min(1.0, 2 * float(np.mean(against))), better, worse)


def _gain(grades: Sequence[float]) -> float:
    return sum(max(0.0, grade) / math.log2(place + 1) for place, grade in enumerate(grades, start=1))


def _resampled(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Means of samples as large as the given one; the same values always give the same means."""
    array = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(array), (RESAMPLES, len(array)))
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = array[drawn].mean(axis=1)
    return means
