"""What it takes until a folder is searched: by words when `add` returns, by meaning with all vectors.

    python bench/filling.py FOLDER [--every 6] [--kills 2]

The floor is the bare model on the texts that were encoded, their tokens found already. The worker that makes
the vectors is killed on the way; `kosmos verify` has the last word. All times are CPU time of all processes.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from encode import windows
from measure import print_table, run_child, write_json

from kosmos.accounts.access import resolve_space
from kosmos.app import open_app
from kosmos.config import load_settings
from kosmos.encoders.minilm import load_minilm
from kosmos.encoders.weights import REMEDY, find_weights
from kosmos.jobs.worker import LEASE
from kosmos.tasks.documents import list_documents
from kosmos.tasks.filling import read_passages

KOSMOS = (sys.executable, "-m", "kosmos")
GRACE = 20.0


def copy_some(source: Path, target: Path, every: int) -> int:
    """Every so-manieth Markdown file of a folder, under its own path; how many."""
    chosen = sorted(source.rglob("*.md"))[::every]
    for file in chosen:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    return len(chosen)


async def encoded_texts(home: Path) -> list[str]:
    """The texts of all dense routes of the one space, as the job reads them."""
    texts: dict[str, None] = {}
    async with open_app(load_settings({"KOSMOS_HOME": str(home), "KOSMOS_ENCODER": "none"})) as app:
        who = await app.local_user()
        async with app.bench.db.read() as conn:
            space = (await resolve_space(conn, who, "default")).space.id
        after = ""
        while batch := await list_documents(app.bench, who, space, after=after, limit=1000):
            for document in batch:
                for routes in (await read_passages(app.bench, document)).values():
                    texts |= dict.fromkeys(routes.values())
            after = batch[-1].id
    return list(texts)


def kosmos(home: Path, *arguments: str, encoder: str = "builtin") -> float:
    """CPU seconds of a command."""
    made = run_child([*KOSMOS, *arguments], {"KOSMOS_HOME": str(home), "KOSMOS_ENCODER": encoder})
    if made.exit_code:
        raise SystemExit(f"kosmos {' '.join(arguments)} failed: {made.stderr[-2000:]}")
    return made.cpu_seconds


def killed(home: Path, seconds: float) -> float:
    """CPU seconds of a worker that is killed after a while, with all its children."""
    environment = {**os.environ, "KOSMOS_HOME": str(home)}
    worker = subprocess.Popen([*KOSMOS, "worker", "--drain"], env=environment, start_new_session=True)
    time.sleep(seconds)
    os.killpg(worker.pid, signal.SIGKILL)
    _, _, usage = os.wait4(worker.pid, 0)
    return usage.ru_utime + usage.ru_stime


def bare_seconds(texts: list[str], cache: Path) -> tuple[float, int]:
    """CPU seconds of the model alone on the texts, and their tokens."""
    weights = find_weights()
    if weights is None:
        raise SystemExit(f"no weights. {REMEDY}")
    model = load_minilm(weights, cache=cache)
    count, spent = 0, 0.0
    for start in range(0, len(texts), 500):
        rows = [row for text in texts[start : start + 500] for row in windows(model, text)]
        count += sum(map(len, rows))
        begun = time.process_time()
        for row in rows:
            model._run(row)
        spent += time.process_time() - begun
    return spent, count


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--kills", type=int, default=2)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        count = copy_some(wanted.folder, work / "docs", wanted.every)
        plain = kosmos(work / "plain", "add", str(work / "docs"), encoder="none")
        home = work / "home"
        dense = kosmos(home, "add", str(work / "docs")) - plain
        for _ in range(wanted.kills):
            dense += killed(home, GRACE)
            time.sleep(LEASE.total_seconds() + 1)  # the claims of the dead run out; that costs nothing
        dense += kosmos(home, "worker", "--drain")
        verify = kosmos(home, "verify")
        texts = asyncio.run(encoded_texts(home))
        floor, tokens = bare_seconds(texts, work / "cache")
    times = {"add, until found by words": plain, f"vectors, {wanted.kills} kills": dense}
    times |= {"the bare model on these texts": floor, "kosmos verify": verify}
    rows = [
        [name, f"{spent:.1f}", f"{1000 * spent / count:.1f}", f"{spent / floor:.2f}"]
        for name, spent in times.items()
    ]
    title = f"{count} documents, {len(texts)} texts, {tokens:,} tokens"
    print_table(title, ["", "CPU s", "ms a file", "ratio"], rows)
    values = {"documents": count, "texts": len(texts), "tokens": tokens, "kills": wanted.kills}
    write_json("filling", {**values, "add": plain, "dense": dense, "floor": floor, "verify": verify})


if __name__ == "__main__":
    main()
