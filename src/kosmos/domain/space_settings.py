"""What a space wants: who finds its chunks, what is done where a model fails, what is hidden.

Settings are JSON of a space's row. Keys that are not ours stay as they are: whoever put them there knows why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kosmos.domain.quotas import Quota, check_quota, read_quota
from kosmos.domain.redactions import RedactionKind
from kosmos.errors import InvalidInput

PRODUCERS = ("structure", "indexer")
FALLBACKS = ("structure", "sentinel")
BATCH_LINES = 200
MIN_BATCH_LINES, MAX_BATCH_LINES = 20, 1000
MAX_PARALLEL = 64
MAX_SIZE = 8192
CHUNKING, REDACTION, LIMITS = "chunking", "redaction", "limits"
ON, OFF = "on", "off"
ALL_KINDS = frozenset(RedactionKind)


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """The settings in force. `parallel_batches` None: as many as the credential allows."""

    producer: str = PRODUCERS[0]
    fallback: str = FALLBACKS[0]
    batch_lines: int = BATCH_LINES
    parallel_batches: int | None = None
    sizes: tuple[int, int, int] = (256, 512, 2048)  # least, core and most tokens of a chunk by structure
    hidden_kinds: frozenset[RedactionKind] = field(default=ALL_KINDS)
    limits: Quota = field(default_factory=Quota)  # beside those of the instance


def read_settings(stored: Mapping[str, Any]) -> SpaceSettings:
    """The settings of a space; what cannot be understood counts as not given."""
    chunking = stored.get(CHUNKING)
    chosen = chunking if isinstance(chunking, Mapping) else {}
    usable = {name: value for name, value in chosen.items() if name in _FITS and _FITS[name](value)}
    kinds = _kinds(stored.get(REDACTION))
    if "sizes" in usable:
        usable["sizes"] = tuple(usable["sizes"])
    hidden = ALL_KINDS if kinds is None else kinds
    return SpaceSettings(**usable, hidden_kinds=hidden, limits=read_quota(stored.get(LIMITS)))


def check_settings(given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for a setting of ours that cannot be understood."""
    chunking = given.get(CHUNKING, {})
    if not isinstance(chunking, Mapping):
        raise InvalidInput("The setting chunking is no object.", remedy=f"It may hold: {', '.join(_FITS)}.")
    for name, value in chunking.items():
        if name not in _FITS:
            raise InvalidInput(
                f"There is no setting chunking.{str(name)[:40]}.", remedy=f"There are: {', '.join(_FITS)}."
            )
        if not _FITS[name](value):
            raise InvalidInput(f"{str(value)[:40]!r} is no value for {name}.", remedy=_REMEDIES[name])
    check_quota(given.get(LIMITS, {}))
    if REDACTION in given and _kinds(given[REDACTION]) is None:
        known = ", ".join(RedactionKind)
        raise InvalidInput(
            f"{str(given[REDACTION])[:40]!r} is no value for redaction.",
            remedy=f"Use on, off, or a list of what to hide: {known}.",
        )


def merge_settings(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with some of chunking or limits, or redaction, changed; None takes a value away."""
    merged = dict(stored)
    for group in (CHUNKING, LIMITS):
        before = stored.get(group)
        new = {**(before if isinstance(before, Mapping) else {}), **changes.get(group, {})}
        merged[group] = {name: value for name, value in new.items() if value is not None}
    merged |= {name: value for name, value in changes.items() if name not in (CHUNKING, LIMITS)}
    return {name: value for name, value in merged.items() if value not in (None, {})}


def _kinds(value: Any) -> frozenset[RedactionKind] | None:
    """Which kinds are hidden by that value; None for one that says nothing."""
    if value == ON:
        return ALL_KINDS
    if value == OFF:
        return frozenset()
    known = set(RedactionKind)
    if isinstance(value, list | tuple) and all(isinstance(kind, str) and kind in known for kind in value):
        return frozenset(RedactionKind(kind) for kind in value)
    return None


def _is_number(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _are_sizes(value: Any) -> bool:
    whole = isinstance(value, list | tuple) and len(value) == 3
    return whole and all(_is_number(size, 1, MAX_SIZE) for size in value) and sorted(value) == list(value)


_FITS = {
    "producer": lambda value: value in PRODUCERS,
    "fallback": lambda value: value in FALLBACKS,
    "batch_lines": lambda value: _is_number(value, MIN_BATCH_LINES, MAX_BATCH_LINES),
    "parallel_batches": lambda value: _is_number(value, 1, MAX_PARALLEL),
    "sizes": _are_sizes,
}
_REMEDIES = {
    "producer": f"Use {' or '.join(PRODUCERS)}.",
    "fallback": f"Use {' or '.join(FALLBACKS)}.",
    "batch_lines": f"Use {MIN_BATCH_LINES} to {MAX_BATCH_LINES} lines.",
    "parallel_batches": f"Use 1 to {MAX_PARALLEL}.",
    "sizes": f"Use three rising numbers of tokens up to {MAX_SIZE}, e.g. [256, 512, 2048].",
}
