"""Made-up chunks and questions: clustered vectors, terms by Zipf. Does nothing when run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
DENSE = ("vector", "summary_vector")
SPARSE = {"sparse_vector": 60, "title_sparse": 6}  # terms of a chunk
VOCABULARY = 50_000
QUERY_TERMS = 8
DOCUMENTS = 100  # each holds one chunk in a hundred: the 1% filter
K = 100
BLOCK = 10_000


@dataclass(frozen=True)
class Block:
    """Some chunks in a row."""

    first: int
    dense: dict[str, NDArray[np.float32]]
    terms: dict[str, NDArray[np.int64]]
    weights: dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Question:
    """A query for each route, and the document of the filter."""

    dense: dict[str, NDArray[np.float32]]
    sparse: dict[str, dict[int, float]]
    document: str


def document_of(row: int) -> str:
    """The document a chunk belongs to."""
    return f"document-{row % DOCUMENTS:03}"


def pk_of(row: int) -> str:
    """The key of a chunk."""
    return f"{row * 2654435761 % 2**32:08x}-{row:07}"


def _unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _centres(rows: int) -> dict[str, NDArray[np.float32]]:
    """Topics: neighbours in a space of few dimensions, as texts are."""
    chance = np.random.default_rng(11)
    count = max(64, rows // 200)
    spread = chance.standard_normal((48, DIMENSION)).astype(np.float32)
    return {route: _unit(chance.standard_normal((count, 48)).astype(np.float32) @ spread) for route in DENSE}


def _near(centres: NDArray[np.float32], chance: np.random.Generator, count: int) -> NDArray[np.float32]:
    noise = chance.standard_normal((count, DIMENSION)).astype(np.float32) * np.float32(0.6 / DIMENSION**0.5)
    return _unit(centres[chance.integers(0, len(centres), count)] + noise)


def _terms(chance: np.random.Generator, count: int, size: int) -> NDArray[np.int64]:
    """Terms by rank: the commonest is in a third of all chunks."""
    drawn = chance.random((count, size))
    return np.asarray(VOCABULARY**drawn * 40, np.int64) + np.arange(size)


def blocks(rows: int) -> Iterator[Block]:
    """All chunks, always the same ones."""
    centres = _centres(rows)
    for first in range(0, rows, BLOCK):
        chance = np.random.default_rng((7, first))
        count = min(BLOCK, rows - first)
        yield Block(
            first,
            {route: _near(centres[route], chance, count) for route in DENSE},
            {route: _terms(chance, count, size) for route, size in SPARSE.items()},
            {
                route: chance.uniform(0.3, 2.2, (count, size)).astype(np.float32)
                for route, size in SPARSE.items()
            },
        )


def questions(rows: int, count: int) -> list[Question]:
    """Questions near to some topic, in words as chunks have them."""
    centres = _centres(rows)
    chance = np.random.default_rng(23)
    dense = {route: _near(centres[route], chance, count) for route in DENSE}
    terms = _terms(chance, count, QUERY_TERMS)
    return [
        Question(
            {route: dense[route][at] for route in DENSE},
            {
                route: {
                    int(t): float(w)
                    for t, w in zip(terms[at], chance.uniform(1, 8, QUERY_TERMS), strict=True)
                }
                for route in SPARSE
            },
            document_of(int(chance.integers(0, rows))),
        )
        for at in range(count)
    ]


def fuse(ranked: dict[str, list[str]], k: int = 10) -> list[str]:
    """Reciprocal ranks, ties by key."""
    scores: dict[str, float] = {}
    for keys in ranked.values():
        for rank, key in enumerate(keys, start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda key: (-scores[key], key))[:k]
