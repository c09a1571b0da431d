"""Identifiers: strings we make ourselves, ordered by time so that indexes stay compact."""

import os
import time
import uuid
from datetime import UTC, datetime


def new_id() -> str:
    """A fresh UUID of version 7 (milliseconds since 1970, then randomness) in its usual spelling."""
    stamp = time.time_ns() // 1_000_000
    value = (stamp & (2**48 - 1)) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def first_id(moment: datetime) -> str:
    """An id before all that are made from that moment on."""
    return str(uuid.UUID(int=int(moment.timestamp() * 1000) << 80))


def made_at(identity: str) -> datetime:
    """When an id was made; the beginning of time for a string that is none of ours."""
    try:
        value = uuid.UUID(identity)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return datetime.fromtimestamp((value.int >> 80) / 1000 if value.version == 7 else 0, UTC)
