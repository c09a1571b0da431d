"""Batches: runs of stretches that are sent together, cut where a section or block begins.

A batch depends on the line at which it begins and on nothing before it. So the same plan comes out again
after a crash, and after an edit further up the cuts soon fall on the same headings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kosmos.chunking.indexer_sheet import BATCH_TOKENS, Sheet, Stretch
from kosmos.chunking.packing import MIN_TOKENS

BATCH_LINES = 200
UNIT_TOKENS = 1200
UNIT_COST = 32  # what a line and a summary of ordinary length cost
OUTPUT_SHARE = 0.033
_WORDLESS = ("rule", "blank", "definition")  # nothing that a unit could begin with
_FILL = 0.6  # a batch is cut in its last part
_SMALL = 0.4  # less than this part of a batch is not halved
_SLACK = 1.15  # and may be a little larger where only a scrap would be left


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is sent at once: numbered lines, and tokens; less than the least is not worth a question."""

    lines: int = BATCH_LINES
    tokens: int = BATCH_TOKENS
    least_tokens: int = MIN_TOKENS

    def widen(self, factor: float) -> "Limits":
        """Limits that are so many times as large."""
        return replace(self, lines=int(self.lines * factor), tokens=int(self.tokens * factor))


@dataclass(frozen=True, slots=True)
class Region:
    """A range of lines that is filed at once, by the model if it is `asked`."""

    start_line: int
    end_line: int
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """The content between two headings: worth so many summaries if `wanted`."""

    start_line: int
    tokens: int
    units: int
    wanted: bool = False


DEFAULT_LIMITS = Limits()


def plan_regions(sheet: Sheet, start_line: int = 1, limits: Limits = DEFAULT_LIMITS) -> Iterator[Region]:
    """All regions from that line on."""
    while start_line <= len(sheet.lines):
        region = next_region(sheet, start_line, limits)
        yield region
        start_line = region.end_line + 1


def next_region(sheet: Sheet, start_line: int, limits: Limits = DEFAULT_LIMITS) -> Region:
    """The region that begins with that line, which begins a stretch."""
    first = sheet.at(start_line)
    stretches = sheet.stretches
    if not stretches[first].sent:
        after = next((at for at in range(first, len(stretches)) if stretches[at].sent), len(stretches))
        return Region(start_line, stretches[after - 1].end_line, asked=False)
    after = _first_beyond(stretches, first, limits)
    if after < len(stretches) and stretches[after].sent:
        wider = _first_beyond(stretches, first, limits.widen(_SLACK))
        ends = wider == len(stretches) or not stretches[wider].sent
        after = wider if ends else _best_cut(stretches, first, after)
    tokens = sum(stretch.tokens for stretch in stretches[first:after])
    return Region(start_line, stretches[after - 1].end_line, asked=tokens >= limits.least_tokens)


def _first_beyond(stretches: Sequence[Stretch], first: int, limits: Limits) -> int:
    """The first stretch that no longer fits, or is not sent."""
    lines = tokens = 0
    for at in range(first, len(stretches)):
        lines += stretches[at].heading is None
        tokens += stretches[at].tokens
        if at > first and (lines > limits.lines or tokens > limits.tokens or not stretches[at].sent):
            return at
    return len(stretches)


def _best_cut(stretches: Sequence[Stretch], first: int, after: int) -> int:
    """Where the next batch begins: the best boundary near the end, of equal ones the last."""
    room = sum(stretch.tokens for stretch in stretches[first:after]) * _FILL
    tokens, best = 0, after
    for at in range(first, after + 1):
        late = tokens >= room and at > first
        # Below a heading its own text comes first: a batch that ends with a heading cuts it off.
        cuts_off = stretches[at - 1].heading is not None and stretches[at].heading is None
        if late and not cuts_off and (best == after or stretches[at].rank <= stretches[best].rank):
            best = at
        tokens += stretches[at].tokens
    return best


def halve(sheet: Sheet, region: Region, limits: Limits = DEFAULT_LIMITS) -> tuple[Region, Region] | None:
    """The two halves of a region, cut at the best boundary about its middle; None if it is small already."""
    stretches = sheet.within(region.start_line, region.end_line)
    whole = sum(stretch.tokens for stretch in stretches)
    lines = sum(stretch.heading is None for stretch in stretches)
    small = limits.widen(_SMALL)
    if len(stretches) < 2 or (lines < small.lines and whole < small.tokens):
        return None
    tokens, best, price = 0, 1, float("inf")
    for at in range(1, len(stretches)):
        tokens += stretches[at - 1].tokens
        off = abs(2 * tokens - whole) / max(1, whole) + stretches[at].rank / 40
        if off < price:
            best, price = at, off
    middle = stretches[best].start_line
    return Region(region.start_line, middle - 1), Region(middle, region.end_line)


def find_runs(sheet: Sheet, region: Region) -> list[Run]:
    """The contents of a region between its marked headings, the larger ones wanted.

    What is small is nearly its own summary, and an answer is to stay a few percent of the question.
    """
    stretches = sheet.within(region.start_line, region.end_line)
    grouped = groupby(stretches, key=lambda stretch: stretch.heading is not None)
    runs = [_run(list(group)) for marked, group in grouped if not marked]
    room = sum(run.tokens for run in runs) * OUTPUT_SHARE / UNIT_COST
    wanted: set[int] = set()
    for run in sorted(runs, key=lambda run: (-run.tokens, run.start_line)):
        if not wanted or (run.tokens >= MIN_TOKENS and room >= run.units):
            wanted.add(run.start_line)
            room -= run.units
    return [replace(run, wanted=run.start_line in wanted) for run in runs]


def _run(stretches: Sequence[Stretch]) -> Run:
    tokens = sum(stretch.tokens for stretch in stretches)
    units = min(len(stretches), max(1, round(tokens / UNIT_TOKENS)))
    said = next((stretch for stretch in stretches if stretch.kind not in _WORDLESS), stretches[0])
    return Run(said.start_line, tokens, units)
