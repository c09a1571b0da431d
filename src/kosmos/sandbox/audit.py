"""An audit log that shows whether it was changed: each line holds the sha256 of the one before.

A line is on disk before the call returns. A line that was cut short by a crash stays where it is; the next
line says so and holds its sha256 as well.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kosmos.domain.clock import system_clock
from kosmos.errors import DataLost

START = "0" * 64
_TAIL = 64 * 2**10
RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a log: kept elsewhere, it also shows whether lines were cut off."""

    count: int
    sha256: str


class AuditLog:
    """Appends records to one file; several processes may do so at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

    def append(self, event: str, fields: Mapping[str, Any], *, at: datetime | None = None) -> str:
        """Add one record; its sha256, once it is on disk."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            last, whole = _last_line(fd)
            before = hashlib.sha256(last).hexdigest() if last is not None else START
            if not whole:
                before = _write(fd, {"event": RECOVERED, "previous": before}, at, first=b"\n")
            return _write(fd, {**fields, "event": event, "previous": before}, at)
        finally:
            os.close(fd)


def _write(fd: int, record: Mapping[str, Any], at: datetime | None, *, first: bytes = b"") -> str:
    stamped = {"at": (at or system_clock()).isoformat(), **record}
    line = json.dumps(stamped, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode("ascii")
    data = first + line + b"\n"
    while data:
        data = data[os.write(fd, data) :]
    os.fsync(fd)
    return hashlib.sha256(line).hexdigest()


def _last_line(fd: int) -> tuple[bytes | None, bool]:
    """The last line without its end, and whether it has one."""
    size = os.fstat(fd).st_size
    if size == 0:
        return None, True
    reach = _TAIL
    while True:
        start = max(0, size - reach)
        tail = os.pread(fd, size - start, start)
        body = tail.removesuffix(b"\n")
        cut = body.rfind(b"\n")
        if cut >= 0 or start == 0:
            return body[cut + 1 :], tail.endswith(b"\n")
        reach *= 4


def verify(path: Path, *, expected: Head | None = None) -> Head:
    """Check every link of the chain; DataLost names the first line that does not fit."""
    before, count, torn = START, 0, False
    with path.open("rb") as stream:
        for count, raw in enumerate(stream, 1):
            line = raw.removesuffix(b"\n")
            record = _record(line)
            if record is None:
                torn = True
            elif record.get("previous") != before or (torn and record.get("event") != RECOVERED):
                raise DataLost(f"The audit log was changed at or before line {count}.")
            else:
                torn = False
            before = hashlib.sha256(line).hexdigest()
            if expected and count == expected.count and before != expected.sha256:
                raise DataLost(f"The audit log was changed at or before line {count}.")
    if expected and count < expected.count:
        raise DataLost(f"The audit log has {count} lines; there were {expected.count}.")
    return Head(count, before)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
