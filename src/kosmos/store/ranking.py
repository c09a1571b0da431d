"""Which scores lead."""

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
