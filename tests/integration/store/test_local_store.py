"""LocalStore on a real disk: what goes in comes out, ranked as by hand."""

import asyncio
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import EngineUnavailable, InvalidInput
from kosmos.store.filters import And, Eq, Filter, In, Not, Or
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow, Sparse
from kosmos.store.vectors import pack_vectors

QUERY = {7: 1.0}
FORMER = """
PRAGMA journal_mode=WAL;
CREATE TABLE entry (pk TEXT PRIMARY KEY, fields TEXT NOT NULL, sparse BLOB NOT NULL);
CREATE INDEX entry_document ON entry (json_extract(fields, '$.document_id'));
CREATE TABLE state (version INTEGER NOT NULL);
INSERT INTO state VALUES (5);
"""


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "index")


def _row(pk: str, weight: float = 1.0, **fields: Any) -> IndexRow:
    return IndexRow(pk, fields, {"r": {7: weight}})


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def _pks(store: LocalStore, where: Filter | None = None, collection: str = "c") -> list[str]:
    return [item.pk for item in await store.search(collection, "r", QUERY, k=100, where=where)]


WEIGHTS = st.integers(-8, 40).map(lambda number: number / 4)
VECTORS = st.dictionaries(st.integers(0, 5) | st.just(999_999_999), WEIGHTS)
PKS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
KINDS = st.sampled_from(["x", "y", "中", None])


def _expected(
    rows: dict[str, tuple[str | None, dict[int, float]]], query: Sparse, kinds: frozenset[str | None]
) -> list[tuple[float, str]]:
    scores = {
        pk: sum(weight * query.get(term, 0.0) for term, weight in vector.items())
        for pk, (kind, vector) in rows.items()
        if kind in kinds
    }
    return sorted((-score, pk) for pk, score in scores.items() if score > 0)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(PKS, st.tuples(KINDS, VECTORS), max_size=10), VECTORS, st.frozensets(KINDS))
async def test_what_comes_out_equals_brute_force(
    rows: dict[str, tuple[str | None, dict[int, float]]],
    query: dict[int, float],
    kinds: frozenset[str | None],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = LocalStore(Path(folder))
        fields = {pk: {} if kind is None else {"kind": kind} for pk, (kind, _) in rows.items()}
        await store.upsert("c", [IndexRow(pk, fields[pk], {"r": rows[pk][1]}) for pk in rows])
        found = await store.search("c", "r", query, k=5, where=In("kind", kinds))
        assert [(-item.score, item.pk) for item in found] == _expected(rows, query, kinds)[:5]
        assert {row.pk: (row.fields, row.sparse) for row in await store.scan("c")} == {
            pk: (fields[pk], {"r": vector}) for pk, (_, vector) in rows.items()
        }


async def test_equal_scores_come_by_pk_and_zero_scores_not_at_all(store: LocalStore) -> None:
    rows = [_row("c"), _row("a"), _row("b", 2.0), _row("é"), _row("中"), _row("B"), _row("zero", 0.0)]
    await store.upsert("c", [*rows, _row("negative", -1.0), IndexRow("none", {})])
    assert await _pks(store) == ["b", "B", "a", "c", "é", "中"]
    assert await store.count("c") == 9


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, ["a", "b", "c"]),
        (Eq("kind", "x"), ["a"]),
        (Eq("missing", None), ["a", "b", "c"]),
        (Eq("only_c", None), ["a", "b"]),
        (In("kind", frozenset({"x", "y"})), ["a", "b"]),
        (In("kind", frozenset()), []),
        (Not(Eq("kind", "x")), ["b", "c"]),
        (Not(Eq("only_c", 1)), ["a", "b"]),
        (And((Eq("kind", "y"), Not(Eq("n", 1)))), ["b"]),
        (Or((Eq("n", 1), Eq("kind", "中文"))), ["a", "c"]),
        (Not(Or((Eq("n", 1), And((Eq("n", 2), Eq("kind", "y")))))), ["c"]),
        (And(()), ["a", "b", "c"]),
        (Or(()), []),
        (Eq("pk", "b"), ["b"]),
        (Not(In("pk", frozenset({"a", "b"}))), ["c"]),
        (In("list", frozenset({1})), []),
        (In("pk", frozenset({"a", "c", "\x00"})), ["a", "c"]),
        (In("pk", frozenset({"a", None})), ["a"]),
        (Eq("document_id", "d"), ["a", "b"]),
        (Eq("document_id", None), ["c"]),
        (In("document_id", frozenset({"d", "e"})), ["a", "b"]),
        (And((Eq("n", 2), Eq("document_id", "d"))), ["b"]),
        (And((Eq("document_id", "d"), In("n", frozenset({1, 3})), Not(In("pk", frozenset({"b"}))))), ["a"]),
        (Or((Eq("document_id", "d"), Eq("pk", "c"))), ["a", "b", "c"]),
        (Not(Eq("document_id", "d")), ["c"]),
    ],
)
async def test_every_filter_in_search_and_delete(
    store: LocalStore, where: Filter | None, expected: list[str]
) -> None:
    rows = [
        _row("a", kind="x", n=1, document_id="d"),
        _row("b", kind="y", n=2, list=[1], document_id="d"),
        _row("c", kind="中文", only_c=1),
    ]
    await store.upsert("c", rows)
    assert await _pks(store, where) == expected
    if where is not None:
        found = await store.query("c", where, limit=10)
        assert found == [replace(row, sparse={}) for row in rows if row.pk in expected]
        assert await store.query("c", where, limit=1) == found[:1]
        assert await store.query("c", where, limit=10, after="a") == [row for row in found if row.pk > "a"]
        assert await store.delete("c", where) == len(expected)
        assert set(await _pks(store)) == {"a", "b", "c"} - set(expected)


