"""A vector store in memory: the whole contract, exact and slow, for tests of what stands above it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kosmos.errors import EngineUnavailable, InvalidInput
from kosmos.store.contract import Capabilities, Query, Stats
from kosmos.store.filters import Filter, matches
from kosmos.store.rows import Dense, Found, IndexRow, TermCounts


class MemoryStore:
    """Rows in dictionaries. Routes whose names are in `broken` fail as an engine that is down does."""

    def __init__(self, broken: Sequence[str] = ()) -> None:
        self.broken = set(broken)
        self.asked: list[str] = []  # the routes that were searched, in order
        self._rows: dict[str, dict[str, IndexRow]] = {}
        self._dimensions: dict[str, dict[str, int]] = {}

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        """Make the collection and its dense routes unless they are there."""
        self._rows.setdefault(collection, {})
        for route, dimension in (dense or {}).items():
            self._check(collection, route, dimension)

    async def drop(self, collection: str) -> None:
        """Remove the collection with all its rows."""
        self._rows.pop(collection, None)
        self._dimensions.pop(collection, None)

    async def collections(self) -> list[str]:
        """The collections there are."""
        return sorted(self._rows)

    async def upsert(self, collection: str, rows: Sequence[IndexRow]) -> None:
        """Store rows, each replacing the one of the same pk; its vectors stay unless it brings others."""
        for row in rows:
            for route, vector in row.dense.items():
                self._check(collection, route, len(vector))
        held = self._rows.setdefault(collection, {})
        held.update({row.pk: row for row in rows})

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        """Give rows that are there dense vectors; how many rows took them."""
        held = self._rows.get(collection, {})
        for pk, routes in vectors.items():
            for route, vector in routes.items():
                self._check(collection, route, len(vector))
            if pk in held:
                held[pk] = replace(held[pk], dense={**held[pk].dense, **routes})
        return sum(pk in held for pk in vectors)

    async def empty(self, collection: str, route: str) -> int:
        """Take the vectors of a dense route away and forget its dimension."""
        self._dimensions.get(collection, {}).pop(route, None)
        held = self._rows.get(collection, {})
        had = [pk for pk, row in held.items() if route in row.dense]
        for pk in had:
            kept = {name: vector for name, vector in held[pk].dense.items() if name != route}
            held[pk] = replace(held[pk], dense=kept)
        return len(had)

    async def delete(self, collection: str, where: Filter) -> int:
        """Remove the rows that match; how many there were."""
        gone = self._matching(collection, where)
        for row in gone:
            del self._rows[collection][row.pk]
        return len(gone)

    async def get(self, collection: str, pks: Sequence[str], *, vectors: bool = False) -> dict[str, IndexRow]:
        """The rows of these pks that there are."""
        held = self._rows.get(collection, {})
        return {pk: held[pk] if vectors else _plain(held[pk]) for pk in pks if pk in held}

    async def query(self, collection: str, where: Filter, *, limit: int, after: str = "") -> list[IndexRow]:
        """Rows that match, by pk, without their vectors."""
        return [_plain(row) for row in self._matching(collection, where) if row.pk > after][:limit]

    async def scan(
        self, collection: str, *, after: str = "", limit: int = 1000, vectors: bool = True
    ) -> list[IndexRow]:
        """Rows by pk."""
        rows = [row for row in self._matching(collection, None) if row.pk > after][:limit]
        return rows if vectors else [_plain(row) for row in rows]

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """How many rows there are, or match."""
        return len(self._matching(collection, where))

    async def search(
        self, collection: str, route: str, query: Query, *, k: int, where: Filter | None = None
    ) -> list[Found]:
        """The k best rows of a route by inner product."""
        self.asked.append(route)
        if route in self.broken:
            raise EngineUnavailable(f"The route {route} is out of order.", remedy="Wait.")
        scored = [Found(row.pk, _product(row, route, query)) for row in self._matching(collection, where)]
        found = [hit for hit in scored if hit.score > 0]
        return sorted(found, key=lambda hit: (-hit.score, hit.pk))[:k]

    async def search_many(
        self, collection: str, queries: Mapping[str, Query], *, k: int, where: Filter | None = None
    ) -> dict[str, list[Found]]:
        """The same for several routes at once; all of them or none."""
        return {
            route: await self.search(collection, route, query, k=k, where=where)
            for route, query in queries.items()
        }

    async def term_counts(self, collection: str, route: str, terms: Sequence[int]) -> TermCounts:
        """In how many rows each of the terms occurs."""
        vectors = [row.sparse.get(route, {}) for row in self._matching(collection, None)]
        return TermCounts(len(vectors), {term: sum(term in vector for vector in vectors) for term in terms})

    async def stats(self, collection: str) -> Stats:
        """How full the collection is."""
        rows = self._matching(collection, None)
        known = self._dimensions.get(collection, {})
        filled = {route: sum(route in row.dense for row in rows) for route in known}
        return Stats(len(rows), filled, dict(known))

    async def optimize(self, collection: str) -> None:
        """Nothing to tidy up."""

    def capabilities(self) -> Capabilities:
        """Exact, and in this process alone."""
        return Capabilities(several_processes=False)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _matching(self, collection: str, where: Filter | None) -> list[IndexRow]:
        rows = [row for _, row in sorted(self._rows.get(collection, {}).items())]
        return [row for row in rows if where is None or matches(where, {**row.fields, "pk": row.pk})]

    def _check(self, collection: str, route: str, dimension: int) -> None:
        known = self._dimensions.setdefault(collection, {}).setdefault(route, dimension)
        if known != dimension:
            raise InvalidInput(
                f"{route} holds vectors of {known} numbers, not {dimension}.", remedy="Empty it."
            )


def _plain(row: IndexRow) -> IndexRow:
    return IndexRow(row.pk, row.fields)


def _product(row: IndexRow, route: str, query: Query) -> float:
    if isinstance(query, Mapping):
        vector = row.sparse.get(route, {})
        return sum(weight * vector[term] for term, weight in query.items() if term in vector)
    stored = row.dense.get(route)
    return 0.0 if stored is None else float(np.dot(stored, query))
