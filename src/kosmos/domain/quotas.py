"""How much somebody may use: documents, bytes, and tokens of models in a day."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kosmos.errors import InvalidInput

MOST = 10**18


@dataclass(frozen=True, slots=True)
class Quota:
    """The most of each; None: as much as there is room for."""

    documents: int | None = None
    bytes: int | None = None
    tokens_per_day: int | None = None

    def within(self, other: "Quota") -> "Quota":
        """What is left where both hold."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in NAMES)
        return Quota(*(min((one for one in pair if one is not None), default=None) for pair in pairs))


NAMES = tuple(item.name for item in fields(Quota))


@dataclass(frozen=True, slots=True)
class Quotas:
    """What the instance grants to every space, and to every user for all that is theirs."""

    space: Quota = field(default_factory=Quota)
    user: Quota = field(default_factory=Quota)


def read_quota(stored: Any) -> Quota:
    """A quota out of settings; what cannot be understood counts as not given."""
    given = stored if isinstance(stored, Mapping) else {}
    return Quota(**{name: given[name] for name in NAMES if _fits(given.get(name))})


def check_quota(given: Any) -> None:
    """Raise InvalidInput for what is no quota."""
    known = f"It may hold: {', '.join(NAMES)}."
    if not isinstance(given, Mapping):
        raise InvalidInput("The setting limits is no object.", remedy=known)
    for name, value in given.items():
        if name not in NAMES:
            raise InvalidInput(f"There is no setting limits.{str(name)[:40]}.", remedy=known)
        if not _fits(value):
            raise InvalidInput(
                f"{str(value)[:40]!r} is no value for limits.{name}.", remedy="Use a whole number from 0 on."
            )


def _fits(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST
