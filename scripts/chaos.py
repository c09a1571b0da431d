"""`make chaos`: real workers are killed and frozen, their servers restarted; no line may be lost or doubled.

Workers run on SQLite, on PostgreSQL, and under Dramatiq with Redis. It prints one line for each and exits
with 1 when anything was lost, done twice, written without holding the job, or called more often than
the strikes explain: each kill, freeze or restart may cost at most one repeated call for each job in hand.
"""

import argparse
import asyncio
import contextlib
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from chaos_crew import Setting
from chaos_ledger import Verdict
from chaos_recovery import LONGEST, measure_recovery
from chaos_servers import Redis, postgres, redis_server
from chaos_storm import Plan, Send, Storm, Strike

RUNNERS = ("sqlite", "postgres", "dramatiq")


def main() -> None:
    """Run the storm over each of the runners that were asked for."""
    options = _options()
    runners = RUNNERS if options.runner == "all" else (options.runner,)
    passed = [_run(runner, options) for runner in runners]
    sys.exit(not all(passed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--runner", choices=(*RUNNERS, "all"), default="all")
    parser.add_argument("--truth", choices=("sqlite", "postgres"), default="postgres", help="under Dramatiq")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--freezes", type=int, default=30)
    parser.add_argument("--restarts", type=int, default=4, help="of each kind of strike against servers")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--slots", type=int, default=1, help="jobs that a worker runs at once")
    parser.add_argument("--lease", type=float, default=3.0, help="seconds; the product's default is 10")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--loose", action="store_true", help="a busy machine lets leases run out by itself")
    parser.add_argument("--no-recovery", action="store_true", help="do not measure how fast a job comes back")
    return parser.parse_args()


def _run(runner: str, options: argparse.Namespace) -> bool:
    """One runner: the storm, then how long a job waits whose worker was killed."""
    folder = Path(tempfile.mkdtemp(prefix=f"kosmos-chaos-{runner}-"))
    with contextlib.ExitStack() as stack:
        setting, strikes, send = _prepare(runner, options, folder, stack)
        plan = Plan(options.kills, options.freezes, options.workers, options.seed, strikes)
        began = time.monotonic()
        verdict = asyncio.run(Storm(setting, plan, send).run())
        _report(runner, plan, setting, verdict, time.monotonic() - began)
        wrong = verdict.violations(verdict.takeovers if options.loose else _strikes(plan) * setting.slots)
        if not options.no_recovery:
            wrong += _recover(runner, setting)
    if wrong:
        print(f"VIOLATED: {'; '.join(wrong)} (look into {folder}, repeat with --seed {options.seed})")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return not wrong


def _prepare(
    runner: str, options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack
) -> tuple[Setting, dict[str, Sequence[Strike]], Send | None]:
    """Start the servers that the runner needs; how to reach them, and how to strike them."""
    url, redis_url = f"sqlite:///{folder}/kosmos.db", ""
    strikes: dict[str, Sequence[Strike]] = {}
    send = None
    if "postgres" in (runner, options.truth if runner == "dramatiq" else ""):
        server = stack.enter_context(postgres(folder))
        url = server.url
        modes = itertools.cycle(("fast", "immediate"))
        strikes["postgres_restarts"] = [lambda: server.restart(next(modes))] * options.restarts
    if runner == "dramatiq":
        redis = stack.enter_context(redis_server(folder))
        redis_url, send = redis.url, _sender(redis)
        strikes["redis_flushes"] = [redis.flush] * options.restarts
        strikes["redis_restarts"] = [lambda: _bounce(redis)] * options.restarts
    return Setting(url, folder, options.lease, options.slots, redis_url), strikes, send


def _bounce(redis: Redis) -> None:
    redis.kill()
    time.sleep(1.0)
    redis.start()


def _sender(redis: Redis) -> Send:
    from redis.exceptions import RedisError

    from kosmos.jobs.dramatiq_runner import make_broker, send

    broker = make_broker(redis.url)

    def wake(ids: list[str]) -> None:
        with contextlib.suppress(RedisError):  # the sweeper sends what could not be sent
            send(broker, ids)

    return wake


def _report(runner: str, plan: Plan, setting: Setting, verdict: Verdict, seconds: float) -> None:
    struck = " ".join(f"{name}={len(strikes)}" for name, strikes in plan.strikes.items())
    print(
        f"runner={runner} jobs={verdict.jobs} kills={plan.kills} freezes={plan.freezes}",
        *([struck] if struck else []),
        f"lost={verdict.lost} duplicated={verdict.duplicated} repeated_calls={verdict.repeated_calls}",
        f"stale={verdict.stale} unfinished={verdict.unfinished} takeovers={verdict.takeovers}",
        f"workers={plan.workers} slots={setting.slots} lease={setting.lease:g}s seed={plan.seed}",
        f"seconds={seconds:.0f}",
        flush=True,
    )


def _strikes(plan: Plan) -> int:
    """How often a worker was struck; a restart of the database strikes them all."""
    return plan.kills + plan.freezes + len(plan.strikes.get("postgres_restarts", ())) * plan.workers


def _recover(runner: str, setting: Setting) -> list[str]:
    lease, seconds = asyncio.run(measure_recovery(setting))
    print(f"runner={runner} lease={lease:g}s killed_job_runs_again_after={seconds:.1f}s", flush=True)
    return [f"a killed job came back after {seconds:.1f} s"] if seconds > LONGEST else []


if __name__ == "__main__":
    main()
