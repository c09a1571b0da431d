"""What a search is restricted to, and the filter that every store understands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from kosmos.domain.chunks import ChunkType
from kosmos.domain.values import storable
from kosmos.errors import InvalidInput
from kosmos.store.filters import And, Contains, Eq, Filter, In, Prefix, Range

MAX_LISTED = 1000
LANGUAGES = ("zh", "en")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Conditions:
    """Restrictions that all hold at once; what is not given restricts nothing.

    `path` is how the source begins, `heading` how the headings above a chunk begin (`Setup > Linux`).
    `since` and `until` are days or times (ISO 8601) between which the document was changed, both included.
    `metadata` are values that the document declares, `pages` the first and the last page.
    """

    document_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    filetypes: tuple[str, ...] = ()
    path: str = ""
    heading: str = ""
    since: str = ""
    until: str = ""
    languages: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pages: tuple[int, int] | None = None


def compile_conditions(given: Conditions) -> Filter:
    """The filter; content alone unless types or levels are asked for."""
    _check(given)
    parts: list[Filter] = []
    types = given.types or (() if given.levels else (ChunkType.CONTENT.value,))
    lists = {
        "node_type": types,
        "document_id": given.document_ids,
        "level": given.levels,
        "filetype": given.filetypes,
        "language": given.languages,
    }
    parts += [_one_of(name, values) for name, values in lists.items() if values]
    if given.path:
        parts.append(Prefix("source", given.path))
    if given.heading:
        parts.append(Prefix("path", given.heading))
    if given.since or given.until:
        low = _moment(given.since, end=False) if given.since else None
        high = _moment(given.until, end=True) if given.until else None
        parts.append(Range("updated_at", low, high))
    parts += [Contains("metadata", tag) for tag in tags_of(given.metadata)]
    if given.pages is not None:
        parts.append(Range("page", *given.pages))
    return And(tuple(parts))


def tags_of(metadata: Mapping[str, Any]) -> list[str]:
    """Metadata as texts `key=value`, which every engine can look for; lists give one for each item."""
    tags: list[str] = []
    for key, value in metadata.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str | int | float | bool):
                text = str(item).lower() if isinstance(item, bool) else str(item)
                tags.append(f"{key}={text}"[:200])
    return [tag for tag in tags if storable(tag)][:MAX_LISTED]


def instant(moment: datetime) -> str:
    """A time as a text that sorts like the time itself."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _one_of(name: str, values: tuple[Any, ...]) -> Filter:
    return Eq(name, values[0]) if len(values) == 1 else In(name, frozenset(values))


def _check(given: Conditions) -> None:
    known = {kind.value for kind in ChunkType}
    for what, values, allowed in (("type", given.types, known), ("language", given.languages, LANGUAGES)):
        for value in values:
            if value not in allowed:
                raise InvalidInput(
                    f"There is no {what} {value!r}.", remedy=f"There are {', '.join(sorted(allowed))}."
                )
    if len(given.document_ids) > MAX_LISTED or len(given.metadata) > 100:
        raise InvalidInput(
            f"A filter names at most {MAX_LISTED} documents and 100 values of metadata.",
            remedy="Search the whole space, or filter by path.",
        )
    for value in given.metadata.values():
        if not isinstance(value, str | int | float | bool):
            raise InvalidInput(
                "A filter on metadata compares with a text, a number or true and false.",
                remedy='Give one value for each key, as {"author": "Li"}.',
            )
    texts = [given.path, given.heading, *given.document_ids, *map(str, given.metadata)]
    if any(len(text) > 4096 or not storable(text) for text in texts):
        raise InvalidInput("A filter holds a text that cannot occur.", remedy="Check what you pasted.")
    if given.pages is not None and not 0 <= given.pages[0] <= given.pages[1]:
        raise InvalidInput("The pages must go from a lower to a higher one.", remedy="As 3 to 7.")


def _moment(text: str, *, end: bool) -> str:
    """A day or a time as the index has it; a day at the end is the whole day."""
    try:
        if _DAY.fullmatch(text):
            date.fromisoformat(text)
            return f"{text}T23:59:59Z" if end else f"{text}T00:00:00Z"
        given = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text[:40]!r} is no day or time.", remedy="Write it as 2026-03-31 or 2026-03-31T08:00:00Z."
        ) from None
    return instant(given if given.tzinfo else given.replace(tzinfo=UTC))
