"""What is killed in a load run, and when; each time something was away is noted. Does nothing when run."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chaos_servers import Postgres, Redis
from load_client import Absence, Record
from load_crew import Crew, Meter, until_ready

WORKER_SECONDS = 40.0  # between two kills of workers
REDIS_AWAY = 2.0
# Shares of the storm after which each is struck.
REDIS_AT = (0.2, 0.65)
POSTGRES_AT = (0.35, 0.75)
API_AT = (0.5,)

Strike = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Target:
    """Everything that can be struck, and the record that must know of it."""

    crew: Crew
    postgres: Postgres
    redis: Redis
    record: Record
    meter: Meter
    rng: random.Random

    async def strike_worker(self) -> None:
        """Kill -9 one of the workers; another one starts at once."""
        name = self.rng.choice([name for name in self.crew.members if name.startswith("worker")])
        await asyncio.to_thread(self._kill, name)

    async def strike_api(self) -> None:
        """Kill -9 one of the servers and start it again."""
        number = self.rng.randrange(len(self.crew.place.bases))
        with self._away(f"api{number}"):
            await asyncio.to_thread(self._kill, f"api{number}")
            await until_ready(self.crew.place.bases[number])

    async def strike_redis(self) -> None:
        """Kill Redis, and with it all it knows; start it a little later."""
        with self._away("redis"):
            self.meter.note_end("redis", self.redis.process.pid)
            self.redis.kill()
            await asyncio.sleep(REDIS_AWAY)
            await asyncio.to_thread(self.redis.start)

    async def strike_postgres(self) -> None:
        """Restart PostgreSQL as after a crash."""
        with self._away("postgres"):
            self.meter.note_end("postgres", postmaster(self.postgres))
            await asyncio.to_thread(self.postgres.restart, "immediate")

    def _kill(self, name: str) -> None:
        member = self.crew.members[name]
        self.meter.note_end(member.group, member.process.pid)
        member.kill()
        member.start()

    @contextmanager
    def _away(self, what: str) -> Iterator[None]:
        absence = Absence(what, time.monotonic())
        self.record.absences.append(absence)
        yield
        absence.until = time.monotonic()


def postmaster(server: Postgres) -> int:
    """The process number of the server, as it stands in its folder."""
    return int(server.pid_file.read_text(encoding="ascii").split("\n")[0])


def plan(target: Target, seconds: float, *, once: bool) -> list[tuple[float, str, Strike]]:
    """When what is struck, from the beginning of the storm; with `once`, each thing a single time."""
    shares = {"redis": REDIS_AT, "postgres": POSTGRES_AT, "api": API_AT}
    strikes: dict[str, Strike] = {
        "redis": target.strike_redis,
        "postgres": target.strike_postgres,
        "api": target.strike_api,
    }
    found = [
        (share * seconds, name, strikes[name])
        for name, several in shares.items()
        for share in (several[:1] if once else several)
    ]
    workers = 1 if once else int(seconds / WORKER_SECONDS)
    every = seconds / (workers + 1)
    found += [((number + 1) * every, "worker", target.strike_worker) for number in range(workers)]
    return sorted(found, key=lambda item: item[0])


async def strike_on(strikes: list[tuple[float, str, Strike]]) -> list[str]:
    """Strike when it is time; what was struck."""
    began = time.monotonic()
    done: list[str] = []
    for after, name, strike in strikes:
        await asyncio.sleep(max(0.0, began + after - time.monotonic()))
        await strike()
        done.append(f"{name}@{time.monotonic() - began:.0f}s")
    return done


def living(crew: Crew, postgres: Postgres, redis: Redis) -> dict[str, list[int]]:
    """The processes of the run by group."""
    return crew.groups() | {"postgres": [postmaster(postgres)], "redis": [redis.process.pid]}
