"""What every store does, and all of them alike: the answers are those of plain Python and numpy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kosmos.errors import InvalidInput, NotFound
from kosmos.store.contract import Store
from kosmos.store.filters import And, Contains, Eq, Filter, In, Not, Or, Prefix, Range, matches
from kosmos.store.rows import Dense, IndexRow, Sparse

from .conftest import Subject

SPARSE = "sparse_vector"
DENSE = "vector"
DIMENSION = 8
QUICK = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def unit(seed: int) -> Dense:
    """A vector of unit length whose products are exact in every float."""
    chance = np.random.default_rng(seed)
    vector = np.zeros(DIMENSION, np.float32)
    vector[chance.choice(DIMENSION, 4, replace=False)] = chance.choice([-0.5, 0.5], 4)
    return vector


def make_rows(count: int) -> list[IndexRow]:
    chance = np.random.default_rng(5)
    return [
        IndexRow(
            f"{'é中Za'[at % 4]}-{at:03}",
            {"level": at % 5, "node_type": ["content", "heading"][at % 2], "source": f"文档/{at % 3}.md"},
            {
                SPARSE: {
                    int(term): int(chance.integers(1, 9)) / 4 for term in chance.choice(12, 4, replace=False)
                }
            },
            {DENSE: unit(at)} if at % 4 else {},
        )
        for at in range(count)
    ]


def expected(
    rows: list[IndexRow], route: str, query: Any, k: int, where: Filter | None = None
) -> list[tuple[str, float]]:
    scores: dict[str, float] = {}
    for row in rows:
        if where is not None and not matches(where, {**row.fields, "pk": row.pk}):
            continue
        if route == DENSE:
            scores[row.pk] = float(row.dense[DENSE] @ query) if row.dense else 0.0
        else:
            scores[row.pk] = sum(weight * query.get(term, 0.0) for term, weight in row.sparse[SPARSE].items())
    ranked = sorted((-score, pk) for pk, score in scores.items() if score > 0)
    return [(pk, -score) for score, pk in ranked[:k]]


async def found(
    subject: Subject, route: str, query: Any, k: int = 50, where: Filter | None = None
) -> list[tuple[str, float]]:
    hits = await subject.store.search(subject.collection, route, query, k=k, where=where)
    return [(hit.pk, hit.score) for hit in hits]


async def pks(subject: Subject, where: Filter | None = None) -> list[str]:
    rows = await subject.store.query(subject.collection, where or And(()), limit=1000)
    return [row.pk for row in rows]


async def filled(subject: Subject, count: int = 40) -> list[IndexRow]:
    rows = make_rows(count)
    await subject.store.ensure(subject.collection, {DENSE: DIMENSION})
    await subject.store.upsert(subject.collection, rows)
    return rows


@pytest.mark.parametrize(
    "where", [None, Eq("level", 3), Not(In("level", frozenset({0, 1}))), Prefix("pk", "中")]
)
async def test_routes_are_ranked_as_by_numpy(subject: Subject, where: Filter | None) -> None:
    rows = await filled(subject)
    sparse: Sparse = {1: 2.0, 4: 1.0, 7: 0.5, 999: 3.0}
    for seed, k in ((100, 5), (101, 1), (102, 50)):
        query = unit(seed)
        assert await found(subject, DENSE, query, k, where) == expected(rows, DENSE, query, k, where)
        assert await found(subject, SPARSE, sparse, k, where) == expected(rows, SPARSE, sparse, k, where)
    both = await subject.store.search_many(
        subject.collection, {DENSE: query, SPARSE: sparse}, k=4, where=where
    )
    assert [hit.pk for hit in both[DENSE]] == [pk for pk, _ in expected(rows, DENSE, query, 4, where)]
    assert [hit.pk for hit in both[SPARSE]] == [pk for pk, _ in expected(rows, SPARSE, sparse, 4, where)]


async def test_ties_come_by_pk(subject: Subject) -> None:
    rows = [
        IndexRow(pk, {}, {SPARSE: {7: 1.0}}) for pk in ("b", "中", "é", "a", "B", "aa", *map(str, range(60)))
    ]
    await subject.store.upsert(subject.collection, rows)
    everything = sorted(row.pk for row in rows)
    for k in (1, 3, 62, 100):
        assert [pk for pk, _ in await found(subject, SPARSE, {7: 2.0}, k)] == everything[:k]


TEXTS = st.sampled_from(["", "x", "xy", "中", "中文", "z", 'q"uo\\te\n', "100%_"])
SCALARS = st.sampled_from([0, 1, -2, 2.5, 7, True, False, None]) | TEXTS
LISTS = st.lists(SCALARS, max_size=3)
NAMES = st.sampled_from(["level", "source", "kind", "child_ids", "名", "from_split"])
FIELDS = st.dictionaries(NAMES, SCALARS | LISTS | st.just({"a": 1}), max_size=4)
BOUNDS = st.none() | st.sampled_from([-2, 0, 1, 2.5, 8, "", "x", "中"])
FIELD = NAMES | st.just("pk") | st.just("missing")
LEAVES = (
    st.builds(Eq, FIELD, SCALARS)
    | st.builds(In, FIELD, st.frozensets(SCALARS, max_size=3))
    | st.builds(Range, FIELD, BOUNDS, BOUNDS)
    | st.builds(Contains, FIELD, SCALARS)
    | st.builds(Prefix, FIELD, TEXTS)
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(And, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=6,
)


@QUICK
@given(st.lists(FIELDS, min_size=6, max_size=10), st.lists(FILTERS, min_size=6, max_size=10))
async def test_filters_mean_what_matches_says(
    subject: Subject, content: list[dict[str, Any]], filters: list[Filter]
) -> None:
    rows = [IndexRow(f"pk{at}", fields, {SPARSE: {7: 1.0}}) for at, fields in enumerate(content)]
    await subject.store.upsert(subject.collection, rows)
    try:
        assert {row.pk: dict(row.fields) for row in await subject.store.scan(subject.collection)} == {
            row.pk: row.fields for row in rows
        }
        for where in filters:
            wanted = [row.pk for row in rows if matches(where, {**row.fields, "pk": row.pk})]
            assert await pks(subject, where) == wanted, where
            assert await subject.store.count(subject.collection, where) == len(wanted)
            assert [pk for pk, _ in await found(subject, SPARSE, {7: 1.0}, 50, where)] == wanted
        gone = [row.pk for row in rows if matches(filters[0], {**row.fields, "pk": row.pk})]
        assert await subject.store.delete(subject.collection, filters[0]) == len(gone)
        assert await pks(subject) == [row.pk for row in rows if row.pk not in gone]
    finally:
        await subject.store.delete(subject.collection, And(()))


async def test_rows_come_back_as_they_went_in(subject: Subject) -> None:
    rows = [
        IndexRow("空", {}),
        IndexRow(
            "full",
            {
                "text": '第一行\n第二行 "quoted" \\ back\t😀' + "长" * 3000,
                "title": "标题",
                "child_ids": ["a", "b"],
                "entry_urls": [],
                "level": 3,
                "token_count": 12,
                "from_split": True,
                "merged": False,
                "related_links": [{"url": "https://例.cn", "n": [1, None]}],
                "summary": "",
                "none": None,
                "metadata": {"作者": ["王", 1.5]},
                "odd\x00name": "nul\x00\ue000",
            },
            {SPARSE: {0: 0.5, 999_999_999: 2.0}, "title_sparse": {3: 1.0}},
            {DENSE: unit(1)},
        ),
    ]
    await subject.store.ensure(subject.collection, {DENSE: DIMENSION})
    await subject.store.upsert(subject.collection, rows)
    got = await subject.store.get(subject.collection, ["full", "gone", "空", "full"], vectors=True)
    assert list(got) == ["full", "空"]
    for row in rows:
        assert _plain(got[row.pk]) == _plain(row)
    bare = await subject.store.get(subject.collection, ["full"])
    assert (bare["full"].fields, bare["full"].sparse, bare["full"].dense) == (rows[1].fields, {}, {})
    assert await pks(subject, Eq("odd\x00name", "nul\x00\ue000")) == ["full"]
    assert await pks(subject, Eq("text", rows[1].fields["text"])) == ["full"]


def _plain(row: IndexRow) -> tuple[Any, ...]:
    return row.pk, row.fields, row.sparse, {route: vector.tolist() for route, vector in row.dense.items()}


async def test_pages(subject: Subject) -> None:
    rows = await filled(subject, 25)
    names = sorted(row.pk for row in rows)
    collected: list[str] = []
    while page := await subject.store.scan(
        subject.collection, after=collected[-1] if collected else "", limit=7, vectors=False
    ):
        assert all(not row.sparse and not row.dense for row in page)
        collected += [row.pk for row in page]
    assert collected == names
    where = Eq("node_type", "heading")
    headings = sorted(row.pk for row in rows if row.fields["node_type"] == "heading")
    first = await subject.store.query(subject.collection, where, limit=5)
    assert [row.pk for row in first] == headings[:5]
    rest = await subject.store.query(subject.collection, where, limit=99, after=headings[4])
    assert [row.pk for row in rest] == headings[5:]


async def test_chinese_in_names_values_and_searches(subject: Subject) -> None:
    rows = [
        IndexRow(f"块-{name}", {"source": name, "标签": [name, "公共"]}, {SPARSE: {at: 1.0}})
        for at, name in enumerate(["安装", "安全", "备份"])
    ]
    await subject.store.upsert(subject.collection, rows)
    assert await pks(subject, Prefix("source", "安")) == ["块-安全", "块-安装"]
    assert await pks(subject, Contains("标签", "备份")) == ["块-备份"]
    assert await pks(subject, Contains("标签", "公共")) == ["块-备份", "块-安全", "块-安装"]
    assert await found(subject, SPARSE, {1: 1.0}, where=Eq("source", "安全")) == [("块-安全", 1.0)]


async def test_changes_are_seen_at_once(subject: Subject) -> None:
    store, name = subject.store, subject.collection
    await filled(subject, 12)
    before = await pks(subject)
    row = IndexRow(before[0], {"new": 1}, {SPARSE: {50: 1.0}})
    await store.upsert(name, [row, IndexRow("x", {}, {SPARSE: {50: 2.0}})])
    assert await found(subject, SPARSE, {50: 1.0}) == [("x", 2.0), (before[0], 1.0)]
    assert before[0] not in [pk for pk, _ in await found(subject, SPARSE, dict.fromkeys(range(12), 1.0))]
    assert await pks(subject, Eq("new", 1)) == [before[0]]
    assert await store.delete(name, In("pk", frozenset({"x", before[1]}))) == 2
    assert await found(subject, SPARSE, {50: 1.0}) == [(before[0], 1.0)]
    assert await pks(subject) == [pk for pk in before if pk != before[1]]
    assert (await store.term_counts(name, SPARSE, [50, 51])).counts == {50: 1, 51: 0}
    assert (await store.term_counts(name, SPARSE, [])).rows == 11


async def test_the_last_of_equal_pks_counts(subject: Subject) -> None:
    rows = [IndexRow("a", {"n": n}, {SPARSE: {n: 1.0}}) for n in (1, 2, 3)]
    await subject.store.upsert(subject.collection, rows)
    assert await subject.store.count(subject.collection) == 1
    assert await pks(subject, Eq("n", 3)) == ["a"]
    assert await found(subject, SPARSE, {1: 1.0, 3: 2.0}) == [("a", 2.0)]


async def test_vectors_follow_later_and_can_be_taken_away(subject: Subject) -> None:
    store, name = subject.store, subject.collection
    await store.upsert(name, [IndexRow(pk, {}, {SPARSE: {1: 1.0}}) for pk in "abc"])
    await store.ensure(name, {DENSE: DIMENSION})
    query = unit(0)
    assert await found(subject, DENSE, query) == []
    assert await store.fill(name, {"a": {DENSE: query}, "gone": {DENSE: query}, "b": {}}) == 1
    assert await found(subject, DENSE, query) == [("a", 1.0)]
    stats = await store.stats(name)
    assert (stats.rows, stats.filled, stats.dimensions) == (3, {DENSE: 1}, {DENSE: DIMENSION})
    assert await store.fill(name, {"a": {DENSE: -query}, "b": {DENSE: query}}) == 2
    assert await found(subject, DENSE, query) == [("b", 1.0)]
    assert await store.empty(name, DENSE) == 2
    assert (await store.stats(name)).dimensions == {}
    await store.ensure(name, {DENSE: 2})
    assert await store.fill(name, {"c": {DENSE: np.array([0.0, 1.0], np.float32)}}) == 1
    assert await found(subject, DENSE, np.array([0.0, 1.0], np.float32)) == [("c", 1.0)]
    assert await found(subject, SPARSE, {1: 1.0}) == [("a", 1.0), ("b", 1.0), ("c", 1.0)]
    assert await store.empty(name, "never_there") == 0


async def test_a_row_that_is_replaced_loses_its_vector(subject: Subject) -> None:
    await filled(subject, 8)
    query = unit(1)
    (best, _), *_ = await found(subject, DENSE, query)
    await subject.store.upsert(subject.collection, [IndexRow(best, {})])
    assert best not in [pk for pk, _ in await found(subject, DENSE, query)]


async def test_ensure_twice_and_drop(subject: Subject) -> None:
    store, name = subject.store, subject.collection
    for _ in range(2):
        await store.ensure(name, {DENSE: 4})
    await store.ensure(name)
    await store.ensure(name, {"summary_vector": 3})
    assert name in await store.collections()
    assert (await store.stats(name)).dimensions == {DENSE: 4, "summary_vector": 3}
    await store.drop(name)
    await store.drop(name)
    assert name not in await store.collections()
    await store.ensure(name, {DENSE: 5})
    assert (await store.stats(name)).dimensions == {DENSE: 5}


async def test_optimizing_changes_no_answer(subject: Subject) -> None:
    rows = await filled(subject)
    await subject.store.delete(subject.collection, Eq("level", 1))
    left = [row for row in rows if row.fields["level"] != 1]
    await subject.store.optimize(subject.collection)
    query = unit(7)
    assert await found(subject, DENSE, query) == expected(left, DENSE, query, 50)
    assert await found(subject, SPARSE, {3: 1.0}) == expected(left, SPARSE, {3: 1.0}, 50)


async def test_what_is_not_there_is_empty_to_read(subject: Subject) -> None:
    store, name = subject.store, subject.collection
    assert await store.search(name, SPARSE, {1: 1.0}, k=5) == []
    assert await store.search(name, DENSE, unit(1), k=5) == []
    assert await store.count(name) == await store.delete(name, And(())) == 0
    assert await store.scan(name) == await store.query(name, And(()), limit=5) == []
    assert await store.get(name, ["a"]) == {}
    assert (await store.term_counts(name, SPARSE, [1])).counts == {1: 0}
    assert (await store.stats(name)).rows == 0
    assert name not in await store.collections()  # looking does not make
    for attempt in (
        store.fill(name, {"a": {DENSE: unit(1)}}),
        store.empty(name, DENSE),
        store.optimize(name),
    ):
        with pytest.raises(NotFound) as caught:
            await attempt
        assert caught.value.remedy


async def _refused(store: Store, name: str, rows: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await store.upsert(name, [IndexRow("fine", {}), IndexRow("bad", {}, **rows)])


async def test_vectors_that_do_not_fit_are_refused(subject: Subject) -> None:
    store, name = subject.store, subject.collection
    await store.ensure(name, {DENSE: 3})
    nan, inf = float("nan"), float("inf")
    for vector in ([1.0, 0.0], [1.0, nan, 0.0], [1.0, inf, 0.0], [[1.0, 0.0, 0.0]], []):
        bad = np.array(vector, np.float32)
        await _refused(store, name, {"dense": {DENSE: bad}})
        with pytest.raises(InvalidInput):
            await store.fill(name, {"a": {DENSE: bad}})
        with pytest.raises(InvalidInput):
            await store.search(name, DENSE, bad, k=1)
    for sparse in ({1: nan}, {1: inf}, {-1: 1.0}, {2**32: 1.0}):
        await _refused(store, name, {"sparse": {SPARSE: sparse}})
        with pytest.raises(InvalidInput):
            await store.search(name, SPARSE, sparse, k=1)
    assert await store.count(name) == 0


async def test_unknown_routes_and_dimensions_are_refused(subject: Subject) -> None:
    store, name = subject.store, subject.collection
    await store.ensure(name, {DENSE: 3})
    vector = np.array([1.0, 0.0, 0.0], np.float32)
    await _refused(store, name, {"dense": {"unknown": vector}})
    for attempt in (
        store.search(name, "unknown", vector, k=1),
        store.search(name, DENSE, {1: 1.0}, k=1),
        store.fill(name, {"a": {"unknown": vector}}),
        store.ensure(name, {DENSE: 4}),
        store.ensure(name, {"other": 0}),
        store.ensure(name, {"Bad name": 3}),
        store.upsert(name, [IndexRow("a", {}, {"Bad name": {1: 1.0}})]),
        store.upsert(name, [IndexRow("", {})]),
        store.upsert(name, [IndexRow("a", {"x": float("nan")})]),
    ):
        with pytest.raises(InvalidInput):
            await attempt
    assert await store.search(name, "no_row_has_it", {1: 1.0}, k=1) == []


@pytest.mark.parametrize("bad", ["", "../evil", "A", "a b", "a;drop", "x" * 65])
async def test_names_of_collections_are_checked(subject: Subject, bad: str) -> None:
    store = subject.store
    for attempt in (
        store.ensure(bad),
        store.drop(bad),
        store.upsert(bad, []),
        store.scan(bad),
        store.count(bad),
    ):
        with pytest.raises(InvalidInput):
            await attempt
