"""What is known of a cluster now: states of objects and what was reported of them, each with an expiry.

The same report within a minute is counted, not repeated: a storm of events becomes one line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from kosmos.tools.secrecy import hide_secrets

SAME = timedelta(seconds=60)
EVENT_TTL = timedelta(hours=1)
STATE_TTL = timedelta(minutes=10)
MOST_RECORDS = 5000
MOST_MESSAGE = 500
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was seen. `until` is when it is forgotten."""

    kind: str  # of the object that it is about
    namespace: str
    name: str
    text: str
    first: datetime
    last: datetime
    until: datetime
    count: int = 1
    event: bool = False

    @property
    def line(self) -> str:
        """The record as a line of Markdown."""
        times = f" ({self.count} times since {self.first:%H:%M:%S})" if self.count > 1 else ""
        return f"- {self.last:%Y-%m-%d %H:%M:%S} UTC: {self.text}{times}"


@dataclass(slots=True)
class Board:
    """Everything that is known, by key. `dirty` are the namespaces whose picture has changed."""

    records: dict[tuple[str, ...], Record] = field(default_factory=dict)
    dirty: set[str] = field(default_factory=set)
    suppressed: int = 0  # reports that were only counted

    def observe(self, change: str, thing: Object, now: datetime) -> None:
        """Take in one change of the watch: ADDED, MODIFIED or DELETED."""
        if thing.get("kind") == "Event":
            self._report(thing, now)
        else:
            self._state(change, thing, now)
        if len(self.records) > MOST_RECORDS:
            oldest = min(self.records, key=lambda key: self.records[key].last)
            self._drop(oldest)

    def _report(self, thing: Object, now: datetime) -> None:
        about = thing.get("involvedObject") or thing.get("regarding") or {}
        kind, name = _text(about.get("kind")), _text(about.get("name"))
        namespace = _text(about.get("namespace"))
        message = hide_secrets(_text(thing.get("message") or thing.get("note")))[:MOST_MESSAGE]
        said = f"{_text(thing.get('type')) or 'Event'} {_text(thing.get('reason'))}: {message}"
        key = ("event", kind, namespace, name, said)
        known = self.records.get(key)
        if known is not None and now - known.first < SAME:
            self.suppressed += 1
            self.records[key] = replace(known, last=now, until=now + EVENT_TTL, count=known.count + 1)
            return
        first, count = (known.first, known.count + 1) if known else (now, 1)
        self._put(key, Record(kind, namespace, name, said, first, now, now + EVENT_TTL, count, event=True))

    def _state(self, change: str, thing: Object, now: datetime) -> None:
        about = thing.get("metadata") or {}
        kind, name = _text(thing.get("kind")), _text(about.get("name"))
        namespace = _text(about.get("namespace"))
        text = "was deleted" if change == "DELETED" else describe(thing)
        key = ("state", kind, namespace, name)
        known = self.records.get(key)
        if known is not None and known.text == text:
            self.records[key] = replace(known, last=now, until=now + STATE_TTL)
            return
        self._put(key, Record(kind, namespace, name, text, now, now, now + STATE_TTL))

    def _put(self, key: tuple[str, ...], record: Record) -> None:
        self.records[key] = record
        self.dirty.add(record.namespace)

    def _drop(self, key: tuple[str, ...]) -> None:
        self.dirty.add(self.records.pop(key).namespace)

    def confirm(self, now: datetime) -> None:
        """States hold as long as the watch does: it would have told of a change."""
        for key, record in self.records.items():
            if not record.event and record.text != "was deleted":
                self.records[key] = replace(record, until=now + STATE_TTL)

    def prune(self, now: datetime) -> None:
        """Forget what has expired."""
        for key in [key for key, record in self.records.items() if record.until <= now]:
            self._drop(key)

    def render(self, namespace: str, cluster: str, now: datetime, *, stale_since: datetime | None) -> str:
        """The picture of a namespace as Markdown; empty where nothing is known."""
        mine = [record for record in self.records.values() if record.namespace == namespace]
        if not mine:
            return ""
        until = max(record.until for record in mine)
        head = ["---", "partition: dynamic", f"cluster: {cluster}", f"namespace: {namespace or '(cluster)'}"]
        head += [
            f"stale: {'true' if stale_since else 'false'}",
            f"expires_at: {until:%Y-%m-%dT%H:%M:%SZ}",
            "---",
        ]
        body = [f"# {cluster}: what happens in {namespace or 'the cluster'} now", ""]
        body += [f"Seen until {now:%Y-%m-%d %H:%M:%S} UTC; not to be relied on after {until:%H:%M:%S} UTC."]
        if stale_since:
            body += [
                "",
                f"STALE: the cluster has not been heard of since {stale_since:%Y-%m-%d %H:%M:%S} UTC.",
            ]
        for kind, name in sorted({(record.kind, record.name) for record in mine}):
            about = [record for record in mine if (record.kind, record.name) == (kind, name)]
            body += ["", f"## {kind} {name}", ""]
            body += [record.line for record in sorted(about, key=lambda item: (item.event, item.last))]
        return "\n".join([*head, *body, ""])


def describe(thing: Object) -> str:
    """The state of an object in one line; never its specification, which may hold secrets."""
    status = thing.get("status") or {}
    spec = thing.get("spec") or {}
    kind = thing.get("kind")
    if kind == "Pod":
        return _pod(status)
    if kind == "Node":
        ready = [c for c in status.get("conditions") or [] if c.get("type") == "Ready"]
        return f"is {'ready' if ready and ready[0].get('status') == 'True' else 'NOT ready'}"
    wanted = spec.get("replicas", status.get("desiredNumberScheduled", 1))
    ready_now = status.get("readyReplicas", status.get("numberReady", 0)) or 0
    return f"has {ready_now} of {wanted} replicas ready"


def _pod(status: Object) -> str:
    parts = [f"is {_text(status.get('phase')) or 'Unknown'}"]
    for item in status.get("containerStatuses") or []:
        state = item.get("state") or {}
        waiting = (state.get("waiting") or {}).get("reason")
        ended = (state.get("terminated") or {}).get("reason")
        last = ((item.get("lastState") or {}).get("terminated") or {}).get("reason")
        words = [word for word in (waiting, ended, f"last ended: {last}" if last else None) if word]
        words += [f"{item['restartCount']} restarts"] if item.get("restartCount") else []
        if words:
            parts.append(f"container {_text(item.get('name'))}: {', '.join(map(str, words))}")
    return hide_secrets("; ".join(parts))[:MOST_MESSAGE]


def _text(value: Any) -> str:
    """One line, whatever came."""
    return " ".join(str(value).split()).replace("`", "'") if value is not None else ""
