"""What a model pointed at, checked line by line. What is wrong is said so that it can be corrected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.chunking.indexer_batches import Region
from kosmos.chunking.indexer_place import Place
from kosmos.chunking.indexer_prompt import HEADINGS, MODEL_KINDS, REDACT, SUMMARY, ToolCall, wanted_starts
from kosmos.chunking.indexer_sheet import Sheet
from kosmos.chunking.redaction import keep_kinds
from kosmos.chunking.rules import MAX_LEVEL
from kosmos.domain.redactions import MAX_REASON, Redaction, RedactionSource, redact_range

MAX_SUMMARY = 300
MAX_HEADING = 200
_MORE = "more_starts"
_ITEMS = {SUMMARY: "units", HEADINGS: "headings", REDACT: "ranges"}
_TITLES = ("paragraph", "list", "quote")  # "1. Introduction" is a list to the parser


@dataclass(frozen=True, slots=True)
class Pointed:
    """An answer in lines of the document: levels of found headings and summaries of units by line.

    Further units begin at `starts`, without a summary of the model.
    """

    headings: Mapping[int, int]
    units: Mapping[int, str]
    starts: frozenset[int] = frozenset()
    redactions: tuple[Redaction, ...] = ()
    unfinished_from: int | None = None


def read_answer(
    sheet: Sheet, region: Region, calls: Sequence[ToolCall], *, tail: bool = False
) -> tuple[Pointed, list[str]]:
    """What was pointed at and everything that is wrong with it; it may be filed if nothing is."""
    place = Place(sheet, region, sheet.within(region.start_line, region.end_line))
    wrong = list(_check_calls(calls))
    headings = _read_headings(place, list(_titles(calls)), wrong)
    units = _read_units(place, list(_items(calls, SUMMARY)), headings, wrong)
    starts = _read_starts(place, calls, headings, wrong) - units.keys()
    redactions = _read_ranges(place, list(_items(calls, REDACT)), wrong)
    unfinished = _read_tail(place, calls, wrong) if tail else None
    if not wrong:
        wrong += _check_filed(place, headings, units, unfinished)
    hidden = tuple(keep_kinds(redactions, sheet.kinds))
    return _cut(Pointed(headings, units, starts, hidden, unfinished)), wrong


def _check_calls(calls: Sequence[ToolCall]) -> Iterator[str]:
    if not calls:
        yield f"no tool was called; call {SUMMARY}"
    for call in calls:
        name = call.name[:60]
        if call.name not in _ITEMS:
            yield f"there is no tool {name!r}; use {', '.join(_ITEMS)}"
        elif call.arguments is None:
            yield f"the arguments of {name} are no JSON object"
        elif call.name != HEADINGS and not isinstance(call.arguments.get(_ITEMS[name]), list):
            yield f"{name} needs a list {_ITEMS[name]!r}"


def _titles(calls: Sequence[ToolCall]) -> Iterator[tuple[Any, Any]]:
    """The number and level of each heading, from lists by level or from a list of objects."""
    for call in calls:
        if call.name != HEADINGS:
            continue
        for level in range(1, MAX_LEVEL + 1):
            named = (call.arguments or {}).get(f"h{level}")
            yield from ((number, level) for number in (named if isinstance(named, list) else ()))
    for item in _items(calls, HEADINGS):
        yield _field(item, "line"), _field(item, "level")


def _items(calls: Sequence[ToolCall], name: str) -> Iterator[Any]:
    for call in calls:
        found = (call.arguments or {}).get(_ITEMS[name]) if call.name == name else None
        yield from found if isinstance(found, list) else ()


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else None


def _read_headings(place: Place, items: Sequence[tuple[Any, Any]], wrong: list[str]) -> dict[int, int]:
    found: dict[int, int] = {}
    for given, level in items:
        line = place.line(given)
        if line is None:
            wrong.append(f"{HEADINGS}: {_outside(place, given)}")
        elif place.stretch(line).heading:
            continue  # known already
        elif problem := _no_heading(place, line):
            wrong.append(f"{HEADINGS}: line {given} {problem}")
        elif type(level) is not int or not 1 <= level <= MAX_LEVEL:
            wrong.append(f"{HEADINGS}: the level of line {given} must be a number from 1 to {MAX_LEVEL}")
        elif (start := place.stretch(line).start_line) in found:
            wrong.append(f"{HEADINGS}: line {given} is named twice")
        else:
            found[start] = level
    return found


def _no_heading(place: Place, line: int) -> str | None:
    """Why a line can be no heading, if it cannot."""
    stretch = place.stretch(line)
    if stretch.kind not in _TITLES:
        return f"is part of a block of kind {stretch.kind}, where no heading can be"
    if line != stretch.sign:
        return "has no number, so it cannot be a heading"
    if len(place.sheet.shown[line - 1]) > MAX_HEADING:
        return "is too long for a heading"
    return None


def _read_units(
    place: Place, items: Sequence[Any], headings: Mapping[int, int], wrong: list[str]
) -> dict[int, str]:
    found: dict[int, str] = {}
    before = 0
    for item in items:
        given = _field(item, "line")
        line, summary = place.line(given), _summary(_field(item, "summary"))
        if line is None:
            wrong.append(f"{SUMMARY}: {_outside(place, given)}")
            continue
        if summary is None:
            wrong.append(f"{SUMMARY}: the unit at line {given} has no summary")
        if line <= before:
            problem = "is named twice" if line == before else f"comes after line {place.number(before)}"
            wrong.append(f"{SUMMARY}: line {given} {problem}; lines must ascend")
        before = max(before, line)
        start = _unit_start(place, line, headings)
        if start in found:
            inside = f"what begins at line {place.number(start)}, where a unit begins already"
            wrong.append(f"{SUMMARY}: line {given} lies inside {inside}")
        elif start is not None and summary:
            found[start] = summary
    return found


def _read_starts(
    place: Place, calls: Sequence[ToolCall], headings: Mapping[int, int], wrong: list[str]
) -> frozenset[int]:
    """Where units without a summary begin; in any order, and what is a unit or heading already is one."""
    found: set[int] = set()
    for call in calls:
        named = (call.arguments or {}).get(_MORE) if call.name == SUMMARY else None
        for given in named if isinstance(named, list) else ():
            line = place.line(given)
            if line is None:
                wrong.append(f"{_MORE}: {_outside(place, given)}")
            elif (start := _unit_start(place, line, headings)) is not None:
                found.add(start)
    return frozenset(found)


def _unit_start(place: Place, line: int, headings: Mapping[int, int]) -> int | None:
    """Where a unit begins; None for one that would be a heading and nothing else."""
    start = place.settle(line)
    while start is not None and start in headings:
        following = place.below(place.stretch(start))
        start = following.start_line if following else None
    return start


def _summary(value: Any) -> str | None:
    """A summary as one line of reasonable length, None where there is none."""
    text = " ".join(value.replace("\x00", "").split()) if isinstance(value, str) else ""
    text = text.encode("utf-8", "ignore").decode()
    return (text if len(text) <= MAX_SUMMARY else text[: MAX_SUMMARY - 1] + "…") or None


def _read_ranges(place: Place, items: Sequence[Any], wrong: list[str]) -> tuple[Redaction, ...]:
    found: list[Redaction] = []
    for item in items:
        given = _field(item, "start_line"), _field(item, "end_line")
        first, last, kind = place.line(given[0]), place.line(given[1]), _field(item, "kind")
        if first is None or last is None or last < first:
            wrong.append(
                f"{REDACT}: {given[0]!r:.40} to {given[1]!r:.40} is no range within 1 to {place.last}"
            )
        elif kind not in MODEL_KINDS:
            wrong.append(f"{REDACT}: the kind of a range is one of {', '.join(MODEL_KINDS)}")
        else:
            stretch = place.stretch(last)
            # A number stands for all lines up to the next one.
            last = stretch.end_line if last == stretch.sign else last
            reason = str(_field(item, "reason") or "")[:MAX_REASON]
            found.append(redact_range(first, last, kind=kind, reason=reason, source=RedactionSource.MODEL))
    if found and _hides_most(place, found):
        wrong.append(f"{REDACT}: more than half of the lines would be hidden; hide only what must be")
    return tuple(found)


def _hides_most(place: Place, found: Sequence[Redaction]) -> bool:
    hidden = {line for item in found for line in range(item.start_line, item.end_line + 1)}
    visible = [
        line
        for line in range(place.region.start_line, place.region.end_line + 1)
        if place.sheet.shown[line - 1].strip()
    ]
    return 2 * sum(line in hidden for line in visible) > len(visible)


def _read_tail(place: Place, calls: Sequence[ToolCall], wrong: list[str]) -> int | None:
    """The line from which on nothing is filed yet: in the second half, or no end would come."""
    given = [(call.arguments or {}).get("unfinished_from") for call in calls if call.name == SUMMARY]
    named = next((value for value in given if value not in (None, 0)), None)
    if named is None:
        return None
    line = place.line(named)
    if line is None:
        wrong.append(f"unfinished_from: {_outside(place, named)}")
        return None
    start = place.stretch(line).start_line
    position = place.sheet.at(start) - place.sheet.at(place.region.start_line)
    if 2 * position < len(place.stretches):
        wrong.append(f"unfinished_from: line {named} leaves more than half of the text; file more of it")
    return start


def _check_filed(
    place: Place, headings: Mapping[int, int], units: Mapping[int, str], unfinished: int | None
) -> Iterator[str]:
    """Enough of what was asked for; where little is missing, the system has summaries of its own."""
    wanted = [
        line for line in wanted_starts(place.sheet, place.region) if unfinished is None or line < unfinished
    ]
    left = [line for line in wanted if line not in units and line not in headings]
    missing = [str(place.number(place.stretch(line).sign)) for line in left]
    if not units and missing:
        yield f"nothing is filed; begin units at {', '.join(missing)}"
    elif 2 * len(missing) > len(wanted):
        yield f"no unit begins at {', '.join(missing)}"


def _cut(pointed: Pointed) -> Pointed:
    """Without what lies in the tail: the next batch finds it again."""
    end = pointed.unfinished_from
    if end is None:
        return pointed
    return Pointed(
        {line: level for line, level in pointed.headings.items() if line < end},
        {line: summary for line, summary in pointed.units.items() if line < end},
        frozenset(line for line in pointed.starts if line < end),
        tuple(item for item in pointed.redactions if item.end_line < end),
        end,
    )


def _outside(place: Place, given: Any) -> str:
    return f"there is no line {given!r:.40}; numbers go from 1 to {place.last}"
