"""Fuzzes the whole HTTP API with schemathesis: `fuzz_api.py [--cases 43000] [--seed 1] [--as owner,viewer]`.

A real instance; a silent victim with marked things; an owner of other things, a viewer of one of the victim's
spaces, a stranger and nobody send what schemathesis makes of the schema: data that fits it, data that does
not, what lies on its limits, and chains of requests in which one answer feeds the next.

No answer may be an error of the server's own, break a promise of the schema, show anything of the victim to
those whom it does not concern, or tell a stranger what is there from what is not. Exit 1 where one does.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fuzzing.api_run import ACTORS, Plan, fuzz  # noqa: E402
from fuzzing.fences import stay_on_loopback  # noqa: E402
from fuzzing.scene import Scene  # noqa: E402
from fuzzing.servers import new_postgres  # noqa: E402
from fuzzing.tally import Tally  # noqa: E402

from acceptance.http.serving import Served  # noqa: E402
from kosmos.config import load_settings  # noqa: E402

ENVIRON = {
    "KOSMOS_MAX_BODY_BYTES": str(2**20),
    "KOSMOS_WORKER_SLOTS": "0",  # jobs stay where a request has put them
    "KOSMOS_FETCH_ALLOW_HOSTS": "127.0.0.1:9",
    "KOSMOS_ENCODER": "none",
    "KOSMOS_RATE_LIMIT": "0",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run, report, and return the exit code."""
    options = _options(argv)
    logging.basicConfig(filename=options.log or os.devnull, level=logging.ERROR)
    stay_on_loopback()
    tally, began, spent = Tally(), time.time(), time.process_time()
    plan = Plan(options.cases, options.seed, tuple(options.actors.split(",")), options.sockets)
    facts = {"seed": plan.seed, "actors": plan.actors, "postgres": options.postgres, "sockets": plan.sockets}

    def note() -> None:
        spending = {"seconds": round(time.time() - began), "cpu_seconds": round(time.process_time() - spent)}
        facts.update(spending)
        if options.report:
            tally.write(options.report, facts)

    with _scene(postgres=options.postgres) as scene:
        fuzz(scene, plan, tally, note)
        for what in scene.intact():
            tally.report("all", "the victim has lost something", what)
    note()
    print(tally.table("operation"))
    print(" ".join(f"{name}={value}" for name, value in facts.items()))
    return 1 if tally.found else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=43_000, help="About so many requests.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--as", dest="actors", default=",".join(ACTORS), help="Who sends them.")
    parser.add_argument("--sockets", action="store_true", help="Over TCP, which costs thrice as much.")
    parser.add_argument("--postgres", action="store_true", help="On PostgreSQL in place of SQLite.")
    parser.add_argument("--log", type=Path, help="A file for what the server writes.")
    parser.add_argument("--report", type=Path, help="A file for the same as JSON.")
    return parser.parse_args(argv)


@contextmanager
def _scene(*, postgres: bool) -> Iterator[Scene]:
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="kosmos-fuzz-"))
        environ = {**ENVIRON, "KOSMOS_HOME": home}
        if postgres:
            environ["KOSMOS_DATABASE_URL"] = stack.enter_context(new_postgres())
        yield Scene(stack.enter_context(Served(load_settings(environ))))


if __name__ == "__main__":
    raise SystemExit(main())
