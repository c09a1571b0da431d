"""Kosmos as users have it, for `bench/peers.py`: `peers_kosmos.py JOB`. Does nothing when run without it.

`add` is the very command, with the encoder watched; `stages` adds the same files stage by stage without
encoding; `ask` searches the home that `add` has made, in a process of its own.
"""

import asyncio
import contextlib
import gc
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ingest_stages import measure_stages
from peers_meter import cpu_seconds, watch_encoder

from kosmos.accounts.access import resolve_space
from kosmos.app import open_app
from kosmos.cli.main import run as run_command
from kosmos.config import Settings
from kosmos.retrieval.search import Wanted
from kosmos.tasks.finding import find

WARM = 3
MODES: dict[str, dict[str, float] | None] = {"dense": {"sparse_vector": 0, "title_sparse": 0}, "hybrid": None}


def add(job: dict[str, Any]) -> dict[str, Any]:
    """The command `kosmos add`, until everything can be found by words and by meaning."""
    encoded = watch_encoder()
    sys.argv = ["kosmos", "add", job["docs"], "--wait-dense", "--json"]
    with contextlib.suppress(SystemExit):
        run_command()
    return {"encoded": vars(encoded)}


def stages(job: dict[str, Any]) -> dict[str, Any]:
    """Entering, converting, chunking and indexing by words, each on its own."""
    paths = [Path(job["docs"]) / name for name in job["pages"]]
    made = asyncio.run(measure_stages(paths, Path(job["folder"])))
    return {"stages": made.seconds, "failures": made.failures}


def ask(job: dict[str, Any]) -> dict[str, Any]:
    """All questions by each mode."""
    return asyncio.run(_ask(job))


async def _ask(job: dict[str, Any]) -> dict[str, Any]:
    encoded, before = watch_encoder(), cpu_seconds()
    async with open_app(Settings(home=Path(job["folder"]), encoder_threads=1)) as app:
        who = await app.local_user()
        async with app.bench.db.read() as conn:
            space = (await resolve_space(conn, who, "default")).space.id
        opened, asked = cpu_seconds() - before, {}

        async def put(questions: Iterable[str], routes: dict[str, float] | None) -> list[list[str]]:
            wishes = [Wanted(question, k=job["count"], routes=routes) for question in questions]
            found = [await find(app.bench, who, wish, space_ids=[space]) for wish in wishes]
            return [[hit.source for hit in each.hits] for each in found]

        for mode, routes in MODES.items():
            await put(job["questions"][:WARM], routes)
            gc.collect()
            before, encoding = cpu_seconds(), encoded.seconds
            found = await put(job["questions"], routes)
            spent, encoding = cpu_seconds() - before, encoded.seconds - encoding
            asked[mode] = {"cpu": spent, "encode": encoding, "found": found}
    return {"open": opened, "modes": asked, "encoded": vars(encoded)}


TASKS = {"ingest": add, "start": add, "stages": stages, "ask": ask}


def main(file: Path) -> None:
    """Do the task."""
    job = json.loads(file.read_text(encoding="utf-8"))
    made = TASKS[job["task"]](job)
    Path(job["result"]).write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__" and len(sys.argv) == 2:
    main(Path(sys.argv[1]))
