"""Runs the command in a home of its own."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acceptance.forking import fork

KOSMOS = Path(sys.executable).parent / "kosmos"
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Kosmos:
    """The command as a user of one home sees it. `quick` forks it from a process that is ready loaded."""

    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    quick: bool = False

    @property
    def environ(self) -> dict[str, str]:
        """This machine's variables without any of Kosmos, and then ours."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KOSMOS_")}
        return {**kept, "KOSMOS_HOME": str(self.home), **self.settings}

    def run(self, *arguments: str | bytes | Path, stdin: str = "") -> Done:
        """One command to its end."""
        given = [os.fsdecode(argument) for argument in arguments]
        if self.quick:
            return _run_forked(given, self.environ, stdin)
        return subprocess.run(
            [KOSMOS, *given],
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """A command that goes on until it is stopped."""
        pipe = subprocess.PIPE
        command = [KOSMOS, *arguments]
        return subprocess.Popen(command, env=self.environ, stdout=pipe, stderr=pipe, text=True)

    def json(self, *arguments: str | Path, stdin: str = "") -> Any:
        """What a command that works prints with `--json`."""
        done = self.run(*arguments, "--json", stdin=stdin)
        assert (done.returncode, done.stderr) == (0, ""), done
        return json.loads(done.stdout)


def _run_forked(arguments: list[str], environ: dict[str, str], stdin: str) -> Done:
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("in", "out", "err")]
        for path, text in zip(streams, (stdin, "", ""), strict=True):
            path.write_text(text)
        process = fork(arguments, environ, streams)
        process.join(timeout=300)
        assert process.exitcode is not None, "it does not end"
        return Done(["kosmos", *arguments], process.exitcode, streams[1].read_text(), streams[2].read_text())


def check_refusal(done: Done, code: int) -> str:
    """The message and the remedy of a command that said no, and said it well."""
    assert done.returncode == code, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    if "--json" in done.args:
        problem = json.loads(done.stderr)
        assert set(problem) == {"error", "detail", "remedy"}
        assert problem["remedy"]
        return f"{problem['detail']}\n{problem['remedy']}"
    first, second = done.stderr.rstrip("\n").split("\n")
    assert first.startswith("error: ")
    assert second.startswith("  ")
    return f"{first}\n{second}"
