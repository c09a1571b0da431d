"""LocalStore killed at any moment, again and again, while rows, vectors and files are written."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kosmos.store.local import LocalStore
from kosmos.store.local_upkeep import Limits
from kosmos.store.rows import Dense

KILLS = int(os.environ.get("KOSMOS_KILLS", "4"))
# Upserts and fills rows whose vectors tell their number; small limits: files are merged all the time.
WRITER = """
import asyncio, sys
from pathlib import Path
from kosmos.store.filters import Eq
from kosmos.store.local import LocalStore
from kosmos.store.local_upkeep import Limits
from kosmos.store.rows import IndexRow
sys.path.insert(0, sys.argv[2])
from test_local_kills import vector

async def main() -> None:
    store = LocalStore(Path(sys.argv[1]), limits=Limits(seal_rows=5, exact_rows=30))
    await store.ensure("c", {"vector": 8})
    at = int(sys.argv[3])
    while True:
        dense = {"vector": vector(at)} if at % 2 else {}
        await store.upsert("c", [IndexRow(f"{at:06}", {"n": at}, {"r": {7: 1.0}}, dense)])
        await store.fill("c", {f"{at:06}": {"vector": vector(at)}})
        if at % 4 == 0:
            await store.delete("c", Eq("n", at))
        print(at, flush=True)
        at += 1

asyncio.run(main())
"""


def vector(number: int) -> Dense:
    """A vector of unit length that no other number has."""
    made = np.random.default_rng(number).standard_normal(8)
    return np.asarray(made / np.linalg.norm(made), np.float32)


def _run_and_kill(folder: Path, start: int, seconds: float) -> int:
    """How far the writer came for sure."""
    command = [sys.executable, "-c", WRITER, str(folder), str(Path(__file__).parent), str(start)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{start}\n".encode()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        rest = [line for line in process.stdout.read().split(b"\n") if line.isdigit()]
    return int(rest[-1]) if rest else start


async def _check(folder: Path, done: int) -> None:
    """What was acknowledged is there, and every row is whole."""
    store = LocalStore(folder, limits=Limits(exact_rows=10**6))
    rows = await store.scan("c", limit=10**6)
    numbers = [int(row.pk) for row in rows]
    assert {at for at in range(done + 1) if at % 4} <= set(numbers)
    assert [at for at in numbers if at % 4 == 0 and at <= done] == []
    for row in rows:
        if int(row.pk) <= done or row.dense:
            assert row.dense["vector"].tolist() == vector(int(row.pk)).tolist()
    assert [hit.pk for hit in await store.search("c", "r", {7: 1.0}, k=10**6)] == [row.pk for row in rows]
    for at in [at for at in numbers if at <= done][-3:]:
        best = await store.search("c", "vector", vector(at), k=1)
        assert best[0].pk == f"{at:06}"
    await store.optimize("c")
    assert await store.count("c") == len(rows)
    assert (await store.stats("c")).filled["vector"] == sum(bool(row.dense) for row in rows)


@pytest.mark.timeout(600)
async def test_a_store_survives_kills(tmp_path: Path) -> None:
    chance = random.Random(KILLS)
    start = 0
    for _ in range(KILLS):
        done = _run_and_kill(tmp_path, start, chance.uniform(0.05, 1.0))
        await _check(tmp_path, done)
        start = done + 1  # what was begun is done again
