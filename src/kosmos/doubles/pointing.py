"""A model for the indexer that never read a book: it answers from the numbers in the question.

It answers well, or in one of the ways in which models go wrong. For trying things out and for proofs.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SUMMARY = "generate_content_summary"
HEADINGS = "identify_headings"
REDACT = "redact_lines"

_NUMBERED = re.compile(r"(\d+)\|(.*)")
_WANTED = re.compile(r"Begin units at ([\d, ]+); (\d+) summar(?:y|ies) in all")

Call = tuple[str, Mapping[str, Any] | None]  # a tool and its arguments; None: what is no JSON


@dataclass(frozen=True, slots=True)
class Seen:
    """What can be seen of a question."""

    lines: Mapping[int, str]  # the numbered ones, each with what belongs to it
    wanted: Sequence[int]
    count: int  # of summaries


def see(content: str) -> Seen:
    """Read the question about a batch from its words alone."""
    head, _, task = content.rpartition("\n>>>\n")
    body = head.split("\n<<<\n", 1)[-1]
    lines: dict[int, list[str]] = {}
    last: list[str] = []
    for line in body.split("\n"):
        match = _NUMBERED.match(line)
        if match:
            last = lines.setdefault(int(match[1]), [])
        if not line.startswith("#"):
            last.append(match[2] if match else line)
    asked = _WANTED.search(task)
    wanted = [int(number) for number in asked[1].split(",")] if asked else []
    shown = {number: "\n".join(parts) for number, parts in lines.items()}
    return Seen(shown, wanted, int(asked[2]) if asked else 1)


def point_well(seen: Seen, rng: random.Random) -> list[Call]:
    """Units where asked, further starts here and there."""
    spare = [number for number in seen.lines if number not in seen.wanted]
    more = sorted(rng.sample(spare, min(len(spare), rng.randint(0, 3))))
    return [_summaries(seen, seen.wanted, more_starts=more)]


def say_nothing(_seen: Seen, _rng: random.Random) -> list[Call]:
    """No call at all."""
    return []


def file_nothing(_seen: Seen, _rng: random.Random) -> list[Call]:
    """A call with an empty list."""
    return [(SUMMARY, {"units": []})]


def babble(_seen: Seen, rng: random.Random) -> list[Call]:
    """Arguments that are no JSON, a tool that is none, lists that are none."""
    strange: list[Call] = [(SUMMARY, None), ("split_text", {"text": "…"}), (SUMMARY, {"units": "12"})]
    return [rng.choice(strange)]


def point_partly(seen: Seen, rng: random.Random) -> list[Call]:
    """Only some of what was asked for, and the rest left for later."""
    some = [number for number in seen.wanted if rng.random() < 0.5]
    left = {"unfinished_from": rng.choice(list(seen.lines) or [1])} if rng.random() < 0.5 else {}
    return [_summaries(seen, some, **left)]


def point_in_disorder(seen: Seen, rng: random.Random) -> list[Call]:
    """The right lines in any order."""
    return [_summaries(seen, rng.sample(list(seen.wanted), len(seen.wanted)))]


def point_twice(seen: Seen, rng: random.Random) -> list[Call]:
    """The same lines again, and lines in the middle of what was named."""
    doubled = [*seen.wanted, *seen.wanted]
    inside = [number + rng.randint(0, 2) for number in seen.wanted]
    return [_summaries(seen, sorted([*doubled, *inside])), _titles(doubled[:4], rng)]


def lie(seen: Seen, rng: random.Random) -> list[Call]:
    """Lines, levels and ranges that there are not, and values that are no numbers."""
    last = max(seen.lines, default=1)
    false: list[Any] = [rng.randint(-3, last + 50) for _ in range(3)]
    false += rng.sample([0, -1, 10**12, True, None, "7", "x", 2.5, [3], {}], 3)
    units = [{"line": line, "summary": rng.choice(["false", "", None, 7])} for line in false]
    ranges = [{"start_line": rng.choice(false), "end_line": rng.choice(false), "kind": "private"}]
    return [
        (SUMMARY, {"units": units, "more_starts": false, "unfinished_from": rng.choice(false)}),
        (HEADINGS, {"h1": false, "headings": [{"line": rng.choice(false), "level": rng.randint(-1, 9)}]}),
        (REDACT, {"ranges": ranges}),
    ]


def point_wildly(seen: Seen, rng: random.Random) -> list[Call]:
    """Real lines everywhere: headings, starts and hidden lines that make no sense but are allowed."""
    numbers = list(seen.lines) or [1]
    units = sorted({*seen.wanted, *rng.choices(numbers, k=3)})
    first = rng.choice(numbers)
    hidden = {"start_line": first, "end_line": first + rng.randint(0, 2), "kind": "noise", "reason": "x"}
    tail = {"unfinished_from": rng.choice(numbers[len(numbers) // 2 :])} if rng.random() < 0.3 else {}
    return [
        _summaries(seen, units, more_starts=rng.choices(numbers, k=4), **tail),
        _titles(rng.choices(numbers, k=rng.randint(0, 4)), rng),
        *([(REDACT, {"ranges": [hidden]})] if rng.random() < 0.4 else []),
    ]


Manner = Callable[[Seen, random.Random], list[Call]]
MANNERS: Mapping[str, Manner] = {
    "well": point_well,
    "nothing": say_nothing,
    "empty": file_nothing,
    "babble": babble,
    "partly": point_partly,
    "disorder": point_in_disorder,
    "overlap": point_twice,
    "lies": lie,
    "wildly": point_wildly,
}


def point_somehow(seen: Seen, rng: random.Random) -> list[Call]:
    """Another manner each time."""
    return rng.choice(list(MANNERS.values()))(seen, rng)


def _summaries(seen: Seen, numbers: Sequence[int], **more: Any) -> Call:
    units = [{"line": number, "summary": _summary(seen.lines.get(number, ""))} for number in numbers]
    return SUMMARY, {"units": units, **more}


def _summary(text: str) -> str:
    words = " ".join(text.split())
    return f"About {words[:40]}" if words else "About nothing"


def _titles(numbers: Sequence[int], rng: random.Random) -> Call:
    levels: dict[str, list[int]] = {}
    for number in sorted(set(numbers)):
        levels.setdefault(f"h{rng.randint(1, 6)}", []).append(number)
    return HEADINGS, levels
