"""Gathering: every route of every collection is asked; one that fails leaves a warning, not an error."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kosmos.encoders.contract import Encoder
from kosmos.errors import KosmosError, ProviderUnavailable
from kosmos.retrieval.bm25 import query_vector
from kosmos.retrieval.feedback import TEXTS, expand
from kosmos.retrieval.fusion import shortlist
from kosmos.retrieval.languages import language_of
from kosmos.retrieval.routes import DENSE, SPARSE
from kosmos.retrieval.terms import question_terms, term_id
from kosmos.retrieval.tuning import Tuning
from kosmos.store.contract import Query, Store
from kosmos.store.filters import Eq, Filter
from kosmos.store.rows import Dense, Found, Sparse, TermCounts

log = logging.getLogger(__name__)
SHORTLIST = 150  # rows whose fields are read


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection to search, and the encoder that filled its dense routes, if one did."""

    collection: str
    encoder: Encoder | None = None


@dataclass(slots=True)
class Gathered:
    """What all routes found: `lists` by route, the fields of every row, and where each row lives.

    `asked` are the queries by list and collection, as they were put to the store.
    """

    language: str
    lists: dict[str, list[Found]] = field(default_factory=dict)
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    asked: dict[str, dict[str, Query]] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)  # in order, each once
    answered: int = 0
    failures: list[KosmosError] = field(default_factory=list)

    def warn(self, what: str, error: KosmosError | None = None) -> None:
        """Remember what the results lack."""
        self.warnings.setdefault(what)
        if error is not None:
            log.warning("a route failed", extra={"detail": what})
            self.failures.append(error)


@dataclass(frozen=True, slots=True)
class Scope:
    """What is looked at: rows that match, so many of each route, and so many of all of them in the end."""

    where: Filter
    tuning: Tuning
    reach: int
    most: int = SHORTLIST


async def gather(store: Store, shelves: Sequence[Shelf], queries: Sequence[str], *, scope: Scope) -> Gathered:
    """What the routes that have a weight find for the question, which comes first, and for its rewritings."""
    gathered = Gathered(language_of(queries[0]))
    for number, text in enumerate(queries):
        suffix = f"#{number + 1}" if number else ""
        await _gather_one(_Search(store, tuple(shelves), scope, gathered), text, suffix)
    if gathered.failures and not gathered.answered:
        raise gathered.failures[0]
    for found in gathered.lists.values():
        found.sort(key=lambda hit: (-hit.score, hit.pk))
        del found[scope.reach :]
    await _fetch_fields(store, gathered, shortlist(gathered.lists, scope.tuning, scope.most))
    return gathered


@dataclass(frozen=True, slots=True)
class _Search:
    store: Store
    shelves: tuple[Shelf, ...]
    scope: Scope
    gathered: Gathered

    def on(self, route: str) -> bool:
        """Whether a route can count for anything."""
        tuning = self.scope.tuning
        return max(tuning.same.get(route, 0.0), tuning.other.get(route, 0.0)) > 0

    async def one(self, shelf: Shelf, route: str, query: Query) -> list[Found]:
        """What one route finds."""
        where, reach = self.scope.where, self.scope.reach
        return await self.store.search(shelf.collection, route, query, k=reach, where=where)


async def _gather_one(search: _Search, text: str, suffix: str) -> None:
    sparse = await _sparse_queries(search, text)
    vectors = await _vectors(search, text)
    for shelf in search.shelves:
        asked: dict[str, Query] = dict(sparse)
        vector = vectors.get(shelf.encoder.name) if shelf.encoder else None
        if vector is not None:
            asked |= await _filled(search, shelf, vector)
        found = await _ask(search, shelf, asked)
        for route, hits in found.items():
            name = route + suffix
            search.gathered.lists.setdefault(name, []).extend(hits)
            search.gathered.asked.setdefault(name, {})[shelf.collection] = asked[route]
            search.gathered.homes.update(dict.fromkeys((hit.pk for hit in hits), shelf.collection))


async def _sparse_queries(search: _Search, text: str) -> dict[str, Sparse]:
    """One query for each sparse route: terms are as rare as they are in all collections together."""
    words = question_terms(text)
    ids = sorted({term_id(word) for word in words})
    queries: dict[str, Sparse] = {}
    for route in (route for route in SPARSE if search.on(route) and ids):
        rows, counts = 0, dict.fromkeys(ids, 0)
        for shelf in search.shelves:
            try:
                known = await search.store.term_counts(shelf.collection, route, ids)
            except KosmosError:
                continue  # asking the route itself says why
            rows += known.rows
            for term, count in known.counts.items():
                counts[term] += count
        queries[route] = query_vector(words, TermCounts(rows, counts))
    return queries