async def test_upsert_replaces_fields_and_vectors(store: LocalStore) -> None:
    await store.upsert("c", [IndexRow("a", {"old": 1}, {"r": {7: 1.0}, "s": {1: 1.0}}), _row("b")])
    assert await _pks(store) == ["a", "b"]
    await store.upsert("c", [IndexRow("a", {"标题": "新的"}, {"r": {8: 1.0}})])
    assert await _pks(store) == ["b"]
    assert await store.search("c", "s", {1: 1.0}, k=5) == []
    assert (await store.scan("c"))[0] == IndexRow("a", {"标题": "新的"}, {"r": {8: 1.0}})
    assert (await store.term_counts("c", "r", [7, 8, 9])).counts == {7: 1, 8: 1, 9: 0}


async def test_empty_collections_and_empty_rows(store: LocalStore) -> None:
    assert await _pks(store) == []
    assert await store.count("c") == 0
    assert await store.scan("c") == []
    await store.upsert("c", [])
    assert await store.delete("c", And(())) == 0
    await store.upsert("c", [IndexRow("a", {}), IndexRow("b", {}, {"r": {}})])
    assert await _pks(store) == []
    assert await store.count("c") == 2
    assert (await store.term_counts("c", "r", [7])).rows == 2


async def test_an_unknown_route_finds_nothing(store: LocalStore) -> None:
    await store.upsert("c", [_row("a")])
    assert await store.search("c", "unknown", QUERY, k=5) == []
    assert (await store.term_counts("c", "unknown", [7])).counts == {7: 0}


async def test_collections_are_apart(store: LocalStore) -> None:
    await store.ensure("empty")
    await store.upsert("c", [_row("a")])
    await store.upsert("d", [_row("b")])
    assert await store.collections() == ["c", "d", "empty"]
    assert await _pks(store, collection="d") == ["b"]
    await store.drop("c")
    await store.drop("never_there")
    assert await store.collections() == ["d", "empty"]
    assert await _pks(store) == []


@pytest.mark.parametrize(
    "name", ["", "..", "../evil", "a/b", "/etc/passwd", "A", "a b", "a.b", "a\n", "中文", "x" * 65, "a\x00b"]
)
async def test_names_that_could_leave_the_folder_are_refused(
    store: LocalStore, tmp_path: Path, name: str
) -> None:
    for attempt in (
        store.ensure(name),
        store.drop(name),
        store.upsert(name, [_row("a")]),
        store.scan(name),
        store.count(name),
        store.delete(name, And(())),
        store.search(name, "r", QUERY, k=1),
    ):
        with pytest.raises(InvalidInput) as caught:
            await attempt
        assert caught.value.remedy
    assert _names(tmp_path) == []


async def test_a_failing_row_leaves_everything_as_it_was(store: LocalStore) -> None:
    await store.upsert("c", [_row("a", kind="old")])
    for bad in (
        _row("\ud800"),
        _row("b", kind="\ud800"),
        _row("b", n=float("nan")),
        _row("b", thing=object()),
    ):
        with pytest.raises(InvalidInput):
            await store.upsert("c", [_row("a", kind="new"), bad])
    assert [row.fields for row in await store.scan("c")] == [{"kind": "old"}]
    await store.upsert("c", [_row("b")])
    assert await _pks(store) == ["a", "b"]


def _operations(store: LocalStore) -> list[Any]:
    return [
        store.ensure("c"),
        store.upsert("c", [_row("b")]),
        store.search("c", "r", QUERY, k=1),
        store.count("c"),
        store.scan("c"),
        store.term_counts("c", "r", [7]),
        store.delete("c", And(())),
    ]


@pytest.mark.parametrize("damage", ["garbage", "beginning", "folder"])
async def test_a_damaged_file_is_reported_with_a_remedy(
    store: LocalStore, tmp_path: Path, damage: str
) -> None:
    await store.upsert("c", [_row("a")])
    file = tmp_path / "index" / "c.db"
    content = file.read_bytes()
    file.unlink()
    if damage == "folder":
        file.mkdir()
    else:
        file.write_bytes(b"not a database" * 100 if damage == "garbage" else b"\xff" * 100 + content[100:])
    for attempt in _operations(LocalStore(tmp_path / "index")):
        with pytest.raises(EngineUnavailable, match=r"c\.db") as caught:
            await attempt
        assert caught.value.remedy


