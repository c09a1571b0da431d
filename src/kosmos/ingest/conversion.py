"""The conversion host: from any file to canonical text, each conversion in a process of its own.

Markdown and plain text in UTF-8 are converted here: that is a few passes over a string, with no library
that a file could upset. Everything else goes to a child of a conversion server, which can hang, crash or
grow without harm to anything but its own document.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Self, TypeVar

from kosmos.domain.hints import Hints
from kosmos.errors import ConversionFailed, EngineUnavailable, TooLarge
from kosmos.ingest.archives import TAIL
from kosmos.ingest.canonical import one_line
from kosmos.ingest.conversion_result import read_result
from kosmos.ingest.extraction import check_size, extract_canonical
from kosmos.ingest.limits import MB, Converted, Limits
from kosmos.ingest.sniffing import HEAD, sniff

Result = TypeVar("Result")
_IN_PROCESS = ("markdown", "text")
# Below this many bytes a hop to a thread costs more than the work.
_SMALL = 128 * 1024
# A server that does not even report a deadline in this time hangs itself.
_GRACE = 10.0
_START = "import sys; sys.path[:] = sys.argv[1:]; from kosmos.ingest.conversion_child import serve; serve()"


class ConversionHost:
    """Converts files, a few at a time. Open it once and close it when the program ends."""

    def __init__(self, *, processes: int = 2, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._slots = asyncio.Semaphore(processes)
        self._idle: list[_Server] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the servers that wait for work."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(server.end() for server in idle))

    async def convert(
        self, source: bytes | Path, name: str, limits: Limits | None = None, *, hints: Hints | None = None
    ) -> Converted:
        """The document in a file or in bytes; InvalidInput says why it is refused or could not be read."""
        limits, name = limits or self.limits, one_line(PurePath(name).name) or "file"
        source, head, tail, size = _look(source) if isinstance(source, Path) else _part(source)
        if size > limits.original_bytes:
            raise TooLarge(
                f"{name} has {size // MB} MB; at most {limits.original_bytes // MB} MB can be converted.",
                remedy="Split it into several files.",
            )
        kind = sniff(head, name, tail=tail)
        if kind in _IN_PROCESS and (found := await _convert_here(source, kind, name, size, limits=limits)):
            return found
        return await self._convert_apart(source, kind, name, limits, hints=hints or Hints())

    async def _convert_apart(
        self, source: bytes | Path, kind: str, name: str, limits: Limits, *, hints: Hints
    ) -> Converted:
        async with self._slots, _folder() as folder:
            if isinstance(source, bytes):
                data = source
                await _in_thread(len(data), lambda: (folder / "source").write_bytes(data))
            request = {
                "kind": kind,
                "name": name,
                "source": str(folder / "source") if isinstance(source, bytes) else str(source),
                "folder": str(folder),
                "limits": asdict(limits),
                "hints": asdict(hints),
            }
            report = await self._ask(request, limits)
            if report["reason"] == "server":
                # It was gone before it could do anything: files are touched by its children only.
                report = await self._ask(request, limits)
            _check_end(report, name, kind, limits)
            size = report["written"]
            found = await _in_thread(size, lambda: read_result(folder / "result", kind, limits))
            return replace(found, cpu_seconds=report["cpu"])

    async def _ask(self, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """One request to one server. A server that saw anything out of order is not used again."""
        server = self._idle.pop() if self._idle else _Server()
        sound = False
        try:
            async with asyncio.timeout(limits.seconds + _GRACE):
                report = await server.ask(request)
            sound = not report["reason"] and report["status"] >= 0
        except TimeoutError:
            report = {"status": -signal.SIGKILL, "reason": "time", "cpu": 0.0}
        finally:
            if sound:
                self._idle.append(server)
            else:
                await asyncio.shield(server.kill())
        return report


class _Server:
    """A process that forks a child for each request; it leads a session, so that all of it can be ended."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process or await self._start()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a conversion server without pipes")
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            await process.stdin.drain()
        line = await process.stdout.readline()
        return dict(json.loads(line)) if line else {"status": -signal.SIGKILL, "reason": "server", "cpu": 0.0}

    async def _start(self) -> asyncio.subprocess.Process:
        paths = [path for path in sys.path if PurePath(path).is_absolute()]
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-s", "-c", _START, *paths),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",
            env=_environment(),
            start_new_session=True,
        )
        return self._process

    async def end(self) -> None:
        """Let an idle server go: it ends when nobody can send it anything."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            await self._process.wait()

    async def kill(self) -> None:
        """End the server and all its children at once."""
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()


def _environment() -> dict[str, str]:
    """Nothing of this process's environment, which holds keys. Hashes are fixed, so that runs are alike."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **threads}


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    """A folder for one conversion, gone with all that is in it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="kosmos-convert-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(path: Path) -> tuple[bytes | Path, bytes, bytes, int]:
    """The file, its beginning, its end and its size; a small file is read whole, which costs the same."""
    path = path.absolute()
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= _SMALL:
            return _part(file.read(_SMALL))
        head = file.read(HEAD)
        file.seek(max(0, size - TAIL))
        return path, head, file.read(TAIL), size


def _part(data: bytes) -> tuple[bytes, bytes, bytes, int]:
    return data, data[:HEAD], data[-TAIL:], len(data)


async def _convert_here(
    source: bytes | Path, kind: str, name: str, size: int, *, limits: Limits
) -> Converted | None:
    """The document when it is text in UTF-8, else None: guessing an encoding is work for a child."""

    def work() -> Converted | None:
        data = source if isinstance(source, bytes) else source.read_bytes()
        if not is_plain(data):
            return None
        # Clean text is hardly ever smaller than its file: no need to decode what will be refused.
        check_size(name, len(data), limits)
        canonical, extract = extract_canonical(kind, data, name, limits=limits)
        return Converted(canonical, extract.origins, (), extract.notes, kind, canonical.converter)

    return await _in_thread(size, work)


def is_plain(data: bytes) -> bool:
    """Whether bytes are a text in UTF-8, with or without a mark, that declares to be nothing else."""
    if b"\x00" in data or b"\x1b$" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


async def _in_thread(size: int, work: Callable[[], Result]) -> Result:
    """The result of the work, done elsewhere when there is enough of it to hold everything else up."""
    return await asyncio.to_thread(work) if size > _SMALL else work()


def _check_end(report: dict[str, Any], name: str, kind: str, limits: Limits) -> None:
    """Raise when the child did not end as it should, and say how."""
    status, reason = report["status"], report["reason"]
    if reason == "server":
        raise EngineUnavailable(
            "The conversion server cannot be started.",
            remedy="Check memory and process limits; see the logs.",
        )
    if reason == "time" or status == -signal.SIGXCPU:
        spent = f"{limits.seconds:g} s" if reason else f"{limits.cpu_seconds} s of computing"
        raise ConversionFailed(
            f"{name} took more than {spent} to convert from {kind} and was given up.",
            remedy="Split the file, or raise the limit.",
        )
    if reason == "memory" or status == 3:
        raise ConversionFailed(
            f"{name} needs more than {limits.memory_bytes // MB} MB of memory to convert from {kind}.",
            remedy="Split the file, or raise the limit.",
        )
    if status != 0:
        how = f"by signal {-status}" if status < 0 else f"with code {status}"
        raise ConversionFailed(
            f"The {kind} converter crashed on {name} (ended {how}).",
            remedy="The file is probably damaged; open it in its own program and save it anew.",
        )


async def convert(
    source: bytes | Path, name: str, limits: Limits | None = None, *, hints: Hints | None = None
) -> Converted:
    """Convert a single file. For many, open a ConversionHost: it keeps its servers."""
    async with ConversionHost(processes=1) as host:
        return await host.convert(source, name, limits, hints=hints)
