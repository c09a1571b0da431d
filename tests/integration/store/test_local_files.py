"""The files beside a LocalStore: made and merged as rows come, mapped by readers, never the truth."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kosmos.store import local_reading
from kosmos.store.filters import And, Eq, In, Prefix, Range
from kosmos.store.local import LocalStore
from kosmos.store.local_upkeep import Limits
from kosmos.store.rows import Dense, IndexRow
from kosmos.store.segments import build_segment

DIMENSION = 16
LIMITS = Limits(seal_rows=50, exact_rows=10_000)


def _vectors(count: int, seed: int = 1) -> Dense:
    centres = np.random.default_rng(0).standard_normal((20, DIMENSION))
    chance = np.random.default_rng(seed)
    made = centres[chance.integers(0, 20, count)] + 0.3 * chance.standard_normal((count, DIMENSION))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def _rows(start: int, stop: int, *, dense: bool = True) -> list[IndexRow]:
    vectors = _vectors(stop - start, start)
    return [
        IndexRow(
            f"{at:05}",
            {"group": at % 10, "text": "long " * 100 + str(at), "tags": [f"t{at % 3}"]},
            {"r": {at % 7: 1.0, 99: 0.5}},
            {"vector": vectors[at - start]} if dense else {},
        )
        for at in range(start, stop)
    ]


async def _filled(folder: Path, count: int, limits: Limits = LIMITS) -> LocalStore:
    store = LocalStore(folder, limits=limits)
    await store.ensure("c", {"vector": DIMENSION})
    for start in range(0, count, 40):
        await store.upsert("c", _rows(start, min(count, start + 40)))
    return store


def _files(folder: Path, ending: str) -> list[Path]:
    return sorted((folder / "c.files").glob(f"*.{ending}"))


async def _check(store: LocalStore, rows: list[IndexRow]) -> None:
    """The store gives what the rows give."""
    query = _vectors(1, 77)[0]
    scores = sorted((-float(row.dense["vector"] @ query), row.pk) for row in rows if row.dense)
    hits = await store.search("c", "vector", query, k=9)
    assert [hit.pk for hit in hits] == [pk for score, pk in scores if score < 0][:9]
    having = sorted(row.pk for row in rows if 3 in row.sparse["r"])
    assert [hit.pk for hit in await store.search("c", "r", {3: 1.0}, k=10**6)] == having
    assert await store.count("c") == len(rows)
    assert await store.count("c", Eq("group", 4)) == sum(row.fields["group"] == 4 for row in rows)
    scanned = await store.scan("c", limit=10**6)
    assert [(row.pk, row.fields, row.sparse) for row in scanned] == [
        (row.pk, row.fields, row.sparse) for row in rows
    ]
    for mine, theirs in zip(scanned, rows, strict=True):
        assert {name: v.tolist() for name, v in mine.dense.items()} == {
            name: v.tolist() for name, v in theirs.dense.items()
        }


async def test_rows_go_into_few_files_and_come_out_again(tmp_path: Path) -> None:
    store = await _filled(tmp_path, 1000)
    assert 1 <= len(_files(tmp_path, "seg")) <= 6
    for each in (store, LocalStore(tmp_path)):
        await _check(each, _rows_in_steps(1000))
    await store.optimize("c")
    assert len(_files(tmp_path, "seg")) == len(_files(tmp_path, "f32")) == 1
    await _check(store, _rows_in_steps(1000))


def _rows_in_steps(count: int) -> list[IndexRow]:
    return [row for start in range(0, count, 40) for row in _rows(start, min(count, start + 40))]


async def test_a_few_new_rows_are_all_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await _filled(tmp_path, 400, Limits(seal_rows=100))
    reader = LocalStore(tmp_path)
    assert await reader.count("c") == await store.count("c") == 400
    built: list[int] = []

    def noted(rows: Any) -> Any:
        built.append(len(rows))
        return build_segment(rows)

    monkeypatch.setattr(local_reading, "build_segment", noted)
    await store.upsert("c", _rows(400, 403))
    assert await reader.count("c", Range("group", 0, 9)) == 403
    await store.delete("c", In("pk", frozenset({"00001", "00401"})))
    assert await reader.count("c") == 401
    await store.upsert("c", _rows(5, 6))
    assert [hit.pk for hit in await reader.search("c", "r", {5: 1.0}, k=1)] == ["00005"]
    assert sum(built) <= 2 * (3 + 1)  # by the writer for its delete, and by the reader


async def test_rows_that_are_filled_again_and_again(tmp_path: Path) -> None:
    store = await _filled(tmp_path, 3)
    reader = LocalStore(tmp_path)
    rows = {row.pk: row for row in _rows(0, 3)}
    await _check(reader, list(rows.values()))
    for seed, pk in ((5, "00000"), (6, "00000"), (7, "00002")):
        rows[pk] = replace(rows[pk], dense={"vector": _vectors(1, seed)[0]})
        await store.fill("c", {pk: rows[pk].dense})
    for each in (reader, LocalStore(tmp_path)):
        await _check(each, list(rows.values()))
        assert (await each.stats("c")).filled == {"vector": 3}


async def test_dead_rows_leave_the_files(tmp_path: Path) -> None:
    store = await _filled(tmp_path, 1000)
    await store.optimize("c")
    before = (await store.stats("c")).bytes
    await store.delete("c", Range("group", 0, 8))
    rows = [row for row in _rows_in_steps(1000) if row.fields["group"] == 9]
    await _check(store, rows)
    await store.upsert("c", rows)
    await store.optimize("c")
    with sqlite3.connect(tmp_path / "c.db") as conn:
        assert conn.execute("SELECT count(*) FROM grave").fetchone() == (0,)
        assert conn.execute("SELECT count FROM route").fetchone() == (100,)
    conn.close()
    assert (await store.stats("c")).bytes < before
    for each in (store, LocalStore(tmp_path)):
        await _check(each, rows)


async def test_texts_that_are_too_long_for_a_column_are_still_filtered(tmp_path: Path) -> None:
    store = await _filled(tmp_path, 120)
    text = "long " * 100 + "7"
    assert [row.pk for row in await store.query("c", Eq("text", text), limit=9)] == ["00007"]
    found = await store.query("c", Prefix("text", text), limit=99)
    assert [row.pk for row in found] == ["00007", *(f"{at:05}" for at in range(70, 80))]
    assert await store.delete("c", And((Prefix("text", text), Eq("group", 1)))) == 1


@pytest.mark.parametrize("damage", ["gone", "cut", "garbage"])
async def test_lost_segments_are_made_anew(tmp_path: Path, damage: str) -> None:
    await _filled(tmp_path, 300)
    path = _files(tmp_path, "seg")[0]
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5] if damage == "cut" else b"garbage" * 50)
    store = LocalStore(tmp_path, limits=LIMITS)
    await _check(store, _rows_in_steps(300))
    await store.upsert("c", [])
    await _check(LocalStore(tmp_path), _rows_in_steps(300))


@pytest.mark.parametrize("damage", ["gone", "cut"])
async def test_lost_vectors_leave_the_rest_usable(tmp_path: Path, damage: str) -> None:
    await _filled(tmp_path, 100)
    (path,) = _files(tmp_path, "f32")
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"short")
    store = LocalStore(tmp_path, limits=LIMITS)
    await _check(store, _rows_without_vectors(100))
    stats = await store.stats("c")
    assert (stats.filled, stats.dimensions) == ({"vector": 0}, {"vector": DIMENSION})
    rows = _rows_in_steps(100)
    assert await store.fill("c", {row.pk: row.dense for row in rows}) == 100
    await _check(store, rows)


def _rows_without_vectors(count: int) -> list[IndexRow]:
    return [IndexRow(row.pk, row.fields, row.sparse) for row in _rows_in_steps(count)]


async def test_a_writer_alone_notices_lost_vectors(tmp_path: Path) -> None:
    store = await _filled(tmp_path, 80)
    _files(tmp_path, "f32")[0].unlink()
    _files(tmp_path, "seg")[0].unlink()
    await store.upsert("c", _rows(80, 120))
    await _check(LocalStore(tmp_path), [*_rows_without_vectors(80), *_rows(80, 120)])


async def test_damaged_vectors_are_found_by_optimize(tmp_path: Path) -> None:
    store = await _filled(tmp_path, 100)
    (path,) = _files(tmp_path, "f32")
    with path.open("r+b") as file:
        file.seek(64)
        file.write(b"\xff\x00\x11\x22")
    await store.optimize("c")
    assert (await store.stats("c")).filled == {"vector": 0}


async def test_many_vectors_are_searched_by_lists(tmp_path: Path) -> None:
    limits = Limits(seal_rows=500, exact_rows=1000)
    store = LocalStore(tmp_path, limits=limits)
    await store.ensure("c", {"vector": DIMENSION})
    vectors = _vectors(6000)
    rows = [IndexRow(f"{at:05}", {"group": at % 4}, {}, {"vector": v}) for at, v in enumerate(vectors)]
    for start in range(0, 5800, 500):
        await store.upsert("c", rows[start : min(5800, start + 500)])
    with sqlite3.connect(tmp_path / "c.db") as conn:
        assert conn.execute("SELECT count(*) FROM route WHERE centres IS NOT NULL").fetchone() == (1,)
    conn.close()
    await store.upsert("c", rows[5800:])  # these are in no list yet
    await store.delete("c", Eq("pk", "00000"))
    queries = _vectors(30, 9)
    for where in (None, Eq("group", 1), In("pk", frozenset(f"{at:05}" for at in range(0, 6000, 100)))):
        kept = [row for row in rows[1:] if where is None or row.fields["group"] == 1]
        if isinstance(where, In):
            kept = [row for row in rows[1:] if row.pk in where.values]
        hits = 0
        for query in queries:
            best = sorted((-float(row.dense["vector"] @ query), row.pk) for row in kept)[:10]
            found = await LocalStore(tmp_path).search("c", "vector", query, k=10, where=where)
            hits += len({pk for _, pk in best} & {hit.pk for hit in found})
        assert hits >= 0.95 * 10 * len(queries)
    assert await store.fill("c", {"00001": {"vector": queries[0]}}) == 1
    assert (await store.search("c", "vector", queries[0], k=1))[0].pk == "00001"
    assert (await store.stats("c")).filled == {"vector": 5999}


async def test_reading_and_writing_while_files_are_merged(tmp_path: Path) -> None:
    """Small limits: files come and go all the time under the eyes of readers of two stores."""
    limits = Limits(seal_rows=5, exact_rows=60)
    writers = [LocalStore(tmp_path, limits=limits) for _ in range(2)]
    readers = [LocalStore(tmp_path, limits=limits) for _ in range(2)]
    await writers[0].ensure("c", {"vector": DIMENSION})
    rows = _rows_in_steps(240)
    done = asyncio.Event()

    async def write(number: int) -> None:
        for at in range(number, 240, 2):
            row = rows[at]
            await writers[number].upsert("c", [IndexRow(row.pk, row.fields, row.sparse)])
            assert await writers[number].fill("c", {row.pk: row.dense}) == 1

    async def read(store: LocalStore) -> None:
        while not done.is_set():
            found = await store.search("c", "r", {99: 2.0}, k=10**6)
            assert len(found) <= await store.count("c")
            assert await store.search("c", "vector", rows[0].dense["vector"], k=3) is not None

    reading = [asyncio.create_task(read(store)) for store in readers]
    await asyncio.gather(write(0), write(1))
    done.set()
    await asyncio.gather(*reading)
    for store in (*readers, LocalStore(tmp_path, limits=Limits(exact_rows=10**6))):
        assert [row.pk for row in await store.scan("c", vectors=False)] == [row.pk for row in rows]
        stats = await store.stats("c")
        assert (stats.rows, stats.filled) == (240, {"vector": 240})
        for row in rows[::40]:
            best = await store.search("c", "vector", row.dense["vector"], k=1)
            assert best[0].score == pytest.approx(1.0, abs=1e-5)
