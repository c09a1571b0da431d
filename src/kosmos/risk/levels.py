"""The four levels, what the engine says about a command, and how judgements are put together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum


class RiskLevel(IntEnum):
    """How dangerous a command is; whole numbers, so that the greater one is the more dangerous."""

    LOW = 1  # information, read only
    MEDIUM = 2  # checks of configuration, debugging that changes nothing
    HIGH = 3  # changes, restarts, and everything that is not understood
    CRITICAL = 4  # deletes or endangers


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the engine understood of one command."""

    level: RiskLevel
    reason: str
    program: str = ""
    verb: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    context: str | None = None
    mutates: bool = False

    def at_least(self, level: RiskLevel, reason: str, *, mutates: bool | None = None) -> "Assessment":
        """The same, no lower than `level`; the reason changes when the level does."""
        changes = self.mutates if mutates is None else self.mutates or mutates
        if level <= self.level:
            return replace(self, mutates=changes)
        return replace(self, level=level, reason=reason, mutates=changes)


def read(reason: str, level: RiskLevel = RiskLevel.LOW) -> Assessment:
    """Something that changes nothing."""
    return Assessment(level, reason)


def change(reason: str, level: RiskLevel = RiskLevel.HIGH) -> Assessment:
    """Something that changes, or may change, something."""
    return Assessment(level, reason, mutates=True)


def annotated_level(annotations: Mapping[str, object] | None) -> RiskLevel | None:
    """What a tool says about itself in so many words; nothing said is nothing known.

    Hints come from the server that is to be judged: the answer may raise a risk and never lowers one.
    """
    hints = annotations if isinstance(annotations, Mapping) else {}
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        return RiskLevel.CRITICAL
    if hints.get("readOnlyHint") is False:
        return RiskLevel.HIGH
    return None


def raise_risk(
    engine: RiskLevel, model: RiskLevel | None, annotations: Mapping[str, object] | None = None
) -> RiskLevel:
    """The highest of what the engine, the model and the tool's own hints say."""
    said = (engine, model, annotated_level(annotations))
    return max(level for level in said if level is not None)
