"""Rows as lines, and archives as files: what goes in comes out, and nothing else is taken."""

import json
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from kosmos.archive.manifest import BACKUP, BLOBS, Manifest, Part, dump_manifest, load_manifest
from kosmos.archive.reading import open_archive
from kosmos.archive.rows import dump_row, load_json, load_row, row_digest
from kosmos.archive.tables import Content, all_tables
from kosmos.archive.writing import new_archive
from kosmos.db.types import JSON, JSON_OR_NULL, UtcDateTime
from kosmos.errors import InvalidInput

TABLE = sa.Table(
    "thing",
    sa.MetaData(),
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("text", sa.Text),
    sa.Column("number", sa.Integer),
    sa.Column("big", sa.BigInteger),
    sa.Column("real", sa.Float),
    sa.Column("flag", sa.Boolean),
    sa.Column("raw", sa.LargeBinary),
    sa.Column("moment", UtcDateTime()),
    sa.Column("body", JSON),
    sa.Column("layer", JSON_OR_NULL),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
REAL = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | REAL | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ROWS = st.fixed_dictionaries(
    {"id": TEXT},
    optional={
        "text": TEXT,
        "number": st.integers(-(2**31), 2**31 - 1),
        "big": st.integers(-(2**63), 2**63 - 1),
        "real": REAL,
        "flag": st.booleans(),
        "raw": st.binary(max_size=20),
        "moment": st.datetimes(timezones=st.just(UTC)),
        "body": JSON_VALUES,
        "layer": st.dictionaries(TEXT, JSON_VALUES, max_size=2),
    },
)


@given(ROWS)
@example({"id": "a", "body": None})
@example({"id": "a", "moment": datetime(1, 1, 1, tzinfo=UTC), "text": "\u2028\x85\r\n"})
def test_a_row_comes_back_as_it_was(row: dict[str, Any]) -> None:
    line = dump_row(TABLE, row)
    assert "\n" not in line
    assert load_row(TABLE, line) == row
    assert ("body" in load_row(TABLE, line)) == ("body" in row)  # NULL and null are two things


@given(st.lists(ROWS, max_size=5), st.randoms())
def test_the_order_of_rows_does_not_count_but_each_of_them_does(rows: list[dict[str, Any]], rng: Any) -> None:
    lines = [dump_row(TABLE, row) for row in rows]
    mixed = rng.sample(lines, len(lines))
    assert Content().plus(lines) == Content().plus(mixed[:2]).plus(mixed[2:])
    if lines:
        assert Content().plus(lines) != Content().plus(lines[1:])
        assert Content().plus([*lines, lines[0]]) != Content().plus(lines)


def test_numbers_that_engines_write_differently_are_the_same() -> None:
    assert row_digest('{"a":1e22}') == row_digest('{"a":10000000000000000000000}')
    assert row_digest('{"a":-0.0}') == row_digest('{"a":0}')
    assert row_digest('{"a":1}') != row_digest('{"a":"1"}')
    assert row_digest('{"a":1}') != row_digest('{"a":true}')
    assert row_digest('{"a":0.1}') != row_digest('{"a":0.10000000000000002}')


@given(
    st.text(max_size=60) | JSON_VALUES.map(json.dumps) | st.dictionaries(TEXT, JSON_VALUES).map(json.dumps)
)
def test_any_line_is_a_row_or_refused(line: str) -> None:
    try:
        row = load_row(TABLE, line)
    except InvalidInput:
        return
    assert load_row(TABLE, dump_row(TABLE, row)) == row


def test_half_a_character_that_was_stored_is_kept_but_not_taken_from_others() -> None:
    line = dump_row(TABLE, {"id": "a", "body": "\ud800"})
    assert line.encode()
    assert load_row(TABLE, line, strict=False)["body"] == "\ud800"
    with pytest.raises(InvalidInput):
        load_row(TABLE, line)


def test_depth_has_an_end() -> None:
    assert load_json("[" * 50 + "]" * 50)
    for depth in (500, 100_000):
        with pytest.raises(InvalidInput):
            load_json("[" * depth + "]" * depth)


def test_every_column_has_a_kind_that_can_be_written() -> None:
    """A new kind of column needs a line in `_READERS`."""
    known = (UtcDateTime, sa.JSON, sa.LargeBinary, sa.Boolean, sa.Integer, sa.Float, sa.String)
    odd = [str(column) for table in all_tables() for column in table.c if not isinstance(column.type, known)]
    assert odd == []


MANIFEST = Manifest(
    BACKUP, "1", "0001", "now", {BLOBS: Part(0, "a" * 64)}, {"user": Content(1, 5)}, ("b" * 64,)
)


def test_a_manifest_comes_back() -> None:
    assert load_manifest(dump_manifest(MANIFEST), BACKUP) == MANIFEST


@given(st.binary(max_size=50) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_manifest_is_one_or_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        load_manifest(data, BACKUP)


@given(
    st.sampled_from(["kind", "parts", "tables", "missing", "revision", "version", "format", "created_at"]),
    JSON_VALUES,
)
def test_any_field_of_a_manifest_is_checked(name: str, value: Any) -> None:
    body = json.loads(dump_manifest(MANIFEST)) | {name: value}
    try:
        found = load_manifest(json.dumps(body).encode(), BACKUP)
    except InvalidInput:
        return
    assert json.loads(dump_manifest(found)) == body | {"format": 2}  # one of format 1 is read too


@given(st.dictionaries(st.sampled_from("abcdef"), st.binary(max_size=200), max_size=4), st.data())
def test_a_changed_byte_is_noticed_or_changes_nothing(parts: dict[str, bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.zip"
        with new_archive(file) as writer:
            for name, content in parts.items():
                with writer.part(f"tables/{name}.jsonl") as part:
                    part.write(content)
            with writer.part(BLOBS):
                pass
            writer.close(Manifest(BACKUP, "1", "0001", "now", dict(writer.parts), {}))
        raw = bytearray(file.read_bytes())
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place] ^= data.draw(st.integers(1, 255))
        broken = Path(folder) / "b.zip"
        broken.write_bytes(raw)
        try:
            with open_archive(broken, BACKUP) as reader:
                found = {name: b"".join(reader.pieces(f"tables/{name}.jsonl")) for name in parts}
        except InvalidInput:
            return
        assert found == parts


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with pytest.raises(KeyError), new_archive(file):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    with new_archive(file) as writer:
        writer.close(MANIFEST)
    assert zipfile.is_zipfile(file)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]
