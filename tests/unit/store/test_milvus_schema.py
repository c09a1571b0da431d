"""The collection that is made on a Milvus server, which no test can start: 22 fields and their indexes."""

from types import SimpleNamespace
from typing import Any

import pytest
from pymilvus import DataType, MilvusClient

from kosmos.store.filters import And, Contains, Eq, In, Not, Or, Prefix, Range
from kosmos.store.milvus_filters import next_text, to_expression
from kosmos.store.milvus_schema import Layout, create

TEXT, WHOLE, FLAG, LIST = DataType.VARCHAR, DataType.INT64, DataType.BOOL, DataType.ARRAY
FIELDS = {
    "pk": TEXT,
    "text": TEXT,
    "vector": DataType.FLOAT_VECTOR,
    "summary_vector": DataType.FLOAT_VECTOR,
    "sparse_vector": DataType.SPARSE_FLOAT_VECTOR,
    "title_sparse": DataType.SPARSE_FLOAT_VECTOR,
    "source": TEXT,
    "title": TEXT,
    "parent_id": TEXT,
    "child_ids": LIST,
    "node_type": TEXT,
    "level": WHOLE,
    "token_count": WHOLE,
    "left_sibling": TEXT,
    "right_sibling": TEXT,
    "from_split": FLAG,
    "merged": FLAG,
    "nav_next_step": TEXT,
    "nav_see_also": TEXT,
    "entry_urls": LIST,
    "related_links": DataType.JSON,
    "summary": TEXT,
}


def _made(*, lite: bool, index_type: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    made: dict[str, Any] = {}
    client = SimpleNamespace(
        has_collection=lambda name: False,
        create_schema=MilvusClient.create_schema,
        prepare_index_params=MilvusClient.prepare_index_params,
        create_collection=lambda name, **options: made.update(options),
    )
    layout = Layout.of(None, {"vector": 384, "summary_vector": 384}, ())
    create(client, "knowledge_base_v2", layout, lite=lite, index_type=index_type)
    fields = {field.name: field for field in made["schema"].fields}
    return fields, {index.field_name: index.to_dict() for index in made["index_params"]}


def test_a_server_has_the_fields() -> None:
    fields, _ = _made(lite=False, index_type="FLAT")
    assert {name: fields[name].dtype for name in FIELDS} == FIELDS
    assert fields["pk"].is_primary
    assert (fields["child_ids"].params["max_capacity"], fields["entry_urls"].params["max_capacity"]) == (
        256,
        200,
    )
    assert {fields[name].element_type for name in ("child_ids", "entry_urls")} == {TEXT}
    assert {fields[name].params["dim"] for name in ("vector", "summary_vector")} == {384}


@pytest.mark.parametrize("index_type", ["FLAT", "HNSW"])
def test_a_server_has_the_indexes(index_type: str) -> None:
    _, indexes = _made(lite=False, index_type=index_type)
    for route in ("vector", "summary_vector"):
        assert (indexes[route]["index_type"], indexes[route]["metric_type"]) == (index_type, "COSINE")
    for route in ("sparse_vector", "title_sparse"):
        shown = indexes[route]
        assert (shown["index_type"], shown["metric_type"]) == ("SPARSE_INVERTED_INDEX", "IP")
        assert "'drop_ratio_build': 0.2" in str(shown)
    assert {"source", "node_type", "level", "title"} <= set(indexes)


def test_milvus_lite_stays_exact() -> None:
    _, indexes = _made(lite=True, index_type="FLAT")
    assert set(indexes) == {"vector", "summary_vector", "sparse_vector", "title_sparse"}
    assert "drop_ratio" not in str(indexes)


@pytest.mark.parametrize(
    ("where", "expression"),
    [
        (Eq("a", "x"), '(exists filters["t_a"] and (filters["t_a"] == "x"))'),
        (Not(Eq("a", 1)), '(not exists filters["e_a"] or not (filters["e_a"] == 1.0))'),
        (Eq("a", None), '(not exists filters["x_a"])'),
        (Not(Eq("a", None)), '(exists filters["x_a"])'),
        (In("pk", frozenset({'q"\\'})), 'pk in ["q\\"\\\\"]'),
        (Range("a", 1, None), '(exists filters["n_a"] and (filters["n_a"] >= 1.0))'),
        (Range("a", 1, "x"), "1 == 0"),
        (Contains("a", "x\n"), '(exists filters["l_a"] and (json_contains(filters["l_a"], "tx\\n")))'),
        (Prefix("pk", "ab"), 'pk >= "ab" and pk < "ac"'),
        (And(()), "1 == 1"),
        (Not(Or(())), "1 == 1"),
    ],
)
def test_expressions(where: Any, expression: str) -> None:
    assert to_expression(where) == expression


@pytest.mark.parametrize(
    ("text", "after"),
    [("a", "b"), ("中", "丮"), ("a\U0010ffff", "b"), ("\U0010ffff", ""), ("\ud7ff", "\ue000")],
)
def test_the_text_behind_a_prefix(text: str, after: str) -> None:
    assert next_text(text) == after
