"""Server-sent events, read line by line."""

import json
from typing import Any


class SentEvents:
    """Gathers lines into events."""

    def __init__(self) -> None:
        self._event: dict[str, Any] = {}

    def feed(self, line: str) -> dict[str, Any] | None:
        """Take a line; the event that it ends, if it ends one."""
        if not line and self._event:
            whole, self._event = self._event, {}
            return whole
        name, _, value = line.partition(": ")
        if name == "data":
            self._event["data"] = json.loads(value)
        elif name in ("id", "event"):
            self._event[name] = value
        return None
