"""One confined process tree from start to end: started, read, ended as a whole."""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from kosmos.sandbox.limits import Limits, Outcome
from kosmos.sandbox.streams import Kept, TooMuchOutput, readable

_START = 10.0  # for bubblewrap to say who is first
_GRACE = 0.5  # for streams that stay open after the command ended


@dataclass(frozen=True, slots=True)
class Start:
    """How a tree is started."""

    argv: Sequence[str]
    environment: dict[str, str]
    fds: tuple[int, ...]  # given to the tree, closed here once it has them
    user: tuple[int, int] | None = None  # who runs it, when we may choose; None: ourselves
    stdin: bytes = b""
    told: int = -1  # where bubblewrap says who the first process is


async def run_tree(start: Start, limits: Limits) -> Outcome:
    """Run it, and end it with everything it started."""
    began, ended = time.monotonic(), "exit"
    out, err = (Kept(limits.output_bytes, limits.drain_bytes) for _ in range(2))
    with ExitStack() as opened:
        process, handle, said_out, said_err = _spawn(start, opened)
        first: int | None = None
        try:
            first = await _first(start.told, opened)
            async with asyncio.timeout(limits.seconds):
                await _follow(handle, (out.read(said_out), err.read(said_err)))
        except TimeoutError:
            ended = "deadline"
        except TooMuchOutput:
            ended = "output"
        finally:
            code = _end(process, first)
    return Outcome(
        code=code if code >= 0 else 128 - code,
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        ended=ended,
        stdout_truncated=out.truncated,
        stderr_truncated=err.truncated,
        seconds=time.monotonic() - began,
    )


def _spawn(start: Start, opened: ExitStack) -> "tuple[subprocess.Popen[bytes], int, int, int]":
    """The process, a handle on it, and its two streams."""
    who: dict[str, Any] = {}
    if start.user and os.geteuid() == 0:
        who = {"user": start.user[0], "group": start.user[1], "extra_groups": []}
    given = in_memory(start.stdin) if start.stdin else os.open(os.devnull, os.O_RDONLY)
    ends = [os.pipe(), os.pipe()]
    for reading, _ in ends:
        opened.callback(os.close, reading)
    try:
        process = subprocess.Popen(
            start.argv,
            stdin=given,
            stdout=ends[0][1],
            stderr=ends[1][1],
            env=start.environment,
            cwd="/",
            pass_fds=start.fds,
            umask=0o077,
            **who,
        )
    finally:
        for fd in (given, ends[0][1], ends[1][1], *start.fds):
            os.close(fd)
    handle = os.pidfd_open(process.pid)
    opened.callback(os.close, handle)
    return process, handle, ends[0][0], ends[1][0]


def in_memory(data: bytes) -> int:
    """A file that is in memory only, to be read from its beginning."""
    fd = os.memfd_create("kosmos", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as stream:
        stream.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def _follow(handle: int, reading: Sequence[Any]) -> None:
    """Read until the process has ended and said everything, or one reader gives up."""
    readers = [asyncio.ensure_future(one) for one in reading]
    ending = asyncio.ensure_future(readable(handle))
    try:
        waiting = {ending, *readers}
        while waiting and not ending.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        # Whoever still holds the streams now is no part of the tree any more.
        done, _ = await asyncio.wait(readers, timeout=_GRACE)
        for task in done:
            task.result()
    finally:
        for task in (ending, *readers):
            task.cancel()
        await asyncio.gather(ending, *readers, return_exceptions=True)


def _end(process: "subprocess.Popen[bytes]", first: int | None) -> int:
    """End the tree by its first process: the kernel then ends all others, whatever session they are in."""
    if first is not None:
        with suppress(OSError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    return process.wait()


async def _first(told: int, opened: ExitStack) -> int | None:
    """A handle on the first process of the tree, as bubblewrap names it; None when there is none."""
    if told < 0:
        return None
    said = b""
    with suppress(TimeoutError, ProcessLookupError):
        async with asyncio.timeout(_START):
            while part := await _next_part(told):
                said += part
                with suppress(ValueError, KeyError):
                    first = os.pidfd_open(int(json.loads(said)["child-pid"]))
                    opened.callback(os.close, first)
                    return first
    return None


async def _next_part(fd: int) -> bytes:
    await readable(fd)
    return os.read(fd, 4096)
