"""Keeps what is slow to make in a file that is whole or not there, and checked whenever it is read."""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)
_DIGEST = hashlib.sha256().digest_size


def kept(path: Path | None, make: Callable[[], bytes]) -> bytes:
    """What lies in the file, else what is made and then lies there; several processes may do so at once."""
    found = _read(path) if path is not None else None
    if found is not None:
        return found
    made = make()
    if path is not None:
        try:
            _write(path, made)
        except OSError as error:  # a full or read-only disk costs time at every start, nothing else
            log.warning("the cache %s cannot be written: %s", path, error)
    return made


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = data[_DIGEST:]
    return body if hashlib.sha256(body).digest() == data[:_DIGEST] else None


def _write(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    family = path.name.partition("-")[0]
    for former in path.parent.glob(f"{family}-*"):
        if former != path and former.suffix == path.suffix:
            former.unlink(missing_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as file:
            file.write(hashlib.sha256(body).digest())
            file.write(body)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
