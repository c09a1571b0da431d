"""Filters: the small tree, every node of it, and what a missing field means."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.store.filters import And, Contains, Eq, Filter, In, Not, Or, Prefix, Range, Scalar, matches

FIELDS = {"kind": "content", "level": -1, "标题": "中文", "flag": True, "none": None, "ids": ["a", "b"]}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Eq("kind", "content"), True),
        (Eq("kind", "heading"), False),
        (Eq("level", -1), True),
        (Eq("标题", "中文"), True),
        (Eq("flag", True), True),
        (Eq("missing", None), True),
        (Eq("none", None), True),
        (Eq("missing", "x"), False),
        (In("kind", frozenset({"content", "heading"})), True),
        (In("kind", frozenset()), False),
        (In("missing", frozenset({None})), True),
        (In("missing", frozenset({"x"})), False),
        (In("ids", frozenset({"a"})), False),
        (Eq("ids", "a"), False),
        (Not(Eq("missing", "x")), True),
        (And(()), True),
        (Or(()), False),
        (Not(And(())), False),
        (And((Eq("kind", "content"), Not(Eq("level", 0)))), True),
        (And((Eq("kind", "content"), Eq("level", 0))), False),
        (Or((Eq("level", 0), Eq("标题", "中文"))), True),
        (Or((And((Eq("level", -1), Not(Eq("kind", "content")))), In("level", frozenset({0})))), False),
        (Range("level", -1, -1), True),
        (Range("level", None, -2), False),
        (Range("level", -0.5), False),
        (Range("level", high=10**400), True),
        (Range("level", "a"), False),
        (Range("kind", "con", "cont"), False),
        (Range("kind", "con", "d"), True),
        (Range("kind", 1), False),
        (Range("kind", 1, "z"), False),
        (Range("标题", "中", "中文"), True),
        (Range("flag", 0, 1), False),
        (Range("flag"), True),
        (Range("ids"), True),
        (Range("ids", "a"), False),
        (Range("none"), False),
        (Range("missing", None, 3), False),
        (Contains("ids", "a"), True),
        (Contains("ids", "c"), False),
        (Contains("kind", "content"), False),
        (Contains("missing", None), False),
        (Prefix("kind", "con"), True),
        (Prefix("kind", ""), True),
        (Prefix("kind", "Con"), False),
        (Prefix("标题", "中"), True),
        (Prefix("level", ""), False),
        (Not(Prefix("missing", "")), True),
        (Not(Not(Or((Not(Eq("flag", True)), And((Eq("level", -1),)))))), True),
    ],
)
def test_each_filter(condition: Filter, expected: bool) -> None:
    assert matches(condition, FIELDS) is expected


def test_nothing_matches_an_empty_row_but_what_is_missing() -> None:
    assert matches(Eq("a", None), {})
    assert not matches(Eq("a", ""), {})
    assert matches(Not(In("a", frozenset({1, "x"}))), {})


Predicate = Callable[[dict[str, Any]], bool]
NAMES = st.sampled_from(["a", "b", "名"])
VALUES: st.SearchStrategy[Scalar] = st.sampled_from(["x", "y", 2, 3.5, None])


def _eq(pair: tuple[str, Scalar]) -> tuple[Filter, Predicate]:
    return Eq(*pair), lambda row: row.get(pair[0]) == pair[1]


def _in(pair: tuple[str, frozenset[Scalar]]) -> tuple[Filter, Predicate]:
    return In(*pair), lambda row: any(row.get(pair[0]) == value for value in pair[1])


def _and(parts: list[tuple[Filter, Predicate]]) -> tuple[Filter, Predicate]:
    return And(tuple(f for f, _ in parts)), lambda row: sum(p(row) for _, p in parts) == len(parts)


def _or(parts: list[tuple[Filter, Predicate]]) -> tuple[Filter, Predicate]:
    return Or(tuple(f for f, _ in parts)), lambda row: sum(p(row) for _, p in parts) > 0


def _not(part: tuple[Filter, Predicate]) -> tuple[Filter, Predicate]:
    return Not(part[0]), lambda row: not part[1](row)


TREES = st.recursive(
    st.tuples(NAMES, VALUES).map(_eq) | st.tuples(NAMES, st.frozensets(VALUES)).map(_in),
    lambda inner: (
        st.lists(inner, max_size=3).map(_and) | st.lists(inner, max_size=3).map(_or) | inner.map(_not)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(TREES, st.dictionaries(NAMES, VALUES))
def test_any_nesting_means_what_it_says(tree: tuple[Filter, Predicate], row: dict[str, Any]) -> None:
    condition, oracle = tree
    assert matches(condition, row) == oracle(row)
