"""Which scores lead, and where numbers stand among others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def leading(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Where the k highest scores above zero are, and all that equal the last of them."""
    if k < 1:
        return np.zeros(0, np.intp)
    positive = np.flatnonzero(scores > 0)
    if len(positive) <= k:
        return positive
    values = scores[positive]
    least = np.partition(values, len(values) - k)[len(values) - k]
    led: NDArray[np.intp] = positive[values >= least]
    return led


def find_in(known: NDArray[np.int64], slots: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where slots stand among known ones, each of them once and in order, and which are there at all."""
    if len(known) and int(known[-1]) - int(known[0]) + 1 == len(known):  # none is left out: no need to look
        there = (slots >= known[0]) & (slots <= known[-1])
        return slots[there] - known[0], there
    at = np.searchsorted(known, slots)
    there = at < len(known)
    there[there] = known[at[there]] == slots[there]
    return at[there], there
