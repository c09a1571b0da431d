"""Models that answer the indexer's questions: one well, the others in every way that models go wrong."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kosmos.chunking.indexer_ladder import Reply
from kosmos.chunking.indexer_prompt import HEADINGS, REDACT, SUMMARY, Question
from kosmos.chunking.summaries import summarize
from kosmos.doubles import pointing
from kosmos.doubles.pointing import Seen

_TITLE = re.compile(r"(?:\d+(?:\.\d+)*\.? [A-Z]|第.{1,3}[章节] ).{0,60}")


@dataclass(frozen=True)
class Call:
    """A call of a tool as a test makes it."""

    name: str
    arguments: dict[str, Any] | None


def see(question: Question) -> Seen:
    """Read the question as a model has to: from its words alone."""
    return pointing.see(str(question.messages[1]["content"]))


def brief(text: str) -> str:
    """A summary as long as the prompt allows."""
    said = summarize(text)
    short = said[:28] if re.search("[\u3400-\u9fff]", said) else " ".join(said.split()[:15])
    return short or "Nothing in particular"


def good(question: Question) -> Reply:
    """Begins units where asked, and splits long ones about as often as asked."""
    return Reply(good_calls(see(question)))


def good_calls(seen: Seen) -> list[Call]:
    """The calls of a model that does what it is asked."""
    numbers = sorted(seen.lines)
    starts = set(seen.wanted)
    spare = [number for number in numbers if number not in starts]
    more = max(0, seen.count - len(starts))
    step = max(1, len(spare) // (more + 1))
    starts |= set(spare[step::step][:more])
    units = [{"line": number, "summary": brief(seen.lines[number])} for number in sorted(starts)]
    titles = [
        number for number in numbers if number not in starts and _TITLE.fullmatch(seen.lines[number].strip())
    ]
    calls = [Call(SUMMARY, {"units": units})]
    return (
        [*calls, Call(HEADINGS, {"headings": [{"line": n, "level": 2} for n in titles]})] if titles else calls
    )


def nothing(_question: Question) -> Reply:
    """Says nothing."""
    return Reply(())


def empty(_question: Question) -> Reply:
    """Calls the tool with an empty list."""
    return Reply((Call(SUMMARY, {"units": []}),))


def garbage(_question: Question) -> Reply:
    """Arguments that are no JSON."""
    return Reply((Call(SUMMARY, None),), "length")


def unknown_tool(_question: Question) -> Reply:
    """A tool that was never offered."""
    return Reply((Call("split_text", {"text": "…"}),))


def changed(
    change: Callable[[list[dict[str, Any]], random.Random], None], seed: int = 0
) -> Callable[[Question], Reply]:
    """The good model with its units changed."""
    rng = random.Random(seed)

    def answer(question: Question) -> Reply:
        calls = good_calls(see(question))
        units = json.loads(json.dumps(calls[0].arguments))["units"]
        change(units, rng)
        return Reply([Call(SUMMARY, {"units": units}), *calls[1:]])

    return answer


def wild(seed: int) -> Callable[[Question], Reply]:
    """Anything a model could say: true and false lines, levels, ranges, shapes; sometimes right."""
    rng = random.Random(seed)

    def answer(question: Question) -> Reply:
        seen = see(question)
        numbers = sorted(seen.lines) or [1]
        kind = rng.randrange(10)
        if kind < 3:
            return good(question)
        if kind == 3:
            return rng.choice([nothing, empty, garbage, unknown_tool])(question)
        span = range(-1, max(numbers) + 4)
        pick = numbers if kind < 8 else span
        units = sorted(
            {rng.choice(pick) for _ in range(rng.randint(1, 6))} | (set(seen.wanted) if kind < 9 else set())
        )
        headings = [
            {"line": rng.choice(pick), "level": rng.randint(-1, 7) if kind > 6 else rng.randint(1, 6)}
            for _ in range(rng.randint(0, 4))
        ]
        headings = list({item["line"]: item for item in headings}.values())
        first = rng.choice(pick)
        ranges = [
            {
                "start_line": first,
                "end_line": first + rng.randint(0, 2),
                "kind": rng.choice(["private", "noise"]),
                "reason": "x",
            }
        ]
        tail = {"unfinished_from": rng.choice(numbers[len(numbers) // 2 :])} if rng.random() < 0.3 else {}
        items: list[Any] = [{"line": line, "summary": f"unit {line}"} for line in units]
        if kind == 9 and rng.random() < 0.3:
            items.append(
                rng.choice([None, 7, "x", {"line": "3"}, {"line": True, "summary": "y"}, {"summary": "z"}])
            )
        return Reply(
            [
                Call(SUMMARY, {"units": items, **tail}),
                Call(HEADINGS, {"headings": headings}),
                *([Call(REDACT, {"ranges": ranges})] if rng.random() < 0.4 else []),
            ]
        )

    return answer
