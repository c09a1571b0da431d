"""A few kills while a model chunks documents; `make chaos-chunking` is the big storm."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "chaos_chunking.py"


def test_killed_workers_change_nothing_and_ask_little_again() -> None:
    with tempfile.TemporaryDirectory(prefix="kosmos-") as folder:
        options = ("--kills", "2", "--width", "2", "--documents", "1", "--parts", "60", "--seed", "1")
        done = subprocess.run(
            [sys.executable, SCRIPT, *options],
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"kills=2 .*questions=(\d+) repeated=(\d+) .*different=0", done.stdout)
    assert found is not None
    assert int(found[1]) > 2
    assert int(found[2]) <= 2 * 2
