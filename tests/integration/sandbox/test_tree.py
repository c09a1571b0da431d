"""A command ends with everything it started, says no more than allowed, and sees what it is given."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from kosmos.errors import ConfigError, EngineUnavailable, InvalidInput
from kosmos.sandbox.box import Command, Sandbox
from kosmos.sandbox.isolation import Isolation, Kind, probe
from kosmos.sandbox.limits import Layer, Limits

BEAT = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
def beat():
    for count in range(600):
        with open("beat", "w") as file:
            file.write(f"{os.getpid()} {count}")
        time.sleep(0.05)
    os._exit(0)
"""
SURVIVORS = {
    "setsid": "if os.fork() == 0:\n    os.setsid()\n    beat()",
    "double fork": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: beat()\n    os._exit(0)",
    "closed streams": "if os.fork() == 0:\n    os.setsid()\n    os.closerange(0, 100)\n    beat()",
    "another group": "if os.fork() == 0:\n    os.setpgid(0, 0)\n    beat()",
}
WAIT = "\nwhile not os.path.exists('beat'):\n    time.sleep(0.01)\n"


def _python(python: str, code: str) -> Command:
    return Command((python, "-I", "-S", "-c", code))


async def _beats(workspace: Path) -> bool:
    """Whether somebody still writes."""
    before = (workspace / "beat").read_text()
    for _ in range(10):
        await asyncio.sleep(0.1)
        if (workspace / "beat").read_text() not in {"", before}:
            return True
    return False


@pytest.fixture(params=["bubblewrap", "landlock"])
def isolation(request: pytest.FixtureRequest) -> Isolation:
    found: Isolation = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("way", SURVIVORS)
async def test_nothing_survives_the_end(way: str, workspace: Path, isolation: Isolation, python: str) -> None:
    outcome = await Sandbox(workspace, isolation).run(_python(python, BEAT + SURVIVORS[way] + WAIT))
    assert (outcome.code, outcome.ended) == (0, "exit"), outcome
    assert not await _beats(workspace)


async def test_nothing_survives_the_deadline(workspace: Path, isolation: Isolation, python: str) -> None:
    code = BEAT + SURVIVORS["double fork"] + WAIT + "time.sleep(60)"
    outcome = await Sandbox(workspace, isolation, limits=Limits(seconds=5)).run(_python(python, code))
    assert (outcome.code, outcome.ended) == (137, "deadline")
    assert not await _beats(workspace)


async def test_nothing_survives_a_cancelled_call(workspace: Path, isolation: Isolation, python: str) -> None:
    code = BEAT + SURVIVORS["setsid"] + WAIT + "time.sleep(60)"
    task = asyncio.create_task(Sandbox(workspace, isolation).run(_python(python, code)))
    while not (workspace / "beat").exists():  # noqa: ASYNC110 - it is another process that writes it
        await asyncio.sleep(0.02)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert not await _beats(workspace)


async def test_without_its_own_processes_a_daemon_survives(
    workspace: Path, bubblewrap: Isolation, python: str
) -> None:
    box = Sandbox(workspace, bubblewrap, without=frozenset({Layer.PROCESSES}))
    await box.run(_python(python, BEAT + SURVIVORS["double fork"] + WAIT))
    alive = await _beats(workspace)
    pid = int((workspace / "beat").read_text().split(" ")[0])
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    assert alive


async def test_output_is_capped_and_marked(workspace: Path, isolation: Isolation, python: str) -> None:
    box = Sandbox(workspace, isolation, limits=Limits(output_bytes=1000))
    code = "import sys; sys.stdout.write('o' * 50000); sys.stderr.write('e' * 999)"
    outcome = await box.run(_python(python, code))
    assert (outcome.code, outcome.stdout, outcome.stdout_truncated) == (0, b"o" * 1000, True)
    assert (outcome.stderr, outcome.stderr_truncated) == (b"e" * 999, False)


@pytest.mark.parametrize("stream", [1, 2])
async def test_endless_output_is_ended(
    workspace: Path, isolation: Isolation, python: str, stream: int
) -> None:
    box = Sandbox(workspace, isolation, limits=Limits(output_bytes=10, drain_bytes=2**20))
    outcome = await box.run(_python(python, f"import os\nwhile True: os.write({stream}, b'x' * 65536)"))
    assert (outcome.ended, len(outcome.stdout) + len(outcome.stderr)) == ("output", 10)
    assert outcome.stdout_truncated is (stream == 1)


