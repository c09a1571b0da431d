"""How much memory `kosmos add` holds, with all processes it starts, on files that ask for too much.

Each file is added by a command of its own. Also used by `bench/ingest.py`.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import print_table, write_json

MB = 10**6
LIMIT = 1000 * MB
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Held:
    """What a command printed, its CPU seconds, and the most bytes it held at once."""

    output: str
    cpu_seconds: float
    peak: int


def run_watched(command: list[str], home: Path) -> Held:
    """Run a command in a home of its own, and watch it."""
    environment = {**os.environ, "KOSMOS_HOME": str(home)}
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out)
        over, peaks = threading.Event(), [0]
        watcher = threading.Thread(target=_watch, args=(child.pid, over, peaks))
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        over.set()
        watcher.join()
        out.seek(0)
        return Held(out.read(), usage.ru_utime + usage.ru_stime, max(peaks))


def add_command(*paths: Path) -> list[str]:
    """The command that adds files."""
    return [sys.executable, "-m", "kosmos", "add", *map(str, paths), "--json"]


def _watch(pid: int, over: threading.Event, peaks: list[int]) -> None:
    while not over.wait(LOOK_SECONDS):
        peaks.append(sum(_resident(member) for member in _family(pid)))
        peaks[:] = [max(peaks)]


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return  # it has just ended
    for child in children:
        yield from _family(int(child))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def write_greedy(folder: Path) -> Iterator[Path]:
    """The files, one at a time."""
    words = b"word " * (MB // 5)
    contents = {
        "line-100.txt": (words, 100),
        "line-40.txt": (words, 40),
        "lines-40.md": (b"# Title\n\nSome words of a text. \n" * (MB // 32), 40),
        "nested-30.html": (b"<div>" * (MB // 5), 30),
        "beside-30.html": (b"<p>a</p>" * (MB // 8), 30),
        "table-30.csv": (b"a,b,c,d\n" * (MB // 8), 30),
        "bomb-1000.docx": (_bomb(1000), 1),
    }
    for name, (part, times) in contents.items():
        with (folder / name).open("wb") as file:
            for _ in range(times):
                file.write(part)
        yield folder / name
        (folder / name).unlink()


def _bomb(megabytes: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", b"<Types/>")
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(megabytes):
                part.write(b" " * MB)
    return buffer.getvalue()


def main() -> None:
    """Add them, print, and say when one of them held too much."""
    results: dict[str, Held] = {}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(write_greedy(Path(folder))):
            held = run_watched(add_command(path), Path(folder) / f"home-{number}")
            failed = json.loads(held.output)["failed"]
            outcome = failed[0]["reason"] if failed else "text"
            rows.append([path.name, f"{held.peak / MB:.0f}", f"{held.cpu_seconds:.1f}", outcome])
            results[path.name] = held
    print_table("kosmos add, one file each", ["file", "peak MB", "CPU s", "what came of it"], rows)
    write_json("ingest_memory", {"files": {name: asdict(held) for name, held in results.items()}})
    if any(held.peak > LIMIT for held in results.values()):
        sys.exit("More than 1 GB was held.")


if __name__ == "__main__":
    main()
