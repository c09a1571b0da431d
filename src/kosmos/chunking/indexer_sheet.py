"""A text laid out for pointing: what is shown of it, and where something may begin.

The text is divided into stretches, the smallest parts that are never cut. A stretch begins with a heading,
a block, a list item or a line of prose that was ended on purpose, never inside code or a table. Only lines
that begin a stretch get a number, so a model cannot point at a place where no unit can begin, and numbers
cost half of what they would cost on every line.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from kosmos.chunking.packing import MAX_TOKENS
from kosmos.chunking.redaction import (
    ALL_KINDS,
    Kinds,
    apply_redactions,
    hide_identifiers,
    merge_redactions,
    redactions_of,
)
from kosmos.chunking.splitting_comments import Comments, find_comments
from kosmos.domain.blocks import Block
from kosmos.domain.language import language_of
from kosmos.domain.redactions import Redaction, RedactionKind, RedactionSource
from kosmos.domain.tokens import estimate_tokens

BATCH_TOKENS = 6000
LONG_LINE = 1500  # a line of more tokens is never sent
_SMALL_BLOCK = 200  # a block of fewer tokens is not divided
_RANK_BLOCK, _RANK_INSIDE = 7, 8
_WHOLE_KINDS = frozenset({"code", "table", "html"})
_CLOSED = re.compile(r"[.!?:;。！？：；…][\s\"'”’」』）)\]*_`]*$")
_NAME = r"[^\s:：,;!?，。、；！？]{1,30}"
_SPEAKER = re.compile(rf"\s*(?:\*\*)?(?:\[?\d{{1,2}}:\d{{2}}|{_NAME}(?: {_NAME})?[:：]\s*\S)")
_FENCE = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that stay together. `rank` tells how well a batch may begin here: the smaller, the better.

    `heading` is the marked heading that it is, if it is one. What is not `sent` is left to structure.
    """

    start_line: int
    end_line: int
    sign: int  # the line that carries the number: the first that is not blank
    tokens: int
    rank: int
    kind: str
    block: int
    heading: Block | None = None
    sent: bool = True


@dataclass(frozen=True, slots=True)
class Sheet:
    """A laid out text. `shown` has the same lines as the text, without comments and what is redacted."""

    lines: Sequence[str]
    shown: Sequence[str]
    blocks: Sequence[Block]
    stretches: Sequence[Stretch]
    redactions: tuple[Redaction, ...]
    title: str
    language: str
    figures: Mapping[int, str] = field(default_factory=dict)  # what analysed figures show, by line
    kinds: Kinds = ALL_KINDS  # what is hidden, whoever finds it

    def at(self, line: int) -> int:
        """The position of the stretch that a line belongs to."""
        return bisect_right(self.stretches, line, key=lambda stretch: stretch.start_line) - 1

    def within(self, start_line: int, end_line: int) -> Sequence[Stretch]:
        """The stretches of a range of lines that begins and ends with stretches."""
        return self.stretches[self.at(start_line) : self.at(end_line) + 1]

    @property
    def outline(self) -> tuple[Block, ...]:
        """The marked headings."""
        return tuple(stretch.heading for stretch in self.stretches if stretch.heading)


def lay_out(
    text: str,
    blocks: Sequence[Block],
    *,
    title: str = "",
    redactions: Iterable[Redaction] = (),
    figures: Mapping[int, str] | None = None,
    kinds: Kinds = ALL_KINDS,
) -> Sheet:
    """The sheet of a text that is not empty; `kinds` are hidden wherever they turn up."""
    lines = text.split("\n")
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    comments = find_comments(text)
    hidden = merge_redactions(redactions)
    shown = apply_redactions(text, [*hidden, *_as_redactions(comments, offsets)]).split("\n")
    tokens = [estimate_tokens(line) for line in shown]
    whole = [_hide_title(block, hidden, kinds) for block in _whole(shown, blocks)]
    starts = {
        line: stretch
        for number, block in enumerate(whole)
        for line, stretch in _starts(shown, tokens, block, number)
        if not comments.covers(offsets[line - 1]) or stretch.heading
    }
    return Sheet(
        lines,
        shown,
        blocks,
        _stretches(starts, tokens),
        hidden,
        hide_identifiers(title, kinds),
        language_of("\n".join(shown)),
        {line: hide_identifiers(text, kinds) for line, text in (figures or {}).items()},
        kinds,
    )