async def test_processor_time_is_limited(workspace: Path, isolation: Isolation, python: str) -> None:
    box = Sandbox(workspace, isolation, limits=Limits(seconds=60, cpu_seconds=1))
    outcome = await box.run(_python(python, "while True: pass"))
    assert outcome.ended == "exit"
    assert outcome.code in {137, 152}


async def test_a_command_gets_its_input_and_files(workspace: Path, isolation: Isolation) -> None:
    (workspace / "a.txt").write_text("泵\n")
    (workspace / "a.txt").chmod(0o644)
    box = Sandbox(workspace, isolation)
    assert (await box.run(Command(("/usr/bin/cat", "a.txt", "-"), stdin=b"in"))).stdout == "泵\nin".encode()
    assert (await box.run(Command(("/usr/bin/touch", "new")))).code == 0
    assert (workspace / "new").exists()
    assert (await box.run(Command(("/usr/bin/touch", "other"), writable=False))).code != 0
    assert not (workspace / "other").exists()
    seen = (await box.run(Command(("/usr/bin/env",), environment={"A": "b"}))).stdout.decode().split("\n")
    assert {line.partition("=")[0] for line in seen} - {"", "PWD"} == {"PATH", "HOME", "LANG", "TMPDIR", "A"}


async def test_words_are_words(workspace: Path, isolation: Isolation) -> None:
    words = ("; touch owned", "$(touch owned)", "`touch owned`", "&& touch owned", "| touch owned", "> owned")
    outcome = await Sandbox(workspace, isolation).run(Command(("/usr/bin/printf", "%s\n", *words)))
    assert outcome.stdout.decode().split("\n")[:-1] == list(words)
    assert not (workspace / "owned").exists()


async def test_further_paths_can_be_read_only(workspace: Path, isolation: Isolation, outside: Path) -> None:
    (outside / "config").write_text("x")
    (outside / "config").chmod(0o666)
    path = str(outside / "config")
    box = Sandbox(workspace, isolation)
    assert (await box.run(Command(("/usr/bin/cat", path), read=(path,)))).stdout == b"x"
    assert (await box.run(Command(("/usr/bin/truncate", "-s", "0", path), read=(path,)))).code != 0
    assert (outside / "config").read_text() == "x"


async def test_nobody_runs_as_root(workspace: Path, isolation: Isolation) -> None:
    made = await Sandbox(workspace, isolation).run(Command(("/usr/bin/id", "-u")))
    assert int(made.stdout) != 0
    await Sandbox(workspace, isolation).run(Command(("/usr/bin/touch", "mine")))
    assert (workspace / "mine").stat().st_uid != 0


async def test_a_missing_program_is_an_ordinary_failure(workspace: Path, bubblewrap: Isolation) -> None:
    assert (await Sandbox(workspace, bubblewrap).run(Command(("/usr/bin/frobnicate",)))).code == 127


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives commands to somebody else")
async def test_a_workspace_that_cannot_be_entered_is_named(workspace: Path, bubblewrap: Isolation) -> None:
    inner = workspace / "closed" / "inner"
    inner.mkdir(parents=True)
    (workspace / "closed").chmod(0o700)
    os.chown(inner, 65534, 65534)
    with pytest.raises(ConfigError, match="cannot enter"):
        await Sandbox(inner, bubblewrap).run(Command(("/usr/bin/true",)))


@pytest.mark.parametrize(
    "argv", [(), ("cat",), ("./cat",), ("/bin/a\0b",), ("/bin/x", "y" * 70_000), ("/x",) * 300]
)
async def test_what_is_no_argv_is_refused(argv: tuple[str, ...], workspace: Path) -> None:
    box = Sandbox(workspace, Isolation(Kind.BUBBLEWRAP, "", "/nowhere"))
    with pytest.raises(InvalidInput):
        await box.run(Command(argv))


async def test_with_nothing_to_hold_it_a_command_is_refused(workspace: Path) -> None:
    nothing = probe(bubblewrap=False, fallback=False)
    assert nothing.kind is Kind.NONE
    with pytest.raises(EngineUnavailable, match="not run here") as error:
        await Sandbox(workspace, nothing).run(Command(("/usr/bin/true",)))
    assert "bubblewrap" in (error.value.remedy or "")


async def test_a_sandbox_that_cannot_be_built_is_told(workspace: Path, bubblewrap: Isolation) -> None:
    box = Sandbox(workspace, bubblewrap)
    box.workspace = workspace / "gone"
    with pytest.raises((EngineUnavailable, FileNotFoundError)):
        await box.run(Command(("/usr/bin/true",)))
