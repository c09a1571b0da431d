"""LocalStore: the embedded index. SQLite is the truth; searching happens in memory with numpy."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from kosmos.store.checks import check_name
from kosmos.store.contract import Capabilities, Query, Stats
from kosmos.store.filters import Filter
from kosmos.store.local_collection import Collection
from kosmos.store.local_database import Watch
from kosmos.store.local_upkeep import Limits
from kosmos.store.rows import Dense, Found, IndexRow, TermCounts


class LocalStore:
    """A SQLite file and a folder of mapped files for each collection; several processes may use them."""

    def __init__(self, folder: Path, *, limits: Limits | None = None) -> None:
        self._folder = folder
        self._limits = limits or Limits()
        self._watch = Watch()
        self._open: dict[str, Collection] = {}

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        """Make the collection and its dense routes (name -> dimension) unless they are there."""
        await asyncio.to_thread(self._of(collection).ensure, dense)

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""
        await asyncio.to_thread(self._of(collection).drop)

    async def collections(self) -> list[str]:
        """The collections there are."""
        return sorted(path.stem for path in self._folder.glob("*.db"))

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk; all of them or none."""
        await asyncio.to_thread(self._of(collection).upsert, rows)

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows that are there (by pk) dense vectors (by route); how many rows took them."""
        return await asyncio.to_thread(self._of(collection).fill, vectors)

    async def empty(self, collection: str, route: str) -> int:
        """Take the vectors of a dense route away and forget its dimension; how many rows had one."""
        return await asyncio.to_thread(self._of(collection).empty, route)

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""
        return await asyncio.to_thread(self._of(collection).delete, where)

    async def get(self, collection: str, pks: Sequence[str], *, vectors: bool = False) -> dict[str, IndexRow]:
        """The rows of these pks that there are."""
        return await asyncio.to_thread(self._of(collection).get, pks, vectors)

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors; `after` goes on behind a pk."""
        return await asyncio.to_thread(self._of(collection).query, where, limit, after)

    async def scan(
        self, collection: str, *, after: str = "", limit: int = 1000, vectors: bool = True
    ) -> list[IndexRow]:
        """Rows by pk, for export and rebuilding."""
        return await asyncio.to_thread(self._of(collection).scan, after, limit, vectors)

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """How many rows there are, or match."""
        return await asyncio.to_thread(self._of(collection).count, where)

    async def search(
        self, collection: str, route: str, query: Query, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a route by inner product; scores of zero or less dropped, ties broken by pk."""
        return (await self.search_many(collection, {route: query}, k=k, where=where))[route]

    async def search_many(
        self, collection: str, queries: Mapping[str, Query], *, k: int, where: Filter | None = None
    ) -> dict[str, list[Found]]:
        """The same for several routes at once, over one state of the collection."""
        return await asyncio.to_thread(self._of(collection).search, queries, k, where)

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        return await asyncio.to_thread(self._of(collection).term_counts, route, terms)

    async def stats(self, collection: str) -> Stats:
        """How full the collection is."""
        return await asyncio.to_thread(self._of(collection).stats)

    async def optimize(self, collection: str) -> None:
        """Tidy up: few files, lists of near vectors where there are many; check that vectors are intact."""
        await asyncio.to_thread(self._of(collection).optimize)

    def capabilities(self) -> Capabilities:
        """Exact up to `Limits.exact_rows` vectors a route."""
        return Capabilities(exact=True, several_processes=True)

    async def close(self) -> None:
        """Let go of mapped files."""
        self._open.clear()
        self._watch.forget()

    def _of(self, collection: str) -> Collection:
        made = Collection(self._folder / f"{check_name(collection)}.db", self._watch, self._limits)
        return self._open.setdefault(collection, made)
