"""Patterns for searching: what RE2 understands, checked and explained."""

import re
from dataclasses import dataclass
from typing import Any

from kosmos.errors import InvalidInput

MAX_PATTERN = 1000
MAX_PROGRAM = 10_000
MAX_MEMORY = 8 << 20
# Bytes times instructions that the slowest way of matching does in about a tenth of a second.
_WORK = 10_000_000
_PIECE = (4096, 1 << 20)
_UNSUPPORTED = (
    (r"\(\?<?[=!]", "looking ahead or behind", "Search for the plain part and read the lines around it."),
    (r"\\[1-9]|\(\?P=|\\k<", "references back to a group", "Write the repeated part out."),
    (r"\(\?>|[*+?}]\+", "atomic groups or possessive repetition", "Leave them out: they change speed only."),
    (r"\\Z", r"\Z", r"Use \z, or $ for the end of a line."),
    (r"\(\?\(", "conditions", "Write the alternatives with |."),
)
_WORDS = re.compile(r"\\(.)|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|([*?]|\{[^}]*\}?)|([.^$+])|(.)", re.DOTALL)
_UNCLEAR = re.compile(r"\||\(\?|\\[QEpPxX0-9]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, a text that every match contains, and how many bytes to search at once."""

    engine: Any
    literal: str
    piece: int


def compile_pattern(pattern: str, *, ignore_case: bool, fixed: bool) -> Pattern:
    """A pattern for texts in UTF-8 whose matches stay within a line, or InvalidInput saying what to do."""
    import re2

    if not pattern or "\n" in pattern or "\x00" in pattern or len(pattern) > MAX_PATTERN:
        raise InvalidInput(
            f"A pattern has 1 to {MAX_PATTERN} characters on one line; this one has {len(pattern)}.",
            remedy="Search for a part of it.",
        )
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.literal = fixed
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    options.never_nl = True
    options.never_capture = True
    try:
        # Lines begin and end inside the text; a literal pattern knows no flags and needs none.
        engine = re2.compile((pattern if fixed else f"(?m){pattern}").encode("utf-8", "replace"), options)
    except re2.error as error:
        raise _refuse(pattern, error) from None
    if engine.programsize > MAX_PROGRAM:
        raise InvalidInput("The pattern is too large.", remedy="Use smaller numbers of repetitions.")
    smallest, largest = _PIECE
    piece = max(smallest, min(largest, _WORK // max(1, engine.programsize)))
    return Pattern(engine, "" if ignore_case else (pattern if fixed else find_literal(pattern)), piece)


def find_literal(pattern: str) -> str:
    """The longest text that every match must contain; empty when that is not plain to see."""
    if _UNCLEAR.search(pattern):
        return ""
    runs = [""]
    depth = 0
    for escaped, optional, other, plain in _WORDS.findall(pattern):
        letter = escaped if escaped and not escaped.isalnum() else plain
        depth += (plain == "(") - (plain == ")")
        if optional:
            # What may be repeated no time at all is not sure to be there.
            runs[-1] = runs[-1][:-1]
        if letter and letter not in ("(", ")") and depth == 0 and not optional and not other:
            runs[-1] += letter
        else:
            runs.append("")
    return max(runs, key=len)


def _refuse(pattern: str, error: Exception) -> InvalidInput:
    for sign, name, remedy in _UNSUPPORTED:
        if re.search(sign, pattern):
            return InvalidInput(f"The pattern uses {name}, which is not supported.", remedy=remedy)
    said = error.args[0] if error.args else ""
    reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    reason = reason.replace("(?m)", "")
    if "too large" in reason or "repetition size" in reason:
        return InvalidInput(
            f"The pattern is too large: {reason}.",
            remedy="Use smaller numbers of repetitions (at most 1000).",
        )
    return InvalidInput(
        f"The pattern is not understood: {reason}.",
        remedy="Mark signs that mean themselves with \\, or search for fixed text.",
    )