def _hide_title(block: Block, hidden: Sequence[Redaction], kinds: Kinds) -> Block:
    """A heading as it may be shown: its title goes into the outline."""
    if not block.level or not redactions_of(hidden, block.start_line, block.end_line):
        return block
    return replace(block, title=hide_identifiers(block.title, kinds))


def _as_redactions(comments: Comments, offsets: Sequence[int]) -> Iterator[Redaction]:
    """Comments as places of which nothing is shown."""
    for start, end in zip(comments.starts, comments.ends, strict=True):
        first, last = bisect_right(offsets, start), bisect_right(offsets, end - 1)
        columns = start - offsets[first - 1], end - offsets[last - 1]
        yield Redaction(
            first,
            last,
            RedactionKind.NOISE,
            RedactionSource.DETECTOR,
            "",
            start_column=columns[0],
            end_column=columns[1],
        )


def _whole(shown: Sequence[str], blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, with one more for lines that the parser skips, such as definitions of links."""
    done = 0
    for block in [*blocks, Block("", len(shown) + 1, len(shown) + 1)]:
        first = _visible(shown, done + 1, block.start_line - 1)
        if first:
            yield Block("definition", first, block.start_line - 1)
        if block.kind:
            yield block
        done = block.end_line


def _visible(shown: Sequence[str], first: int, last: int) -> int | None:
    return next((line for line in range(first, last + 1) if shown[line - 1].strip()), None)


def _starts(
    shown: Sequence[str], tokens: Sequence[int], block: Block, number: int
) -> Iterator[tuple[int, Stretch]]:
    """The lines of a block at which something may begin; no end is known yet."""
    rank = block.level or _RANK_BLOCK
    heading = block if block.level else None
    first = block.start_line if heading else _visible(shown, block.start_line, block.end_line)
    if first is None:
        return
    sent = block.kind != "front_matter"
    yield first, Stretch(first, block.end_line, first, 0, rank, block.kind, number, heading, sent)
    for line in sorted(_inner_starts(shown, tokens, block)):
        if line > first and shown[line - 1].strip():
            yield line, Stretch(line, block.end_line, line, 0, _RANK_INSIDE, block.kind, number)


def _inner_starts(shown: Sequence[str], tokens: Sequence[int], block: Block) -> set[int]:
    inside = range(block.start_line, block.end_line + 1)
    size = sum(tokens[line - 1] for line in inside)
    if (
        block.kind == "code"
        and size > MAX_TOKENS
        and not shown[block.start_line - 1].lstrip(" >").startswith(_FENCE)
    ):
        # A long text whose paragraphs are all indented: to the parser it is code.
        return {line for line in inside[1:] if not shown[line - 2].strip()}
    if block.level or block.kind in ("front_matter", *_WHOLE_KINDS) or size <= _SMALL_BLOCK:
        return set()
    found = set(block.safe_starts)
    for line in inside:
        if tokens[line - 1] > LONG_LINE:  # alone, so that what stands around it can be sent
            found |= {line, _visible(shown, line + 1, block.end_line) or line}
    if block.kind == "paragraph":
        width = sorted(len(shown[line - 1]) for line in inside)[-2:][0]
        found |= {line for line in inside[1:] if _begins(shown[line - 2], shown[line - 1], width)}
    return found


def _begins(before: str, line: str, width: int) -> bool:
    """Whether the line above was ended on purpose, or this one names who speaks.

    Less than half of the width is short. The widest line does not count: it may be a long address.
    """
    return bool(_CLOSED.search(before) or _SPEAKER.match(line)) or 2 * len(before) < width


def _stretches(starts: Mapping[int, Stretch], tokens: Sequence[int]) -> tuple[Stretch, ...]:
    """Stretches that leave no line out: what follows until the next start belongs to the one above."""
    if not starts:
        starts = {1: Stretch(1, 1, 1, 0, _RANK_BLOCK, "blank", 0, sent=False)}
    numbers = sorted(starts)
    made = []
    for first, after in pairwise([*numbers, len(tokens) + 1]):
        begun, begin = starts[first], 1 if first == numbers[0] else first
        size = sum(tokens[begin - 1 : after - 1])
        limit = MAX_TOKENS if begun.kind in _WHOLE_KINDS else BATCH_TOKENS
        longest = max(tokens[begin - 1 : after - 1])
        sent = begun.sent and size <= limit and longest <= LONG_LINE
        made.append(replace(begun, start_line=begin, end_line=after - 1, tokens=size, sent=sent))
    return tuple(made)
