"""Vectors that lie near each other are put into lists, so that a search looks into few of them."""

import math

import numpy as np
from numpy.typing import NDArray

from kosmos.store.rows import Dense

SAMPLE = 32  # vectors for each centre that is looked for
ROUNDS = 6
BLOCK = 8192
ASKED = 128  # vectors on which it is tried how many lists a search needs
NEAR = 11  # the vector itself and ten others
FOUND = 0.98  # of which so many are to be found
MARGIN = 2  # questions lie further from texts than texts from each other
MIN_PROBES = 16
Labels = NDArray[np.int32]


def list_count(vectors: int) -> int:
    """How many lists so many vectors want: the power of two near four times their square root."""
    return min(4096, max(16, 4 << round(math.log2(max(1, vectors)) / 2)))


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


def count_probes(matrix: Dense, positions: NDArray[np.intp], labels: Labels, centres: Dense) -> int:
    """How many lists have to be looked into to find nearly all neighbours, tried on some of the vectors."""
    asked = positions[np.linspace(0, len(positions) - 1, min(ASKED, len(positions)), dtype=np.intp)]
    queries = matrix[asked]
    ranks = np.argsort(np.argsort(-(queries @ centres.T), axis=1), axis=1)
    places = _neighbours(matrix, positions, queries)
    needed = np.take_along_axis(ranks, labels[places].astype(np.intp), axis=1)
    return max(MIN_PROBES, MARGIN * (int(np.quantile(needed, FOUND)) + 1))


def _neighbours(matrix: Dense, positions: NDArray[np.intp], queries: Dense) -> NDArray[np.intp]:
    """Where the nearest vectors of each query stand among the positions."""
    count = min(NEAR, len(positions))
    scores = np.full((len(queries), 0), 0, np.float32)
    places = np.zeros((len(queries), 0), np.intp)
    for start in range(0, len(positions), BLOCK):
        block = positions[start : start + BLOCK]
        scores = np.concatenate([scores, queries @ matrix[block].T], axis=1)
        fresh = np.broadcast_to(np.arange(start, start + len(block)), (len(queries), len(block)))
        places = np.concatenate([places, fresh], axis=1)
        best = np.argpartition(-scores, min(count, scores.shape[1] - 1), axis=1)[:, :count]
        scores, places = np.take_along_axis(scores, best, axis=1), np.take_along_axis(places, best, axis=1)
    return places


def _nearest(vectors: Dense, centres: Dense) -> Labels:
    blocks = range(0, len(vectors), BLOCK)
    found = [(vectors[start : start + BLOCK] @ centres.T).argmax(axis=1) for start in blocks]
    return np.concatenate(found).astype(np.int32)


def _unit(vectors: Dense) -> Dense:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Dense = (vectors / np.maximum(lengths, np.float32(1e-12))).astype(np.float32)
    return unit