async def test_a_damaged_page_is_reported(store: LocalStore, tmp_path: Path) -> None:
    await store.upsert("c", [_row(f"{number:04}", text="word " * 50) for number in range(500)])
    file = tmp_path / "index" / "c.db"
    content = bytearray(file.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    file.write_bytes(content)
    with pytest.raises(EngineUnavailable) as caught:
        await LocalStore(tmp_path / "index").scan("c")
    assert caught.value.remedy


async def test_damaged_fields_are_reported(store: LocalStore, tmp_path: Path) -> None:
    await store.upsert("c", [_row("a")])
    with sqlite3.connect(tmp_path / "index" / "c.db") as conn:
        conn.execute("UPDATE item SET fields = '{'")
        conn.execute("UPDATE state SET version = version + 1")
    conn.close()
    with pytest.raises(EngineUnavailable) as caught:
        await _pks(store)
    assert caught.value.remedy


async def test_an_index_of_an_earlier_version_is_brought_up_to_date(
    store: LocalStore, tmp_path: Path
) -> None:
    (tmp_path / "index").mkdir()
    conn = sqlite3.connect(tmp_path / "index" / "c.db")
    conn.executescript(FORMER)
    rows = [(pk, f'{{"document_id": "{name}"}}', pack_vectors({"r": {7: 1.0}})) for pk, name in ("bx", "ay")]
    conn.executemany("INSERT INTO entry VALUES (?, ?, ?)", rows)
    conn.commit()
    conn.close()
    assert await _pks(store) == ["a", "b"]
    assert await store.delete("c", Eq("document_id", "x")) == 1
    await store.upsert("c", [_row("c")])
    assert await _pks(LocalStore(tmp_path / "index")) == ["a", "c"]


async def test_a_file_that_was_created_but_not_filled_is_usable(store: LocalStore, tmp_path: Path) -> None:
    """A crash while a collection is made leaves an empty file, or one without tables."""
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "c.db").touch()
    conn = sqlite3.connect(tmp_path / "index" / "d.db")
    conn.execute("PRAGMA journal_mode=WAL")
    conn.close()
    for collection in ("c", "d"):
        await store.upsert(collection, [_row("a")])
        assert await _pks(store, collection=collection) == ["a"]


async def test_a_collection_made_anew_is_not_mistaken_for_the_old_one(
    store: LocalStore, tmp_path: Path
) -> None:
    other = LocalStore(tmp_path / "index")
    await store.upsert("c", [_row("old")])
    assert await _pks(other) == ["old"]
    await store.drop("c")
    await store.upsert("c", [_row("new")])
    assert await _pks(other) == ["new"]


async def test_the_journal_of_a_dropped_collection_does_not_come_back(
    store: LocalStore, tmp_path: Path
) -> None:
    """A crash in the middle of dropping must never leave a journal that a new file would replay."""
    await store.upsert("c", [_row("old")])
    folder = tmp_path / "index"
    with sqlite3.connect(folder / "c.db") as reader:
        reader.execute("SELECT * FROM item").fetchall()
        await store.upsert("c", [_row("older")])
        assert (folder / "c.db-wal").stat().st_size > 0
        gone: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            unlink = Path.unlink

            def noted(path: Path, missing_ok: bool = False) -> None:
                gone.append(path.name)
                unlink(path, missing_ok=missing_ok)

            patch.setattr(Path, "unlink", noted)
            await store.drop("c")
    reader.close()
    assert gone.index("c.db-wal") < gone.index("c.db")
    assert await _pks(store) == []


async def test_many_writers_lose_nothing(store: LocalStore, tmp_path: Path) -> None:
    """Tasks run in threads; the very first writes make the collection, all at once."""
    stores = [store, LocalStore(tmp_path / "index"), LocalStore(tmp_path / "index")]

    async def work(number: int) -> None:
        mine = stores[number % 3]
        for step in range(5):
            await mine.upsert("c", [_row(f"{number:02}-{step}", owner=number)])
            found = await _pks(mine, Eq("owner", number))
            assert found == [f"{number:02}-{at}" for at in range(step + 1)]
        assert await mine.delete("c", And((Eq("owner", number), Not(Eq("pk", f"{number:02}-0"))))) == 4

    await asyncio.gather(*(work(number) for number in range(12)))
    for each in stores:
        assert await _pks(each) == [f"{number:02}-0" for number in range(12)]


async def test_collections_made_by_many_at_once(tmp_path: Path) -> None:
    stores = [LocalStore(tmp_path) for _ in range(12)]
    for number in range(60):
        await asyncio.gather(*(store.upsert(f"c{number}", [_row(str(id(store)))]) for store in stores))
        assert await stores[0].count(f"c{number}") == 12
