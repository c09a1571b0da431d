"""Execute: checks the calls of a model, runs them, and puts the results into standard form."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.agents.sources import Sources
from kosmos.domain.tokens import estimate_tokens
from kosmos.llm.streaming import StreamedCall
from kosmos.tools.contract import MalformedCall, Passage, ToolOutput
from kosmos.tools.registry import Toolbox, ToolFailed

AT_ONCE = 8
MOST_CALLS = 8  # of one step
MOST_TOKENS = 6000  # of one result


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to: `text` is what the model is told."""

    call: StreamedCall
    text: str
    ok: bool
    numbers: tuple[int, ...] = ()
    seconds: float = 0.0


def fingerprints(calls: Sequence[StreamedCall]) -> list[tuple[str, str]]:
    """What makes calls the same: the tool and its arguments."""
    return sorted((item.call.name, repr(_ordered(item.call.arguments, item.call.text))) for item in calls)


def _ordered(arguments: Any, text: str) -> Any:
    return sorted(arguments.items(), key=lambda pair: pair[0]) if isinstance(arguments, dict) else text


async def execute(
    calls: Sequence[StreamedCall], toolbox: Toolbox, sources: Sources, *, before: Sequence[tuple[str, str]]
) -> list[Result]:
    """The results in the order of the calls. Tools that only read run beside each other."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(item: StreamedCall) -> tuple[ToolOutput | str, float]:
        async with gate:
            started = time.perf_counter()
            found = await _run(item, toolbox, before)
            return found, time.perf_counter() - started

    parallel = all(_reads(item, toolbox) for item in calls)
    taken, refused = calls[:MOST_CALLS], calls[MOST_CALLS:]
    found = (
        await asyncio.gather(*(one(item) for item in taken))
        if parallel
        else [await one(item) for item in taken]
    )
    done = [
        _result(item, output, sources, seconds) for item, (output, seconds) in zip(taken, found, strict=True)
    ]
    return done + [
        Result(item, f"Not run: at most {MOST_CALLS} calls at once.", ok=False) for item in refused
    ]


def _reads(item: StreamedCall, toolbox: Toolbox) -> bool:
    tool = toolbox.tools.get(item.call.name)
    return tool is None or tool.read_only


async def _run(item: StreamedCall, toolbox: Toolbox, before: Sequence[tuple[str, str]]) -> ToolOutput | str:
    """The output, or why there is none."""
    call = item.call
    if fingerprints([item])[0] in before:
        return "You made this very call just before: its result stands above. Use it, or do something else."
    try:
        return await toolbox.run(call.name, toolbox.check(call.name, call.arguments, call.text))
    except MalformedCall as error:
        return f"The call was not made. {error}"
    except ToolFailed as error:
        return f"The call failed. {error}"


def _result(item: StreamedCall, output: ToolOutput | str, sources: Sources, seconds: float) -> Result:
    if isinstance(output, str):
        return Result(item, output, ok=False, seconds=seconds)
    kept, left = _within(output.passages)
    shown, numbers = sources.show(kept)
    data = sources.fenced(output.data[: MOST_TOKENS * 3]) if output.data else ""
    more = f"{left} more passages were left out for their length." if left else ""
    text = "\n\n".join(part for part in (output.text, shown, data, more) if part)
    return Result(item, text or "Done.", ok=True, numbers=tuple(numbers), seconds=seconds)


def _within(passages: Sequence[Passage]) -> tuple[list[Passage], int]:
    """As many passages as fit, and how many do not; the first always does."""
    kept: list[Passage] = []
    left = MOST_TOKENS
    for passage in passages:
        left -= estimate_tokens(passage.text)
        if kept and left < 0:
            break
        kept.append(passage)
    return kept, len(passages) - len(kept)
