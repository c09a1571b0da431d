"""What goes into a store and what comes out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sparse = Mapping[int, float]
Dense = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One chunk in the index: plain fields, a sparse vector for each sparse route, a dense one for each
    dense route that an encoder has filled."""

    pk: str
    fields: Mapping[str, Any]
    sparse: Mapping[str, Sparse] = field(default_factory=dict)
    dense: Mapping[str, Dense] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A row that a route found."""

    pk: str
    score: float


@dataclass(frozen=True, slots=True)
class TermCounts:
    """In how many of a route's rows some terms occur."""

    rows: int
    counts: Mapping[int, int]
