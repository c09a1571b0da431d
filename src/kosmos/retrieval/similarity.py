"""How alike a question and a text are, from 0 to 1, whatever else was found."""

from collections.abc import Iterable, Mapping

import numpy as np

from kosmos.domain.answers import Likeness
from kosmos.retrieval.gathering import Gathered
from kosmos.retrieval.routes import TEXT_DENSE, TEXT_SPARSE
from kosmos.retrieval.terms import question_terms, term_id
from kosmos.store.contract import Store
from kosmos.store.rows import IndexRow


async def fetch_rows(store: Store, gathered: Gathered, pks: Iterable[str]) -> dict[str, IndexRow]:
    """Rows with their vectors, wherever they live."""
    by_home: dict[str, list[str]] = {}
    for pk in pks:
        if pk in gathered.homes:
            by_home.setdefault(gathered.homes[pk], []).append(pk)
    rows: dict[str, IndexRow] = {}
    for home, wanted in by_home.items():
        rows |= await store.get(home, wanted, vectors=True)
    return rows


def compare(gathered: Gathered, query: str, rows: Mapping[str, IndexRow]) -> dict[str, Likeness]:
    """The likeness of the question with each row."""
    return {pk: _compare(gathered, query, gathered.homes.get(pk, ""), row) for pk, row in rows.items()}


def _compare(gathered: Gathered, query: str, home: str, row: IndexRow) -> Likeness:
    asked = gathered.asked.get(TEXT_SPARSE, {}).get(home, {})
    weights = asked if isinstance(asked, Mapping) else {}
    own = {term: weights.get(term, 0.0) for term in {term_id(word) for word in question_terms(query)}}
    total, known = sum(own.values()), row.sparse.get(TEXT_SPARSE, {})
    term = sum(weight for key, weight in own.items() if key in known) / total if total else 0.0
    vector, stored = gathered.asked.get(TEXT_DENSE, {}).get(home), row.dense.get(TEXT_DENSE)
    if vector is None or isinstance(vector, Mapping) or stored is None or len(stored) != len(vector):
        return Likeness(term, None)
    return Likeness(term, min(1.0, max(0.0, float(np.dot(vector, stored)))))
