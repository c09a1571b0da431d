"""Interrupted, piped away, not on a terminal: the command stays civil."""

import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from acceptance.cli.running import KOSMOS, Kosmos

FILES = 3000


@pytest.fixture(scope="module")
def kosmos(tmp_path_factory: pytest.TempPathFactory) -> Kosmos:
    """A home with one long document."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "long.md").write_text("# Long\n\n" + "A line of the long text.\n" * 20_000)
    made = Kosmos(folder / "home", quick=True)
    assert made.json("add", folder / "long.md")["added"] == ["long.md"]
    return made


@pytest.mark.parametrize("arguments", [("read", "long.md"), ("read", "long.md", "--json")])
def test_a_reader_that_goes_away_is_no_accident(kosmos: Kosmos, arguments: tuple[str, ...]) -> None:
    line = f"set -o pipefail; '{KOSMOS}' {' '.join(arguments)} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", line], env=kosmos.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_adding_many_files_makes_no_noise_where_nobody_looks(kosmos: Kosmos, tmp_path: Path) -> None:
    for number in range(FILES):
        (tmp_path / f"{number:04}.mp3").write_bytes(b"ID3\x04\x00\x00\xff\xfb\x90\x00")
    (tmp_path / "one.md").write_text("# One\n")
    done = kosmos.run("add", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert lines[0] == f"1 added, 0 updated, 0 unchanged, {FILES} skipped, 0 failed"
    assert len(lines) == 23
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout


def _count(home: Path) -> int:
    """How many documents a home has at the moment."""
    try:
        conn = sqlite3.connect(f"file:{home}/kosmos.db?mode=ro", uri=True)
        try:
            return int(conn.execute("SELECT count(*) FROM document").fetchone()[0])
        finally:
            conn.close()
    except sqlite3.OperationalError:
        return 0


def test_interrupted_while_adding(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:04}.md").write_text(f"# Number {number}\n\nText {number}.\n")
    process = Kosmos(home).start("add", folder)
    while _count(home) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "\x1b" not in err
    quick = Kosmos(home, quick=True)
    left = quick.json("documents", "list")
    assert 5 <= len(left) == _count(home) < FILES
    assert quick.run("worker", "--drain").returncode == 0  # what was entered is not lost
    assert {item["status"] for item in quick.json("documents", "list")} == {"READY"}
    last = quick.json("read", left[-1]["id"])
    assert last["lines"][0] == f"# Number {len(left) - 1}"
    assert quick.run("gc").returncode == 0
