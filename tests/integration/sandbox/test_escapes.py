"""Nobody gets out; and each layer is what keeps somebody in."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kosmos.sandbox.box import Command, Sandbox
from kosmos.sandbox.isolation import Isolation
from kosmos.sandbox.limits import Limits

from .escapes import ESCAPES, Escape

TIGHT = Limits(
    seconds=20,
    memory_bytes=256 * 2**20,
    address_bytes=2 * 2**30,
    processes=32,
    file_bytes=2**20,
    open_files=64,
    scratch_bytes=2**20,
)
# Ways that a system may have closed by itself: then leaving out our layer does not open them.
CLOSED_BY = {
    "io_uring": ("/proc/sys/kernel/io_uring_disabled", {"0"}),
    "attach": ("/proc/sys/kernel/yama/ptrace_scope", {"0", "1"}),
}
PROVED = [escape for escape in ESCAPES if escape.without]
FALLBACK = [escape for escape in ESCAPES if not escape.only_bubblewrap]


@pytest.fixture
def facts(outside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What is worth reaching: a file, a process, sockets, and a variable of the environment."""
    secret = outside / "secret"
    secret.write_text("planted-value")
    secret.chmod(0o644)
    monkeypatch.setenv("PLANTED", "planted-value")
    abstract = f"kosmos-{os.getpid()}".encode()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as near:
        near.bind(b"\0" + abstract)
        near.listen()
        with socket.socket(socket.AF_UNIX) as path, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as post:
            post.bind(b"\0" + abstract + b"-post")
            path.bind(str(outside / "socket"))
            (outside / "socket").chmod(0o777)
            path.listen()
            yield {
                "secret": str(secret),
                "pid": os.getpid(),
                "port": tcp.getsockname()[1],
                "abstract": abstract,
                "datagrams": abstract + b"-post",
                "path": str(outside / "socket"),
            }


async def _try(box: Sandbox, escape: Escape, python: str, facts: dict[str, object]) -> str:
    argv = (python, "-I", "-S", "-c", escape.program(**facts))
    outcome = await box.run(Command(argv, network=escape.network))
    said = outcome.stdout.decode()
    assert said in {"HELD", "ESCAPED"}, outcome
    return said


def _names(escapes: list[Escape] | tuple[Escape, ...]) -> list[str]:
    return [escape.name for escape in escapes]


def _skip_if_closed(escape: Escape) -> None:
    path, open_values = CLOSED_BY.get(escape.name, ("", set[str]()))
    if path and Path(path).exists() and Path(path).read_text().strip() not in open_values:
        pytest.skip(f"this system closes it by itself: {path}")


def test_there_are_enough_ways() -> None:
    assert len(set(_names(ESCAPES))) == len(ESCAPES) >= 90
    assert len(PROVED) >= 50


@pytest.mark.parametrize("escape", ESCAPES, ids=_names(ESCAPES))
async def test_bubblewrap_holds(
    escape: Escape, workspace: Path, bubblewrap: Isolation, python: str, facts: dict[str, object]
) -> None:
    assert await _try(Sandbox(workspace, bubblewrap, limits=TIGHT), escape, python, facts) == "HELD"


@pytest.mark.parametrize("escape", PROVED, ids=_names(PROVED))
async def test_without_its_layer_the_way_is_open(
    escape: Escape, workspace: Path, bubblewrap: Isolation, python: str, facts: dict[str, object]
) -> None:
    _skip_if_closed(escape)
    box = Sandbox(workspace, bubblewrap, limits=TIGHT, without=escape.without)
    assert await _try(box, escape, python, facts) == "ESCAPED"


@pytest.mark.parametrize("escape", FALLBACK, ids=_names(FALLBACK))
async def test_landlock_holds(
    escape: Escape, workspace: Path, landlock: Isolation, python: str, facts: dict[str, object]
) -> None:
    assert await _try(Sandbox(workspace, landlock, limits=TIGHT), escape, python, facts) == "HELD"
