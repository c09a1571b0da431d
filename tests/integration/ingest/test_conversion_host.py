"""Converters that hang, crash, grow, lie or reach out harm nothing but their own document."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kosmos.domain.hints import Hints
from kosmos.errors import ConversionFailed, EngineUnavailable, InvalidInput, TooLarge
from kosmos.ingest import conversion
from kosmos.ingest.conversion import ConversionHost, convert
from kosmos.ingest.limits import MB, Limits

LIMITS = Limits(seconds=20, cpu_seconds=20)
START = """
import sys; sys.path[:] = sys.argv[1:]
import kosmos.ingest.formats as formats; formats.__path__.append({folder!r})
from kosmos.ingest.conversion_child import serve; serve()
"""
HEAD = """import ctypes, os, socket, subprocess, sys, time
from pathlib import Path
from kosmos.domain.extracts import Extract
"""


@pytest.fixture
async def host() -> AsyncIterator[ConversionHost]:
    async with ConversionHost(processes=2, limits=LIMITS) as host:
        yield host


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the body of the converter that every file but Markdown is given to."""
    folder = tmp_path / "formats"
    folder.mkdir()
    monkeypatch.setattr(conversion, "_START", START.format(folder=str(folder)))
    monkeypatch.setattr(
        conversion, "sniff", lambda _, name, *, tail: "markdown" if name == "a.md" else "strange"
    )

    def write(body: str) -> None:
        lines = "\n".join(f"    {line}" for line in body.split("\n"))
        (folder / "strange.py").write_text(
            f"{HEAD}def extract(data, name):\n{lines}\n    return Extract('done')\n"
        )

    return write


def _is_gone(folder: str) -> bool:
    return not Path(folder).exists()


async def _until(happened: Callable[[], bool]) -> None:
    while not happened():  # noqa: ASYNC110  (what is waited for is in another process)
        await asyncio.sleep(0.01)