async def _vectors(search: _Search, text: str) -> dict[str, Dense]:
    """The question as a vector of each encoder in use."""
    vectors: dict[str, Dense] = {}
    encoders = {shelf.encoder.name: shelf.encoder for shelf in search.shelves if shelf.encoder}
    for name, encoder in encoders.items() if any(map(search.on, DENSE)) else ():
        try:
            made = await encoder.encode_queries([text])
            if made.shape != (1, encoder.dimension) or not np.isfinite(made).all():
                raise ProviderUnavailable(f"{name} gave a vector that cannot be used.")
            vectors[name] = made[0]
        except KosmosError as error:
            search.gathered.warn(f"Results are without the dense routes: {error.message}", error)
    return vectors


async def _filled(search: _Search, shelf: Shelf, vector: Dense) -> dict[str, Query]:
    """The dense routes that have vectors of that length; a warning while some are still to come."""
    try:
        stats = await search.store.stats(shelf.collection)
    except KosmosError:
        return dict.fromkeys((route for route in DENSE if search.on(route)), vector)
    asked: dict[str, Query] = {}
    for route in (route for route in DENSE if search.on(route) and stats.rows):
        filled, dimension = stats.filled.get(route, 0), stats.dimensions.get(route)
        if filled < stats.rows:
            await _warn_unfilled(search, shelf, route, filled)
        if filled and dimension not in (None, len(vector)):
            search.gathered.warn(
                f"The route {route} was left out: its vectors have {dimension} numbers, those of "
                f"{shelf.encoder.name if shelf.encoder else 'the encoder'} {len(vector)}. "
                "Rebuild it: kosmos reindex"
            )
        elif filled:
            asked[route] = vector
    return asked


async def _warn_unfilled(search: _Search, shelf: Shelf, route: str, filled: int) -> None:
    """Say so when rows that shall have a vector have none yet; front matter never gets one."""
    try:
        wanted = await search.store.count(shelf.collection, Eq("indexed", True))
    except KosmosError:
        return
    if filled < wanted:
        search.gathered.warn(f"The route {route} is still being filled: {filled:,} of {wanted:,} chunks.")


async def _ask(search: _Search, shelf: Shelf, asked: dict[str, Query]) -> dict[str, list[Found]]:
    """All routes over one state of the collection; one by one where that fails."""
    store, scope = search.store, search.scope
    if not asked:
        search.gathered.answered += not search.gathered.failures  # nothing to look for is an answer
        return {}
    try:
        found = await store.search_many(shelf.collection, asked, k=scope.reach, where=scope.where)
        search.gathered.answered += 1
    except KosmosError:
        found = await _ask_each(search, shelf, asked)
    return await _fed_back(search, shelf, asked, found) if scope.tuning.feedback else found


async def _ask_each(search: _Search, shelf: Shelf, asked: Mapping[str, Query]) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for route, query in asked.items():
        try:
            found[route] = await search.one(shelf, route, query)
            search.gathered.answered += 1
        except KosmosError as error:
            search.gathered.warn(f"Results are without the route {route}: {error.message}", error)
    return found


async def _fed_back(
    search: _Search, shelf: Shelf, asked: dict[str, Query], found: dict[str, list[Found]]
) -> dict[str, list[Found]]:
    """Chinese questions once more, with terms of what they found; English ones lose by it."""
    if search.gathered.language != "zh":
        return found
    for route in (route for route in SPARSE if found.get(route)):
        query = asked[route]
        if not isinstance(query, Mapping):
            continue
        try:
            best = [hit.pk for hit in found[route][:TEXTS]]
            rows = await search.store.get(shelf.collection, best, vectors=True)
            asked[route] = expand(query, found[route], rows, route)
            found[route] = await search.one(shelf, route, asked[route])
        except KosmosError as error:
            search.gathered.warn(f"Results are without feedback: {error.message}")
    return found


async def _fetch_fields(store: Store, gathered: Gathered, kept: set[str]) -> None:
    by_home: dict[str, list[str]] = {}
    for pk in sorted(kept):
        by_home.setdefault(gathered.homes[pk], []).append(pk)
    for home, pks in by_home.items():
        gathered.rows |= {pk: row.fields for pk, row in (await store.get(home, pks)).items()}
