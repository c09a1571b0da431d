"""A few users on the served instance while its parts are killed; `make load` is the big one."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "load.py"
SMALL = ("--users", "8", "--workers", "2", "--minutes", "0.3", "--think", "3", "--documents", "16")
QUICK = ("--idle", "2", "--once", "--loose")


def test_nothing_is_lost_or_doubled_while_parts_are_killed() -> None:
    with tempfile.TemporaryDirectory(prefix="kosmos-") as folder:  # short: names of sockets must be
        result = Path(folder) / "load.json"
        done = subprocess.run(
            [sys.executable, SCRIPT, *SMALL, *QUICK, "--seed", "3", "--json", result],
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        told = json.loads(result.read_text(encoding="utf-8"))
    assert "lost=0 duplicated=0 5xx_otherwise=0" in done.stdout
    assert sorted(one["what"][:3] for one in told["absences"]) == ["api", "pos", "red"]
    assert told["runs"]["COMPLETED"]
    assert told["documents"] > 16
    assert told["operations"]["search"]["requests"] > 10