def _alive(folder: Path) -> list[int]:
    """Processes that serve conversions of this test: they all have its folder on their command line."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            line = (process / "cmdline").read_bytes() if process.name.isdigit() else b""
            if str(folder).encode() in line and b"conversion_child" in line:
                found.append(int(process.name))
    return sorted(found)


async def test_a_converter_may_take_its_time(host: ConversionHost, converter: Callable[[str], None]) -> None:
    converter("time.sleep(0.1)")
    found = await host.convert(b"x", "a")
    assert (found.canonical.text, found.format, found.converter) == ("done", "strange", "strange/1")
    assert found.cpu_seconds > 0


@pytest.mark.parametrize("body", ["time.sleep(60)", "while True: pass", "import signal; signal.pause()"])
async def test_a_hung_converter_is_given_up(
    host: ConversionHost, converter: Callable[[str], None], tmp_path: Path, body: str
) -> None:
    converter(body)
    with pytest.raises(ConversionFailed, match=r"b\.x took more than 0\.3 s") as caught:
        await host.convert(b"x", "b.x", replace(LIMITS, seconds=0.3))
    assert caught.value.remedy
    assert not caught.value.retryable
    assert _alive(tmp_path) == []


async def test_computing_is_limited(host: ConversionHost, converter: Callable[[str], None]) -> None:
    converter("while True: pass")
    with pytest.raises(ConversionFailed, match="more than 1 s of computing"):
        await host.convert(b"x", "b.x", replace(LIMITS, cpu_seconds=1))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("ctypes.string_at(1)", "crashed on b.x .ended by signal 11"),
        ("os.abort()", "ended by signal 6"),
        ("os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("os._exit(7)", "ended with code 7"),
        ("os._exit(0)", "gave back no result"),
        ("raise SystemExit", "ended with code 2"),
        ("raise ValueError('broken inside')", "ValueError broken inside"),
        ("def f(): f()\nf()", "RecursionError"),
        ("import nothing_such", "nothing_such is not installed"),
        ("return 7", "AttributeError"),
        ("Path('result').write_bytes(b'garbage'); os._exit(0)", "makes no sense"),
        ("Path('result').symlink_to('/etc/hostname'); os._exit(0)", "gave back no result"),
        ("os.mkfifo('result'); os._exit(0)", "gave back no result"),
        ("Path('result').mkdir(); os._exit(0)", "gave back no result"),
    ],
)
async def test_a_broken_converter_fails_its_document(
    host: ConversionHost, converter: Callable[[str], None], body: str, reason: str
) -> None:
    converter(f"if data == b'bad':\n    {body.replace(chr(10), chr(10) + '    ')}")
    with pytest.raises(ConversionFailed, match=reason):
        await host.convert(b"bad", "b.x")
    assert (await host.convert(b"good", "b.x")).canonical.text == "done"


@pytest.mark.parametrize(
    "body", ["hoard = [bytes(1000) for _ in range(10**9)]", "hoard = b'x' * (4 * 2**30)", "[0] * 10**9"]
)
async def test_memory_is_limited(host: ConversionHost, converter: Callable[[str], None], body: str) -> None:
    converter(body)
    with pytest.raises(ConversionFailed, match="more than 200 MB of memory"):
        await host.convert(b"x", "b.x", replace(LIMITS, memory_bytes=200 * MB))


async def test_files_are_limited(host: ConversionHost, converter: Callable[[str], None]) -> None:
    converter("with open('big', 'wb') as file:\n    for _ in range(1000): file.write(bytes(2**20))")
    with pytest.raises(ConversionFailed, match="OSError"):
        await host.convert(b"x", "b.x", replace(LIMITS, canonical_bytes=MB, figure_bytes=MB))


@pytest.mark.parametrize(
    "body",
    [
        "socket.socket()",
        "socket.create_connection(('127.0.0.1', {port}))",
        "socket.getaddrinfo('localhost', 80)",
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
    ],
)
async def test_nothing_outside_can_be_reached(
    host: ConversionHost, converter: Callable[[str], None], body: str
) -> None:
    converter(body.replace("{port}", "80"))
    with pytest.raises(ConversionFailed, match="PermissionError"):
        await host.convert(b"x", "b.x")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are a matter of Linux")
async def test_there_is_no_network_below_python_either(
    host: ConversionHost, converter: Callable[[str], None]
) -> None:
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    converter(
        "libc = ctypes.CDLL(None)\nfile = libc.socket(2, 1, 0)\n"
        f"address = bytes([2, 0]) + ({port}).to_bytes(2, 'big') + bytes([127, 0, 0, 1]) + bytes(8)\n"
        "return Extract(f'file {file >= 0} connect {libc.connect(file, address, 16)}')"
    )
    found = await host.convert(b"x", "b.x")
    listener.close()
    assert found.canonical.text in ("file True connect -1", "file False connect -1")


async def test_nothing_is_inherited(
    host: ConversionHost, converter: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOSMOS_SECRET_KEY", "a secret")
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)
    converter(
        "files = [os.readlink(f'/proc/self/fd/{n}') for n in range(3)]\n"
        "more = [n for n in os.listdir('/proc/self/fd') if int(n) > 2]\n"
        "return Extract(f'{sorted(os.environ)} {files} {len(more)} {os.getcwd()}')"
    )
    text = (await host.convert(b"x", "b.x")).canonical.text
    os.close(leak)
    assert "KOSMOS" not in text
    assert "['/dev/null', '/dev/null', '/dev/null'] 1 /" in text
    assert "kosmos-convert-" in text
    assert _is_gone(text.rpartition(" ")[2])


async def test_each_file_has_a_process_and_a_folder_of_its_own(
    host: ConversionHost, converter: Callable[[str], None]
) -> None:
    converter(
        "import builtins\nseen = getattr(builtins, 'seen', 0); builtins.seen = seen + 1\n"
        "Path(os.environ['TMPDIR'], 'left').touch()\n"
        "return Extract(f'{os.getpid()} {seen} {len(os.listdir())} {os.nice(0)}')"
    )
    texts = [(await host.convert(b"x", "b.x")).canonical.text.split() for _ in range(4)]
    assert len({pid for pid, *_ in texts}) == 4
    assert {tuple(rest[:2]) for _, *rest in texts} == {("0", "2")}
    assert {int(rest[2]) for _, *rest in texts} == {min(19, os.nice(0) + 10)}


async def test_a_cancelled_caller_takes_its_processes_along(
    host: ConversionHost, converter: Callable[[str], None], tmp_path: Path
) -> None:
    flag = tmp_path / "started"
    converter(f"Path({str(flag)!r}).touch(); time.sleep(60)")
    task = asyncio.create_task(host.convert(b"x", "b.x"))
    await _until(flag.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _alive(tmp_path) == []


async def test_a_server_that_was_killed_is_replaced(
    host: ConversionHost, converter: Callable[[str], None], tmp_path: Path
) -> None:
    converter("pass")
    await host.convert(b"x", "b.x")
    (server,) = _alive(tmp_path)
    os.kill(server, signal.SIGKILL)
    await asyncio.sleep(0.05)
    assert (await host.convert(b"x", "b.x")).canonical.text == "done"


async def test_a_server_that_cannot_start_is_no_fault_of_the_file(
    host: ConversionHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "_START", "raise SystemExit(1)")
    with pytest.raises(EngineUnavailable):
        await host.convert(b"<html><p>x", "a.html")


async def test_nothing_is_left_when_the_host_is_closed(
    converter: Callable[[str], None], tmp_path: Path
) -> None:
    converter("time.sleep(0.05)")
    async with ConversionHost(processes=3, limits=LIMITS) as host:
        await asyncio.gather(*(host.convert(b"x", "b.x") for _ in range(6)))
        assert 1 <= len(_alive(tmp_path)) <= 3
    assert _alive(tmp_path) == []


async def test_all_ends_with_the_program(converter: Callable[[str], None], tmp_path: Path) -> None:
    """When the program is killed, the pipe to the server closes, and server and child are gone."""
    flag = tmp_path / "started"
    converter(f"Path({str(flag)!r}).touch(); time.sleep(60)")
    program = (
        "import asyncio; from kosmos.ingest import conversion\n"
        f"conversion._START = {conversion._START!r}\nconversion.sniff = lambda *_, tail: 'strange'\n"
        "asyncio.run(conversion.convert(b'x', 'b.x'))"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env=environment)
    await _until(flag.exists)
    assert len(_alive(tmp_path)) >= 2
    process.kill()
    await process.wait()
    await _until(lambda: not _alive(tmp_path))


async def test_markdown_needs_no_process(
    host: ConversionHost, converter: Callable[[str], None], tmp_path: Path
) -> None:
    converter("os._exit(7)")
    found = await host.convert("# 标题\r\n正文".encode(), "a.md")
    assert (found.canonical.text, found.canonical.title, found.converter) == (
        "# 标题\n正文",
        "标题",
        "markdown/1",
    )
    assert _alive(tmp_path) == []


async def test_sizes_are_limited(host: ConversionHost, tmp_path: Path) -> None:
    small = replace(LIMITS, original_bytes=200_000, canonical_bytes=100_000)
    with pytest.raises(TooLarge, match="can be converted"):
        await host.convert(b"x" * 200_001, "a.md", small)
    for name in ("a.md", "a.txt", "a.csv"):
        with pytest.raises(TooLarge, match="of text"):
            await host.convert(b"x," * 60_000 if name != "a.csv" else b"xx,y\n" * 39_000, name, small)
    with pytest.raises(TooLarge, match="of text"):
        await host.convert(("中" * 60_000).encode("utf-16"), "wide.txt", small)
    (tmp_path / "big.txt").write_bytes(b"word " * 30_000)
    with pytest.raises(TooLarge, match="of text"):
        await host.convert(tmp_path / "big.txt", "big.txt", small)


async def test_hints_reach_the_converter() -> None:
    page = "<html><body><main><p>不要</p></main><div id=x><a href='y'>要的</a></div></body></html>".encode(
        "big5"
    )
    hints = Hints(url="https://example.org/a/", charset="big5", content=("#x",))
    assert (await convert(page, "a.html", hints=hints)).canonical.text == "[要的](https://example.org/a/y)"


async def test_names_are_shown_safely(host: ConversionHost) -> None:
    with pytest.raises(InvalidInput) as caught:
        await host.convert(b"\x00\x01", "../../a\nb\x1b[31m.md")
    assert caught.value.message.startswith("a b[31m.md is")
