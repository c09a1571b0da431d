"""What it takes until a folder can be searched: by words when `add` returns, by meaning when all vectors are there.

    python bench/filling.py FOLDER [--every 6] [--kills 2]

The floor is the bare model on the texts that were encoded, their tokens found already. The worker that makes
the vectors is killed on the way; `kosmos verify` has the last word. All times are CPU time of all processes.
"""

import argparse
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from encode import windows
from measure import print_table, run_child, write_json

from kosmos.encoders.minilm import load_minilm
from kosmos.encoders.weights import REMEDY, find_weights

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


def encoded_texts(home: Path) -> list[str]:
    """The texts of all dense routes of the one space, as the job reads them."""
    script = (
        "import asyncio,json,sys\n"
        "from kosmos.app import open_app\n"
        "from kosmos.config import load_settings\n"
        "from kosmos.tasks.documents import list_documents\n"
        "from kosmos.tasks.filling import read_passages\n"
        "async def main():\n"
        "    async with open_app(load_settings()) as app:\n"
        "        who = await app.local_user()\n"
        "        from kosmos.accounts.access import resolve_space\n"
        "        async with app.bench.db.read() as conn:\n"
        "            space = (await resolve_space(conn, who, 'default')).space.id\n"
        "        texts, after = {}, ''\n"
        "        while batch := await list_documents(app.bench, who, space, after=after, limit=1000):\n"
        "            for document in batch:\n"
        "                for routes in (await read_passages(app.bench, document)).values():\n"
        "                    texts.update(dict.fromkeys(routes.values()))\n"
        "            after = batch[-1].id\n"
        "        json.dump(list(texts), sys.stdout)\n"
        "asyncio.run(main())\n"
    )
    import json

    environment = {**os.environ, "KOSMOS_HOME": str(home)}
    made = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    return list(json.loads(made.stdout))


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


def unlease(home: Path) -> None:
    """Let the leases of the dead run out now: waiting for it costs no CPU time."""
    with sqlite3.connect(home / "kosmos.db") as conn:
        columns = {row[1] for row in conn.execute("PRAGMA table_info(job)")}
        column = next(name for name in columns if re.search("lease", name))
        conn.execute(f"UPDATE job SET {column} = '2000-01-01 00:00:00.000000' WHERE status = 'RUNNING'")


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
            unlease(home)
        dense += kosmos(home, "worker", "--drain")
        verify = kosmos(home, "verify")
        texts = encoded_texts(home)
        floor, tokens = bare_seconds(texts, work / "cache")
    rows = [
        ["add, until found by words", f"{plain:.1f}", f"{1000 * plain / count:.1f}", ""],
        [
            f"vectors, {wanted.kills} kills",
            f"{dense:.1f}",
            f"{1000 * dense / count:.1f}",
            f"{dense / floor:.2f}",
        ],
        ["the bare model on these texts", f"{floor:.1f}", f"{1000 * floor / count:.1f}", "1.00"],
        ["kosmos verify", f"{verify:.1f}", f"{1000 * verify / count:.1f}", ""],
    ]
    print_table(
        f"{count} documents, {len(texts)} texts, {tokens:,} tokens", ["", "CPU s", "ms/file", "ratio"], rows
    )
    values = {"documents": count, "texts": len(texts), "tokens": tokens, "kills": wanted.kills}
    write_json("filling", {**values, "add": plain, "dense": dense, "floor": floor, "verify": verify})


if __name__ == "__main__":
    main()
