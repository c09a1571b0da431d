"""What every vector store can do. One suite of tests runs over all of them.

- A collection that is not there is empty to read, and is not made by reading. `ensure` and `upsert` make it;
  `fill`, `empty` and `optimize` want it to be there (NotFound).
- A dense route has to be made by `ensure` before it is filled or searched (InvalidInput). Its vectors are
  of unit length: some engines know only the cosine. A sparse route is there once a row has it; one that no
  row has finds nothing.
- Vectors of another dimension, numbers that are none (NaN, infinite), and names that are not made of a-z,
  0-9 and _ are refused (InvalidInput). An engine that does not answer is EngineUnavailable.
- Weights and vectors keep the precision of float32; sparse weights are positive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kosmos.store.filters import Filter
from kosmos.store.rows import Dense, Found, IndexRow, Sparse, TermCounts

Query = Sparse | Dense


@dataclass(frozen=True, slots=True)
class Stats:
    """How full a collection is: all rows, and by dense route those that have a vector already."""

    rows: int
    filled: Mapping[str, int] = field(default_factory=dict)
    dimensions: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine does by itself; what it does not, our own code does.

    `exact` holds up to some 200,000 vectors of a route; above, an index may miss one in twenty.
    """

    exact: bool = True
    several_processes: bool = True
    native_hybrid: bool = False


class Store(Protocol):
    """Index rows in collections, searched route by route; upsert is idempotent by pk."""

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        """Make the collection and its dense routes (name -> dimension) unless they are there."""

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""

    async def collections(self) -> list[str]:
        """The collections there are."""

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk, its vectors too; all of them or none.

        Milvus knows no transactions: when it fails, some rows may be stored. Doing it again mends that.
        """

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows that are there (by pk) dense vectors (by route); how many rows took them."""

    async def empty(self, collection: str, route: str) -> int:
        """Take the vectors of a dense route away and forget its dimension, so that another encoder may fill
        it; how many rows had one."""

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""

    async def get(self, collection: str, pks: Sequence[str], *, vectors: bool = False) -> dict[str, IndexRow]:
        """The rows of these pks that there are; `vectors` are the sparse and the dense ones."""

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors; `after` goes on behind a pk."""

    async def scan(
        self, collection: str, *, after: str = "", limit: int = 1000, vectors: bool = True
    ) -> list[IndexRow]:
        """Rows by pk, for export and rebuilding."""

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """How many rows there are, or match."""

    async def search(
        self, collection: str, route: str, query: Query, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a route by inner product; scores of zero or less dropped, ties broken by pk."""

    async def search_many(
        self, collection: str, queries: Mapping[str, Query], *, k: int, where: Filter | None = None
    ) -> dict[str, list[Found]]:
        """The same for several routes at once, over one state of the collection."""

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""

    async def stats(self, collection: str) -> Stats:
        """How full the collection is."""

    async def optimize(self, collection: str) -> None:
        """Tidy up: compact files, build what makes search faster."""

    def capabilities(self) -> Capabilities:
        """What this engine does by itself."""

    async def close(self) -> None:
        """Let go of files and connections."""
