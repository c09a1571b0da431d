"""Fuzzers of search: filters, conditions, queries and patterns."""

import random
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.fuzzer import Fuzzer, require, wait
from fuzzing.mutating import shaped, texts
from kosmos.ingest.grep import grep
from kosmos.retrieval.conditions import Conditions, compile_conditions
from kosmos.retrieval.search import check_query
from kosmos.retrieval.terms import question_terms, term_id, terms
from kosmos.store.filters import And, Contains, Eq, Filter, In, Not, Or, Prefix, Range, matches
from kosmos.store.local import LocalStore
from kosmos.store.milvus_filters import to_expression
from kosmos.store.postgres_filters import Conditions as PostgresConditions
from kosmos.store.rows import IndexRow

NAMES = ("level", "source", "tags", "mixed", "odd\x00", "中", "pk", "none", 'a"b', "")
VALUES: tuple[Any, ...] = (
    0,
    1,
    -1,
    True,
    False,
    None,
    0.5,
    1.0,
    2**53 + 1,
    "",
    "a",
    "docs/中",
    "docs/",
    "\x00",
    "\ue000",
)
VALUES += (2**63, -(2**63), 10**30, "z" * 300, "A", "ﬀ", "\U0010ffff")
ROWS = 120


def _filters(depth: int = 3) -> st.SearchStrategy[Filter]:
    name, value = st.sampled_from(NAMES), st.sampled_from(VALUES)
    text = st.sampled_from([item for item in VALUES if isinstance(item, str)])
    bound = st.sampled_from([item for item in VALUES if not isinstance(item, bool)])
    leaf: st.SearchStrategy[Any] = st.one_of(
        st.builds(Eq, name, value),
        st.builds(In, name, st.frozensets(value, max_size=3)),
        st.builds(Range, name, bound, bound),
        st.builds(Contains, name, value),
        st.builds(Prefix, name, text),
    )
    made = leaf
    for _ in range(depth):
        parts = st.lists(made, max_size=3).map(tuple)
        made = st.one_of(leaf, st.builds(And, parts), st.builds(Or, parts), st.builds(Not, made))
    return made


@cache
def _store() -> tuple[LocalStore, list[IndexRow]]:
    chance = random.Random(5)  # noqa: S311  (repeatable on purpose)
    plain = [value for value in VALUES if not isinstance(value, int) or abs(value) < 2**53]
    rows = []
    for at in range(ROWS):
        fields: dict[str, Any] = {"level": at % 4, "source": chance.choice(("docs/中", "docs/b", "", "A"))}
        fields["tags"] = [chance.choice(plain) for _ in range(at % 3)]
        fields |= {name: chance.choice(plain) for name in NAMES[3:6] if chance.random() < 0.7}
        rows.append(
            IndexRow(f"{chance.choice(('a', 'docs/中', 'z'))}{at}", fields, {"sparse_vector": {1: 1.0}})
        )
    store = LocalStore(Path(tempfile.mkdtemp(prefix="kosmos-fuzz-store-")))
    wait(store.upsert("rows", rows))
    return store, rows


def _filter(where: Filter) -> str:
    store, rows = _store()
    wanted = sorted(row.pk for row in rows if matches(where, {**row.fields, "pk": row.pk}))
    found = wait(store.query("rows", where, limit=ROWS * 2))
    require([row.pk for row in found] == wanted, "LocalStore finds other rows than the filter says")
    require(wait(store.count("rows", where)) == len(wanted), "LocalStore counts otherwise")
    conditions = PostgresConditions()
    sql = conditions.sql(where)
    require(not any(value in sql for value in ("docs", "中", "zzz", "\x00")), "a value stands in the SQL")
    require(all(f":{name}" in sql for name in conditions.values), "a parameter that nobody uses")
    require(bool(to_expression(where)), "no expression for Milvus")
    return "some" if wanted else "none"


DAYS = ("2024-01-01", "2024-13-99", "2024-01-01T10:00:00Z", "0000-00-00", "9999-12-31", "1-1-1", "2024-02-30")


def _wanted() -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(texts(6), max_size=3).map(tuple)
    day = st.one_of(st.sampled_from(DAYS), texts(8))
    return st.fixed_dictionaries(
        {},
        optional={
            "document_ids": some,
            "types": st.one_of(st.just(("CONTENT",)), some),
            "levels": st.lists(st.integers(), max_size=3).map(tuple),
            "filetypes": some,
            "path": texts(20),
            "heading": texts(20),
            "since": day,
            "until": day,
            "languages": st.one_of(st.just(("zh",)), some),
            "metadata": shaped(("author", "tags"), 1),
            "pages": st.tuples(st.integers(), st.integers()),
        },
    )


def _conditions(given: dict[str, Any]) -> str:
    where = compile_conditions(Conditions(**given))
    matches(where, {"node_type": "CONTENT", "pk": "a", "updated_at": "2024-01-01T00:00:00Z", "page": 3})
    PostgresConditions().sql(where)
    to_expression(where)
    return "compiled"


def _query(text: str) -> str:
    check_query(text, 10)
    for term in {*terms(text), *question_terms(text)}:
        require(bool(term) and 0 <= term_id(term) < 2**32, "a term without an id")
    return "searched"


PATTERNS = (
    "pump",
    "(",
    ")",
    "[",
    "]",
    "*",
    "+",
    "{2,",
    "}",
    "|",
    "\\",
    "^",
    "$",
    "(?i)",
    ".",
    "证",
    "\\p{Han}",
    "\\x",
    "(?P<",
    "[^",
    "{999}",
)
TEXT = "# Pump\n\nA pump 水泵 needs oil.\n证书每 90 天轮换。\n" * 8


def _patterns() -> st.SearchStrategy[tuple[str, bool, bool, int]]:
    part = st.one_of(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS), texts(3))
    pattern = st.lists(part, max_size=8).map("".join)
    return st.tuples(pattern, st.booleans(), st.booleans(), st.integers(-1, 6))


def _grep(case: tuple[str, bool, bool, int]) -> str:
    pattern, ignore_case, fixed, context = case
    found = grep(
        [("a.md", TEXT)],
        pattern,
        ignore_case=ignore_case,
        fixed=fixed,
        context=context,
        deadline=time.monotonic() + 5,
    )
    lines = TEXT.split("\n")
    require(
        all(item.text in lines[item.line - 1] for item in found.matches), "a line that does not stand there"
    )
    return "found" if found.matches else "nothing"


SAME = "LocalStore finds what the filter says; SQL and Milvus compile, and hold no value"
FUZZERS = (
    Fuzzer("filters", SAME, 4000, _filters, _filter),
    Fuzzer("conditions of a search", "a filter, or InvalidInput", 3000, _wanted, _conditions),
    Fuzzer("queries", "terms with ids, or InvalidInput", 3000, lambda: texts(200), _query),
    Fuzzer("patterns", "lines that stand there, or InvalidInput", 2500, _patterns, _grep),
)
