"""Redactions: a layer over the verbatim text that says what is hidden, where, by whom and why.

Lines count from 1, columns from 0 in characters (code points); `end_column` is the first column that stays,
None means the end of the line. Whole lines are columns 0 to None. All positions are those of the document.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kosmos.errors import DataLost, InvalidInput

MAX_REPLACEMENT = 100
MAX_REASON = 500
MAX_NUMBER = 10**9
LINE_END = MAX_NUMBER + 1

Position = tuple[int, int]


class RedactionKind(StrEnum):
    """What is hidden; where redactions overlap, an earlier kind names the whole."""

    PRIVATE_KEY = "private_key"
    TOKEN = "token"  # noqa: S105
    PASSWORD = "password"  # noqa: S105
    ID_CARD = "id_card"
    SSN = "ssn"
    PASSPORT = "passport"
    BANK_CARD = "bank_card"
    IBAN = "iban"
    EMAIL = "email"
    PHONE = "phone"
    PRIVATE = "private"
    BOILERPLATE = "boilerplate"
    NOISE = "noise"


class RedactionSource(StrEnum):
    """Who asked for it; where redactions overlap, an earlier source names the whole."""

    PERSON = "person"
    MODEL = "model"
    DETECTOR = "detector"


@dataclass(frozen=True, slots=True)
class Redaction:
    """One hidden range and what is shown in its place."""

    start_line: int
    end_line: int
    kind: RedactionKind
    source: RedactionSource
    replacement: str
    reason: str = ""
    start_column: int = 0
    end_column: int | None = None

    def __post_init__(self) -> None:
        if not (1 <= self.start_line <= MAX_NUMBER and 0 <= self.start_column <= MAX_NUMBER):
            raise _refuse("starts at a line below 1 or a column below 0, or beyond any text")
        if self.end_line > MAX_NUMBER or not 1 <= self.end[1] <= LINE_END or self.start >= self.end:
            raise _refuse("ends before it starts, or beyond any text")
        if len(self.replacement) > MAX_REPLACEMENT or not self.replacement.isprintable():
            raise _refuse(f"needs a replacement of one line and at most {MAX_REPLACEMENT} characters")
        if len(self.reason) > MAX_REASON:
            raise _refuse(f"needs a reason of at most {MAX_REASON} characters")

    @property
    def start(self) -> Position:
        """Line and column of the first hidden character."""
        return self.start_line, self.start_column

    @property
    def end(self) -> Position:
        """Line and column after the last hidden character."""
        return self.end_line, LINE_END if self.end_column is None else self.end_column

    @property
    def whole_lines(self) -> bool:
        """Whether nothing of its lines stays."""
        return self.start_column == 0 and self.end_column is None


def mark_of(kind: RedactionKind) -> str:
    """What is shown in place of a kind: brackets that Markdown gives no meaning; nothing for mere ballast."""
    return "" if kind in (RedactionKind.BOILERPLATE, RedactionKind.NOISE) else f"⟦{kind}⟧"


def redact_range(start_line: int, end_line: int, *, kind: str, reason: str, source: str) -> Redaction:
    """A redaction of whole lines, as a model or a person asks for it, or InvalidInput."""
    try:
        known, origin = RedactionKind(kind), RedactionSource(source)
    except ValueError as error:
        raise _refuse(f"has an unknown kind or source: {error}") from None
    return Redaction(start_line, end_line, known, origin, mark_of(known), " ".join(reason.split()))


def dump_redactions(redactions: Iterable[Redaction]) -> dict[str, Any] | None:
    """The redactions as JSON, as a chunk stores them; None without any."""
    items = [
        {
            "start_line": item.start_line,
            "end_line": item.end_line,
            "start_column": item.start_column,
            "end_column": item.end_column,
            "kind": str(item.kind),
            "source": str(item.source),
            "replacement": item.replacement,
            "reason": item.reason,
        }
        for item in redactions
    ]
    return {"redactions": items} if items else None


def load_redactions(stored: Mapping[str, Any] | None) -> tuple[Redaction, ...]:
    """The redactions of a stored chunk, or DataLost: what should be hidden must never show by mistake."""
    if stored is None:
        return ()
    try:
        return tuple(_load(item) for item in stored["redactions"])
    except (KeyError, TypeError, ValueError, AttributeError, InvalidInput):
        raise DataLost(
            "The redactions of a chunk cannot be read, so its text cannot be shown.",
            remedy="Chunk the document again.",
        ) from None


def _load(item: Mapping[str, Any]) -> Redaction:
    return Redaction(
        start_line=int(item["start_line"]),
        end_line=int(item["end_line"]),
        kind=RedactionKind(item["kind"]),
        source=RedactionSource(item["source"]),
        replacement=str(item["replacement"]),
        reason=str(item["reason"]),
        start_column=int(item["start_column"]),
        end_column=None if item["end_column"] is None else int(item["end_column"]),
    )


def _refuse(what: str) -> InvalidInput:
    return InvalidInput(f"A redaction {what}.", remedy="Correct the redaction.")
