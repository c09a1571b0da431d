"""LocalStore between processes: what one writes the other sees, and a killed one leaves no trace."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kosmos.store.filters import Eq
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow

WRITER = """
import asyncio, sys
from pathlib import Path
from kosmos.store.filters import Eq
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow

async def main() -> None:
    store = LocalStore(Path(sys.argv[1]))
    name = sys.argv[2]
    for step in range(int(sys.argv[3])):
        await store.upsert("c", [IndexRow(f"{name}-{step}", {"by": name}, {"r": {7: 1.0}})])
    await store.delete("c", Eq("pk", "parent"))

asyncio.run(main())
"""

# Stops for ever at the named statement of a change.
STUCK = """
import asyncio, sqlite3, sys, time
from pathlib import Path
from kosmos.store.filters import And
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow

class Stuck(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql.startswith(sys.argv[2]):
            print("stuck", flush=True)
            time.sleep(60)
        return super().execute(sql, *rest)

connect = sqlite3.connect
sqlite3.connect = lambda *args, **kw: connect(*args, **kw, factory=Stuck)
store = LocalStore(Path(sys.argv[1]))
rows = [IndexRow(f"{number:05}", {"text": "new " * 100}, {"r": {7: 9.0}}) for number in range(3000)]
asyncio.run(store.delete("c", And(())) if sys.argv[3] == "delete" else store.upsert("c", rows))
"""


def _rows(count: int) -> list[IndexRow]:
    return [IndexRow(f"{number:05}", {"text": "old"}, {"r": {7: 1.0}}) for number in range(count)]


def _kill_in_the_middle(folder: Path, statement: str, change: str) -> None:
    command = [sys.executable, "-c", STUCK, str(folder), statement, change]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stuck\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


async def test_a_second_process_is_seen(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    await store.upsert("c", [IndexRow("parent", {}, {"r": {7: 1.0}})])
    assert [item.pk for item in await store.search("c", "r", {7: 1.0}, k=9)] == ["parent"]
    command = [sys.executable, "-c", WRITER, str(tmp_path), "child", "2"]
    await asyncio.to_thread(subprocess.run, command, check=True)
    assert [item.pk for item in await store.search("c", "r", {7: 1.0}, k=9)] == ["child-0", "child-1"]
    assert (await store.term_counts("c", "r", [7])).counts == {7: 2}


async def test_processes_write_a_new_collection_at_once(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", WRITER, str(tmp_path), f"p{number}", "20"] for number in range(4)]
    runs = [asyncio.to_thread(subprocess.run, command, check=True) for command in commands]
    await asyncio.gather(*runs)
    store = LocalStore(tmp_path)
    assert await store.count("c") == 80
    assert await store.delete("c", Eq("by", "p1")) == 20


@pytest.mark.parametrize(("statement", "change"), [("UPDATE state", "upsert"), ("COMMIT", "upsert")])
async def test_a_writer_killed_in_the_middle_leaves_the_old_state(
    tmp_path: Path, statement: str, change: str
) -> None:
    store = LocalStore(tmp_path)
    await store.upsert("c", _rows(10))
    _kill_in_the_middle(tmp_path, statement, change)
    for reader in (store, LocalStore(tmp_path)):
        assert await reader.scan("c") == _rows(10)
        assert {item.score for item in await reader.search("c", "r", {7: 1.0}, k=99)} == {1.0}
    await store.upsert("c", [IndexRow("after", {}, {"r": {7: 1.0}})])
    assert await LocalStore(tmp_path).count("c") == 11


async def test_a_killed_delete_deletes_nothing(tmp_path: Path) -> None:
    await LocalStore(tmp_path).upsert("c", _rows(10))
    _kill_in_the_middle(tmp_path, "COMMIT", "delete")
    assert await LocalStore(tmp_path).scan("c") == _rows(10)


@pytest.mark.parametrize("statement", ["PRAGMA journal_mode", "BEGIN IMMEDIATE"])
async def test_a_process_killed_while_it_makes_a_collection(tmp_path: Path, statement: str) -> None:
    _kill_in_the_middle(tmp_path, statement, "upsert")
    store = LocalStore(tmp_path)
    assert await store.count("c") == 0
    await store.upsert("c", _rows(3))
    assert await store.scan("c") == _rows(3)
