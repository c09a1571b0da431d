"""A log that cannot be changed unseen, and that survives being killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import DataLost
from kosmos.sandbox.audit import START, AuditLog, Head, verify


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    made = AuditLog(tmp_path / "state" / "audit.jsonl")
    for number in range(5):
        made.append("command", {"argv": ["cat", f"文件 {number}"], "event": "mine", "previous": "mine"})
    return made


def test_every_line_holds_the_one_before(log: AuditLog) -> None:
    head = verify(log.path)
    assert head.count == 5
    lines = [json.loads(line) for line in log.path.read_text().split("\n")[:-1]]
    assert lines[0]["previous"] == START
    assert {line["event"] for line in lines} == {"command"}
    assert log.append("more", {}) == verify(log.path, expected=head).sha256
    assert log.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("how", ["change", "remove", "swap", "insert"])
def test_a_changed_log_is_found_out(log: AuditLog, at: int, how: str) -> None:
    head = verify(log.path)
    lines = log.path.read_bytes().split(b"\n")[:-1]
    if how == "change":
        lines[at] = lines[at].replace(b"cat", b"cut")
    elif how == "remove":
        del lines[at]
    elif how == "swap":
        lines[at], lines[at - 1] = lines[at - 1], lines[at]
    else:
        lines.insert(at, lines[at])
    log.path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(DataLost):
        verify(log.path, expected=head)


def test_lines_cut_off_at_the_end_are_found_by_the_head_kept_elsewhere(log: AuditLog) -> None:
    head = verify(log.path)
    lines = log.path.read_bytes().split(b"\n")[:-1]
    log.path.write_bytes(b"\n".join(lines[:3]) + b"\n")
    assert verify(log.path).count == 3
    with pytest.raises(DataLost):
        verify(log.path, expected=head)


@settings(deadline=None, max_examples=40)
@given(cut=st.integers(1, 150))
def test_a_torn_line_is_kept_and_named(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    log = AuditLog(tmp_path_factory.mktemp("torn") / "audit.jsonl")
    log.append("one", {})
    log.append("two", {"text": "x" * 200})
    with log.path.open("r+b") as stream:
        stream.truncate(log.path.stat().st_size - cut)
    log.append("three", {})
    events = [json.loads(line)["event"] for line in log.path.read_bytes().split(b"\n") if line.endswith(b"}")]
    assert events[-1] == "three"
    assert "recovered" in events
    assert verify(log.path).count in {4, 5}


def test_a_torn_line_without_its_note_is_a_change(log: AuditLog) -> None:
    with log.path.open("ab") as stream:
        stream.write(b'{"torn\n')
    log.append("next", {})
    with pytest.raises(DataLost):
        verify(log.path)


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        AuditLog(tmp_path / "audit.jsonl").append("x", {})
    assert not (tmp_path / "elsewhere").exists()


def test_several_processes_and_a_kill_leave_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    code = (
        "import sys; from pathlib import Path; from kosmos.sandbox.audit import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]))\n"
        "for n in range(100000): log.append('x', {'n': n, 'text': 'y' * 3000}); print(n, flush=True)"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=dict(os.environ)
        )
        for _ in range(2)
    ]
    confirmed = 0
    for process in started:
        assert process.stdout is not None
        for _ in range(5):
            confirmed += bool(process.stdout.readline())
    for process in started:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    AuditLog(path).append("after", {})
    assert verify(path).count > confirmed == 10
    assert verify(path) != Head(0, START)
