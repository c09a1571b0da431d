"""`make load`: many users on two servers and three workers, while what these stand on is killed.

Real processes on PostgreSQL with pgvector and Redis. Users upload, search and ask; workers, Redis, PostgreSQL
and a server get killed and come back. In the end everything that a server has confirmed is held against what
is stored. It exits with 1 when anything is lost or doubled, when a request fails though nothing was away, or
when the p95 of search is more than twice the idle one.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from chaos_servers import Postgres, Redis, postgres, redis_server
from load_client import Client, Record
from load_crew import SERVERS, Crew, Meter, Place, free_port, run_command, until_ready
from load_ledger import Ledger
from load_proof import judge, settle
from load_report import SHOWN, Outcome, as_json, print_report
from load_stage import Stage, search_idly
from load_strikes import Target, living, plan, strike_on
from load_users import MIX, User

from kosmos.app import App, open_app
from kosmos.config import Settings


def main() -> None:
    """Set the stage, let the storm blow, tell what came of it."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="kosmos-load-"))
    with ExitStack() as stack:
        database = stack.enter_context(postgres(folder))
        redis = stack.enter_context(redis_server(folder))
        ports = tuple(free_port() for _ in range(SERVERS))
        place = Place(folder, database.url, redis.url, ports, free_port())
        crew = Crew(place, options.workers)
        stack.callback(crew.stop)
        outcome = asyncio.run(Load(options, crew, database, redis).run())
    print_report(outcome)
    if options.json:
        options.json.write_text(json.dumps(as_json(outcome), indent=1, ensure_ascii=False), encoding="utf-8")
    wrong = outcome.violations(strict=not options.loose)
    for line in wrong[:SHOWN]:
        print(f"VIOLATED: {line}")
    if wrong:
        print(f"{len(wrong)} in all (look into {folder}, repeat with --seed {options.seed})")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(bool(wrong))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--think", type=float, default=40.0, help="seconds between two things a user does")
    parser.add_argument("--documents", type=int, default=240, help="that are there before")
    parser.add_argument("--idle", type=int, default=30, help="searches of each of four users before")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--no-kills", action="store_true")
    parser.add_argument("--once", action="store_true", help="strike each thing a single time")
    parser.add_argument("--loose", action="store_true", help="do not judge how long searches take")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


class Load:
    """One run."""

    def __init__(self, options: argparse.Namespace, crew: Crew, database: Postgres, redis: Redis) -> None:
        self._options = options
        self._crew = crew
        self._database = database
        self._redis = redis
        self._record = Record()
        self._ledger = Ledger()
        self._meter = Meter()
        self._rng = random.Random(options.seed)  # noqa: S311  (repeatable on purpose)

    async def run(self) -> Outcome:
        """Everything from the first account to the proof."""
        options, place = self._options, self._crew.place
        for base in place.bases:
            await until_ready(base)
        client = Client(place.bases, self._record, options.seed)
        home = {"home": place.home, "database_url": place.database, "index_url": place.database}
        try:
            async with open_app(Settings.model_validate(home)) as app:
                users = await self._prepare(client, app)
                began = await search_idly(users, options.idle)
                idle = (began, time.monotonic())
                strikes, storm, cpu = await self._storm(users)
                verdict = await judge(app, self._ledger)
        finally:
            await client.close()
        return Outcome(
            users=options.users,
            seconds=storm[1] - storm[0],
            seed=options.seed,
            record=self._record,
            idle=idle,
            storm=storm,
            verdict=verdict,
            mix=MIX,
            think=options.think,
            strikes=strikes,
            cpu=cpu,
            crashes=self._crew.crashes,
            gave_up=[line for user in users for line in user.gave_up],
            verified=self._verify(),
            uploads=self._ledger.uploads,
        )

    async def _prepare(self, client: Client, app: App) -> list[User]:
        place, began = self._crew.place, time.monotonic()
        token = (place.home / "token").read_text(encoding="ascii").strip()
        stage = Stage(place, client, self._ledger, self._rng, token)
        await stage.add_model()
        library = await stage.add_library(self._options.documents)
        users = await stage.add_users(self._options.users, library)
        if left := await settle(app):
            raise RuntimeError(f"the library was not taken in: {left[:3]}")
        _say(f"{self._options.documents} documents and {len(users)} users are there", began)
        return users

    async def _storm(self, users: list[User]) -> tuple[list[str], tuple[float, float], dict[str, float]]:
        """Let all users live for as long as it was asked for, and strike meanwhile."""
        options, began = self._options, time.monotonic()
        seconds = 60 * options.minutes
        before, own = self._read_meter(), time.process_time()
        target = Target(self._crew, self._database, self._redis, self._record, self._meter, self._rng)
        strikes = [] if options.no_kills else plan(target, seconds, once=options.once)
        tending = asyncio.create_task(self._crew.tend_on())
        striking = asyncio.create_task(strike_on(strikes))
        await asyncio.gather(*(user.live(began + seconds, options.think) for user in users))
        struck = await striking
        tending.cancel()
        ended = time.monotonic()
        taken = {group: seconds - before[group] for group, seconds in self._read_meter().items()}
        _say("the storm is over", began)
        return struck, (began, ended), {**taken, "clients": time.process_time() - own}

    def _read_meter(self) -> dict[str, float]:
        return self._meter.read(living(self._crew, self._database, self._redis))

    def _verify(self) -> str:
        try:
            return run_command(self._crew.place, "verify").stdout.strip().split("\n")[-1]
        except RuntimeError as error:
            return f"VERIFY FAILED: {error}"


def _say(what: str, began: float) -> None:
    sys.stderr.write(f"{what} ({time.monotonic() - began:.0f} s)\n")


if __name__ == "__main__":
    main()
