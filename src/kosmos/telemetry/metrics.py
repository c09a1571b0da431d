"""Counters, gauges and histograms of one process, and their text for Prometheus.

A label never holds text that a user wrote: values come from routes, types and statuses, and a metric that
got too many of them all the same counts the rest as `other`.
"""

import bisect
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_SERIES = 1000
OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: a name, labels with their values, a number."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(frozen=True, slots=True)
class Family:
    """All lines of one metric."""

    name: str
    kind: str
    text: str
    samples: tuple[Sample, ...]


class Counter:
    """A number by labels that only grows; with `kind="gauge"` one that may fall too."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = (), *, kind: str = "counter") -> None:
        self.name = name
        self._text = text
        self._labels = tuple(labels)
        self._kind = kind
        self._lock = threading.Lock()  # workers count in a thread of their own
        self._values: dict[Labels, float] = {}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count."""
        with self._lock:
            key = _known(self._values, labels)
            self._values[key] = self._values.get(key, 0.0) + by

    def value(self, *labels: str) -> float:
        """What was counted."""
        with self._lock:
            return self._values.get(labels, 0.0)

    def family(self) -> Family:
        """Its lines."""
        with self._lock:
            items = sorted(self._values.items())
        samples = tuple(Sample(self.name, tuple(zip(self._labels, key, strict=True)), n) for key, n in items)
        return Family(self.name, self._kind, self._text, samples)


class Histogram:
    """How often a duration was at most so many seconds, by labels."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self._text = text
        self._labels = tuple(labels)
        self._lock = threading.Lock()
        self._buckets: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, seconds: float, *labels: str) -> None:
        """Count a duration."""
        with self._lock:
            key = _known(self._buckets, labels)
            counts = self._buckets.setdefault(key, [0] * (len(SECONDS) + 1))
            counts[bisect.bisect_left(SECONDS, seconds)] += 1
            self._sums[key] = self._sums.get(key, 0.0) + seconds

    def count(self, *labels: str) -> int:
        """How many durations were counted."""
        with self._lock:
            return sum(self._buckets.get(labels, ()))

    def family(self) -> Family:
        """Its lines."""
        with self._lock:
            items = sorted((key, tuple(counts), self._sums[key]) for key, counts in self._buckets.items())
        samples: list[Sample] = []
        for key, counts, total in items:
            samples += self._series(tuple(zip(self._labels, key, strict=True)), counts, total)
        return Family(self.name, "histogram", self._text, tuple(samples))

    def _series(
        self, labels: tuple[tuple[str, str], ...], counts: tuple[int, ...], total: float
    ) -> Iterable[Sample]:
        seen = 0
        for limit, count in zip((*SECONDS, float("inf")), counts, strict=True):
            seen += count
            yield Sample(f"{self.name}_bucket", (*labels, ("le", _number(limit))), seen)
        yield Sample(f"{self.name}_sum", labels, total)
        yield Sample(f"{self.name}_count", labels, seen)


def _known(present: Mapping[Labels, object], key: Labels) -> Labels:
    """The labels, or `other` in place of the one too many."""
    return key if key in present or len(present) < MAX_SERIES else (OTHER,) * len(key)


def exposition(families: Iterable[Family]) -> str:
    """The text that Prometheus reads."""
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_plain(family.text)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for sample in family.samples:
            inner = ",".join(f'{name}="{_quoted(value)}"' for name, value in sample.labels)
            lines.append(f"{sample.name}{{{inner}}} {_number(sample.value)}" if inner else _bare(sample))
    return "\n".join(lines) + "\n"


def _bare(sample: Sample) -> str:
    return f"{sample.name} {_number(sample.value)}"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _plain(text).replace('"', '\\"')
