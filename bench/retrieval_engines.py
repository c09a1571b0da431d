"""The engines that are compared, each behind the same four calls. Does nothing when run."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from retrieval_data import DENSE, DIMENSION, SPARSE, Block, Question, blocks, document_of, pk_of

from kosmos.store.contract import Query
from kosmos.store.filters import Eq
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow

Ranked = dict[str, list[str]]
TEXT = "A chunk of text as it lies in the index, some three hundred characters of it, 中文也有一些。 " * 5


class Engine(Protocol):
    """What is measured."""

    def ingest(self, rows: int) -> None:
        """Take all chunks in."""

    def open(self) -> None:
        """Open what was taken in, as after a restart."""

    def search(self, question: Question, k: int, *, filtered: bool) -> Ranked:
        """The best chunks of each route."""


class Floor:
    """What must be computed at least: arrays in memory, nothing around them, nothing kept on a disk."""

    def __init__(self, folder: Path) -> None:
        del folder
        self._dense: dict[str, NDArray[np.float32]] = {}
        self._postings: dict[str, tuple[Any, Any, Any, Any]] = {}
        self._pks: list[str] = []
        self._documents = np.zeros(0, np.int32)

    def ingest(self, rows: int) -> None:
        """Arrays and inverted indexes."""
        self._dense = {route: np.empty((rows, DIMENSION), np.float32) for route in DENSE}
        terms = {route: np.empty((rows, size), np.int32) for route, size in SPARSE.items()}
        weights = {route: np.empty((rows, size), np.float32) for route, size in SPARSE.items()}
        for part in blocks(rows):
            place = slice(part.first, part.first + len(part.dense[DENSE[0]]))
            for kept, given in ((self._dense, part.dense), (terms, part.terms), (weights, part.weights)):
                for route, values in given.items():
                    kept[route][place] = values
        self._pks = [pk_of(row) for row in range(rows)]
        self._documents = np.array([int(document_of(row)[-3:]) for row in range(rows)], np.int32)
        for route, size in SPARSE.items():
            flat = terms[route].ravel()
            order = np.argsort(flat, kind="stable")
            unique, first = np.unique(flat[order], return_index=True)
            owners = np.repeat(np.arange(rows, dtype=np.int32), size)[order]
            self._postings[route] = (
                unique,
                np.append(first, len(order)),
                owners,
                weights[route].ravel()[order],
            )

    def open(self) -> None:
        """Nothing to open."""

    def search(self, question: Question, k: int, *, filtered: bool) -> Ranked:
        """Products, the k largest, in order."""
        only = np.flatnonzero(self._documents == int(question.document[-3:])) if filtered else None
        found: Ranked = {}
        for route, query in question.dense.items():
            matrix = self._dense[route]
            found[route] = self._best(matrix[only] @ query if filtered else matrix @ query, k, only)
        for route, terms in question.sparse.items():
            scores = self._sparse(route, terms)
            found[route] = self._best(scores if only is None else scores[only], k, only)
        return found

    def _sparse(self, route: str, query: dict[int, float]) -> NDArray[np.float32]:
        unique, offsets, rows, weights = self._postings[route]
        scores = np.zeros(len(self._pks), np.float32)
        for term, weight in query.items():
            at = int(np.searchsorted(unique, term))
            if at < len(unique) and unique[at] == term:
                span = slice(offsets[at], offsets[at + 1])
                scores[rows[span]] += weights[span] * weight
        return scores

    def _best(self, scores: NDArray[np.float32], k: int, only: NDArray[Any] | None) -> list[str]:
        top = np.argpartition(-scores, k)[:k] if len(scores) > k else np.arange(len(scores))
        top = top[scores[top] > 0]
        top = top[np.argsort(-scores[top], kind="stable")]
        return [self._pks[row] for row in (top if only is None else only[top])]


class Kosmos:
    """LocalStore, with the fields that rows really have."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "kosmos"
        self._store = LocalStore(self._folder)
        self._loop = asyncio.new_event_loop()

    def ingest(self, rows: int) -> None:
        """In batches of a thousand, as the indexing job does it."""
        run = self._loop.run_until_complete
        run(self._store.ensure("bench", dict.fromkeys(DENSE, DIMENSION)))
        for part in blocks(rows):
            made = list(index_rows(part))
            for start in range(0, len(made), 1000):
                run(self._store.upsert("bench", made[start : start + 1000]))
        run(self._store.optimize("bench"))

    def open(self) -> None:
        """A new store on the same folder."""
        self._store = LocalStore(self._folder)

    def search(self, question: Question, k: int, *, filtered: bool) -> Ranked:
        """All routes in one call."""
        where = Eq("document_id", question.document) if filtered else None
        queries: dict[str, Query] = {**question.dense, **question.sparse}
        found = self._loop.run_until_complete(self._store.search_many("bench", queries, k=k, where=where))
        return {route: [hit.pk for hit in hits] for route, hits in found.items()}


def index_rows(part: Block) -> Iterator[IndexRow]:
    """The chunks of a block as rows."""
    count = len(part.dense[DENSE[0]])
    for at in range(count):
        row = part.first + at
        yield IndexRow(
            pk_of(row),
            {
                "text": TEXT,
                "source": f"docs/{row // 50}.md",
                "title": f"Title {row // 5}",
                "parent_id": pk_of(row // 5),
                "child_ids": [],
                "node_type": "content" if row % 5 else "heading",
                "level": row % 6,
                "token_count": 100 + row % 400,
                "left_sibling": pk_of(max(0, row - 1)),
                "right_sibling": pk_of(row + 1),
                "from_split": False,
                "merged": row % 7 == 0,
                "summary": f"Summary of chunk {row}",
                "document_id": document_of(row),
                "generation": 1,
            },
            {
                route: dict(
                    zip(part.terms[route][at].tolist(), part.weights[route][at].tolist(), strict=True)
                )
                for route in SPARSE
            },
            {route: part.dense[route][at] for route in DENSE},
        )


ENGINES: dict[str, Callable[[Path], Engine]] = {"floor": Floor, "kosmos": Kosmos}
