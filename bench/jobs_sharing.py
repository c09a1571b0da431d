"""What fair sharing of workers costs, and what it brings: `python bench/jobs_sharing.py`.

One space has many due jobs, others have few. Jobs are taken four at a time on SQLite. The floor is the same
table with the jobs of one space alone, where nothing is shared. CPU time of the claimer, and how many jobs of
the crowd are taken before the last job of the small spaces is.
"""

import argparse
import asyncio
import resource
import tempfile
from dataclasses import asdict, dataclass
from datetime import timedelta

from jobs_claims import REGISTRY
from measure import print_table, write_json

from kosmos.db import Database, spaces, users
from kosmos.db.migrate import ensure_current
from kosmos.domain.accounts import User
from kosmos.domain.clock import system_clock
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import NewJob
from kosmos.domain.spaces import Space
from kosmos.jobs.claiming import Claimer
from kosmos.jobs.creation import create_jobs

SLOTS = 4
CLAIMS = 4000
FEW = 10
CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured for one mix of spaces."""

    crowd: int
    small_spaces: int
    cpu_microseconds: float
    taken_before_last: int | None  # jobs of the crowd before the last of a small space


async def make_spaces(db: Database, count: int) -> list[str]:
    """So many spaces of one user."""
    now = system_clock()
    owner = User(new_id(), "bench", False, now)
    made = [Space(new_id(), owner.id, f"space {number}", "", {}, {}, now, now) for number in range(count)]
    async with db.write() as conn:
        await users.insert_user(conn, owner)
        for space in made:
            await spaces.insert_space(conn, space)
    return [space.id for space in made]


async def add_jobs(db: Database, space: str, count: int) -> None:
    """So many due jobs of a space."""
    for start in range(0, count, CHUNK):
        wanted = [NewJob("nothing", space_id=space)] * min(CHUNK, count - start)
        async with db.write() as conn:
            await create_jobs(conn, REGISTRY, wanted, system_clock())


async def measure(url: str, crowd: int, small: int) -> Found:
    """Take jobs until so many are taken."""
    db = Database(url)
    await ensure_current(db, upgrade=True)
    first, *others = await make_spaces(db, small + 1)
    await add_jobs(db, first, crowd)
    for space in others:
        await add_jobs(db, space, FEW)
    claimer = Claimer(db, system_clock, "bench", timedelta(hours=1), {})
    await claimer.claim(0)
    before, order = resource.getrusage(resource.RUSAGE_SELF), list[str | None]()
    while len(order) < CLAIMS:
        order += [job.space_id for job in await claimer.claim(SLOTS)]
    after = resource.getrusage(resource.RUSAGE_SELF)
    await db.close()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    places = [number for number, space in enumerate(order) if space != first]
    whole = len(places) == small * FEW and small > 0
    last = places[-1] + 1 - len(places) if whole else None
    return Found(crowd, small, used / CLAIMS * 1e6, last)


def main() -> None:
    """Measure, print, write `bench/results/jobs_sharing.json`."""
    parser = argparse.ArgumentParser(description="What sharing workers among spaces costs.")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="kosmos-bench-") as folder:
        for crowd in (10_000, 100_000):
            for small in (0, 1, 20):
                tried = [
                    asyncio.run(measure(f"sqlite:///{folder}/{crowd}-{small}-{number}.db", crowd, small))
                    for number in range(options.rounds)
                ]
                rows.append(sorted(tried, key=lambda found: found.cpu_microseconds)[len(tried) // 2])
    floors = {row.crowd: row.cpu_microseconds for row in rows if not row.small_spaces}
    shown = [
        [
            f"{row.crowd:,}",
            str(row.small_spaces),
            f"{row.cpu_microseconds:.0f}",
            f"{row.cpu_microseconds / floors[row.crowd]:.2f}",
            "" if row.taken_before_last is None else f"{row.taken_before_last:,}",
        ]
        for row in rows
    ]
    columns = [
        "due in one space",
        "others with 10",
        "CPU us per claim",
        "x floor",
        "of the crowd before the last",
    ]
    print_table("Claims, four at a time, SQLite", columns, shown)
    file = write_json(
        "jobs_sharing", {"slots": SLOTS, "claims": CLAIMS, "rows": [asdict(row) for row in rows]}
    )
    print(f"written: bench/results/{file.name}")


if __name__ == "__main__":
    main()
