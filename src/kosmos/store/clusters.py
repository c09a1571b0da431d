"""Vectors that lie near each other are put into lists, so that a search looks into few of them."""

import math

import numpy as np
from numpy.typing import NDArray

from kosmos.store.rows import Dense

SAMPLE = 64  # vectors for each centre that is looked for
ROUNDS = 8
BLOCK = 8192
Labels = NDArray[np.int32]


def list_count(vectors: int) -> int:
    """How many lists so many vectors want: the power of two near their square root."""
    return min(4096, max(16, 1 << round(math.log2(max(1, vectors)) / 2)))


def find_centres(matrix: Dense, positions: NDArray[np.intp], count: int) -> Dense:
    """Directions around which the vectors gather (spherical k-means on a sample; always the same ones)."""
    chance = np.random.default_rng(count)
    size = min(len(positions), SAMPLE * count)
    sample = matrix[np.sort(chance.choice(positions, size, replace=False))]
    centres = _unit(sample[chance.choice(size, count, replace=size < count)])
    for _ in range(ROUNDS):
        labels = _nearest(sample, centres)
        order = np.argsort(labels, kind="stable")
        present, starts = np.unique(labels[order], return_index=True)
        centres = _unit(sample[chance.choice(size, count, replace=size < count)])  # for those left empty
        centres[present] = _unit(np.add.reduceat(sample[order], starts, axis=0))
    return centres


def assign_lists(matrix: Dense, positions: NDArray[np.intp], centres: Dense) -> Labels:
    """The list of each position: that of the nearest centre."""
    blocks = range(0, len(positions), BLOCK)
    pieces = [_nearest(matrix[positions[start : start + BLOCK]], centres) for start in blocks]
    return np.concatenate([np.zeros(0, np.int32), *pieces])


def order_lists(
    positions: NDArray[np.intp], labels: Labels, count: int
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The positions list by list, and where each list begins."""
    order = np.argsort(labels, kind="stable")
    offsets = np.searchsorted(labels[order], np.arange(count + 1)).astype(np.int64)
    return positions[order], offsets


def _nearest(vectors: Dense, centres: Dense) -> Labels:
    blocks = range(0, len(vectors), BLOCK)
    found = [(vectors[start : start + BLOCK] @ centres.T).argmax(axis=1) for start in blocks]
    return np.concatenate(found).astype(np.int32)


def _unit(vectors: Dense) -> Dense:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Dense = (vectors / np.maximum(lengths, np.float32(1e-12))).astype(np.float32)
    return unit
