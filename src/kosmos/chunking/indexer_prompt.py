"""What a model is asked about a region: fixed words first, then the outline, then the numbered lines.

Numbers count from the first line of the region, so that the same words are sent, and an answer that was
given once is found again, when the region has only moved.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kosmos.chunking.indexer_batches import Region, Run, find_runs
from kosmos.chunking.indexer_sheet import Sheet
from kosmos.domain.redactions import RedactionKind
from kosmos.prompts import load_prompt

SUMMARY = "generate_content_summary"
HEADINGS = "identify_headings"
REDACT = "redact_lines"
MODEL_KINDS = (
    RedactionKind.PRIVATE,
    RedactionKind.PASSWORD,
    RedactionKind.BOILERPLATE,
    RedactionKind.NOISE,
)

_OUTLINE_HEADINGS = 5
_MAX_TITLE = 80
_MAX_FIGURE = 400
_MAX_ANSWER = 2000
_MAX_VIOLATIONS = 12
_SHOWN_LEVELS = 3  # in the schema; deeper ones are understood, too


class ToolCall(Protocol):
    """A call of a tool: `arguments` is None where they are no JSON object."""

    @property
    def name(self) -> str:
        """The tool."""

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """What it was given."""


@dataclass(frozen=True, slots=True)
class Title:
    """A heading above a region, marked or found."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a model. `fits` tells whether calls could be filed, so that a stored answer that
    could not is not taken for good by another job; `lines` are those that it is about."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    fits: Callable[[Sequence[ToolCall]], bool] = bool
    lines: tuple[int, int] | None = None


def make_question(sheet: Sheet, region: Region, outline: Sequence[Title], *, tail: bool = False) -> Question:
    """The question about a region; with `tail`, its last lines may be left to the next one."""
    runs = find_runs(sheet, region)
    text = load_prompt("index_batch").render(
        title=_short(sheet.title) or "untitled",
        outline="\n".join(["Outline so far:", *_outline(outline)] if outline else []),
        text="\n".join(_numbered(sheet, region)).rstrip(),
        task=_task(sheet, region, runs, tail=tail),
    )
    system = load_prompt("index_lines").render()
    messages = ({"role": "system", "content": system}, {"role": "user", "content": text})
    return Question(messages, _tools(tail=tail))


def ask_again(question: Question, calls: Sequence[ToolCall], violations: Sequence[str]) -> Question:
    """The same question with what was wrong about the first answer."""
    given = json.dumps([[call.name, call.arguments] for call in calls], ensure_ascii=False)
    listed = [f"- {violation}" for violation in violations[:_MAX_VIOLATIONS]]
    if len(violations) > _MAX_VIOLATIONS:
        listed.append(f"- and {len(violations) - _MAX_VIOLATIONS} more of this kind")
    text = load_prompt("index_again").render(answer=given[:_MAX_ANSWER], violations="\n".join(listed))
    return replace(question, messages=(*question.messages, {"role": "user", "content": text}))


def wanted_starts(sheet: Sheet, region: Region) -> list[int]:
    """The lines of the document at which the model is asked to begin units."""
    return [run.start_line for run in find_runs(sheet, region) if run.wanted]


def _outline(outline: Sequence[Title]) -> Iterator[str]:
    """The headings that are open where the region begins, and the last few others."""
    is_open: set[int] = set()
    level = 7
    for at in range(len(outline) - 1, -1, -1):
        if outline[at].level < level:
            is_open.add(at)
            level = outline[at].level
    for at, title in enumerate(outline):
        if at in is_open or at >= len(outline) - _OUTLINE_HEADINGS:
            yield f"{'#' * title.level} {_short(title.text)}"


def _numbered(sheet: Sheet, region: Region) -> Iterator[str]:
    """The lines as they are sent: blank ones once, figures with what they show."""
    signs = {
        stretch.sign
        for stretch in sheet.within(region.start_line, region.end_line)
        if stretch.heading is None
    }
    titles = dict(_titles(sheet, region))
    blank = True
    for line in range(region.start_line, region.end_line + 1):
        shown = titles[line] if line in titles else sheet.shown[line - 1].rstrip()
        number = f"{line - region.start_line + 1}|" if line in signs and shown else ""
        if shown or not blank:
            yield number + shown
        blank = not shown
        if line in sheet.figures:
            yield f"[figure: {' '.join(sheet.figures[line].split())[:_MAX_FIGURE]}]"


def _titles(sheet: Sheet, region: Region) -> Iterator[tuple[int, str]]:
    """What is sent in place of the lines of marked headings: the title as it is read, without anchors."""
    for stretch in sheet.within(region.start_line, region.end_line):
        if stretch.heading:
            block = stretch.heading
            yield block.start_line, f"{'#' * block.level} {block.title}".rstrip()
            yield from ((line, "") for line in range(block.start_line + 1, block.end_line + 1))


def _task(sheet: Sheet, region: Region, runs: Sequence[Run], *, tail: bool) -> str:
    signs = [sheet.stretches[sheet.at(run.start_line)].sign for run in runs if run.wanted]
    numbers = [str(sign - region.start_line + 1) for sign in signs]
    count = sum(run.units for run in runs if run.wanted)
    counted = f"{count} summaries" if count > 1 else "1 summary"
    longest = ", for the longest units" if count > len(numbers) else ""
    parts = [f"Begin units at {', '.join(numbers)}; {counted} in all{longest}, in {sheet.language}."]
    if tail:
        parts.append(
            "The text goes on: if the last unit is not complete here, give unfinished_from, the number at "
            "which it begins, and no more of it."
        )
    return " ".join(parts)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TITLE else text[: _MAX_TITLE - 1] + "…"


def _tools(*, tail: bool) -> tuple[Mapping[str, Any], ...]:
    """Short schemas: they are sent with every question, and answers are checked anyway."""
    number, text = {"type": "integer"}, {"type": "string"}
    kind = {"enum": [str(kind) for kind in MODEL_KINDS]}
    ranges = {"start_line": number, "end_line": number, "kind": kind, "reason": text}
    numbers = {"type": "array", "items": number}
    more = {"unfinished_from": number} if tail else {}
    return (
        _tool(SUMMARY, {"units": _list({"line": number, "summary": text}), "more_starts": numbers, **more}),
        _tool(HEADINGS, {f"h{level}": numbers for level in range(1, _SHOWN_LEVELS + 1)}),
        _tool(REDACT, {"ranges": _list(ranges)}),
    )


def _list(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": item}}


def _tool(name: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}
