"""Which neighbours of a section become one chunk: near the core size, cut where the words change.

The cheapest way to cut the whole section is found, where the price of a cut depends on its neighbourhood
alone. So cuts come back to the same places soon after an edit, instead of shifting down to the end.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

from kosmos.errors import InvalidInput

MIN_TOKENS = 256
CORE_TOKENS = 512
MAX_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How large chunks are to be, in tokens: at least, about, at most."""

    min_tokens: int = MIN_TOKENS
    core_tokens: int = CORE_TOKENS
    max_tokens: int = MAX_TOKENS

    def __post_init__(self) -> None:
        if not 1 <= self.min_tokens <= self.core_tokens <= self.max_tokens:
            raise InvalidInput(
                f"Chunk sizes {self.min_tokens}, {self.core_tokens}, {self.max_tokens} do not rise.",
                remedy="Give min_chunk_size ≤ core_chunk_size ≤ max_chunk_size, each at least 1.",
            )


class Gap(IntEnum):
    """What lies before a unit: the larger, the worse a place to cut."""

    BLOCK = 0
    ITEM = 1
    LINE = 2
    SENTENCE = 3
    WRAP = 4
    WORD = 5


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of characters: `tokens` as stored, `visible` as indexed; `block` counts the blocks."""

    start: int
    end: int
    tokens: int
    visible: int
    gap: Gap
    block: int
    kind: str
    leads: bool = False  # announces what follows: a line that looks like a title, or ends with a colon


# Prices in parts of what it costs to miss the core size by all of it; chosen by `bench/chunking.py`.
_GAP_PRICE = {Gap.BLOCK: 0.0, Gap.ITEM: 0.02, Gap.LINE: 0.03, Gap.SENTENCE: 0.1, Gap.WRAP: 0.3, Gap.WORD: 1.0}
_COHESION_PRICE = 1.0
_LEAD_PRICE = 0.5
_WINDOW_UNITS = 6
_MOST_UNITS = 256  # in one chunk, tiny ones counted together: bounds the work on texts of very short lines
_TINY_PARTS = 32
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\W\d_]{4,}")
_STEM = 6


def pack_units(text: str, units: Sequence[Unit], sizes: ChunkSizes) -> list[int]:
    """The positions of the units at which chunks begin, the first one included."""
    if sum(unit.visible for unit in units) <= sizes.core_tokens and _raw(units) <= sizes.max_tokens:
        return [0]
    firsts = _group_tiny(units, sizes.core_tokens // _TINY_PARTS)
    groups = [_as_one(units[first:last]) for first, last in pairwise([*firsts, len(units)])]
    return [firsts[start] for start in _pack(text, groups, sizes)]


def _group_tiny(units: Sequence[Unit], limit: int) -> list[int]:
    """Where groups of tiny neighbours begin: up to the limit together, never past a better place to cut."""
    firsts: list[int] = []
    size = 0
    for at, unit in enumerate(units):
        size += unit.visible
        better = at > 0 and (unit.gap < units[at - 1].gap or unit.leads > units[at - 1].leads)
        if not firsts or size > limit or better:
            firsts.append(at)
            size = unit.visible
    return firsts


def _as_one(units: Sequence[Unit]) -> Unit:
    if len(units) == 1:
        return units[0]
    visible = sum(unit.visible for unit in units)
    return replace(units[0], end=units[-1].end, tokens=_raw(units), visible=visible, leads=units[-1].leads)


def _pack(text: str, units: Sequence[Unit], sizes: ChunkSizes) -> list[int]:
    prices = _cut_prices(text, units, sizes)
    by_size = [_size_price(tokens, sizes) for tokens in range(2 * sizes.core_tokens + 1)]
    bases, begins = [0.0], [0]  # what all before each unit costs, with the cut there; where its chunk begins
    for end in range(1, len(units) + 1):
        price, begin = _cheapest(units, end, sizes, bases, by_size)
        bases.append(price + (prices[end] if end < len(units) else 0.0))
        begins.append(begin)
    starts = [begins[-1]]
    while starts[-1] > 0:
        starts.append(begins[starts[-1]])
    return starts[::-1]


def _cheapest(
    units: Sequence[Unit], end: int, sizes: ChunkSizes, bases: Sequence[float], by_size: Sequence[float]
) -> tuple[float, int]:
    """The unit where a chunk that ends here begins at the lowest price of all so far, the last of equal ones.

    A plain loop: this is where long runs of short lines spend their time.
    """
    most, largest = sizes.max_tokens, 2 * sizes.core_tokens
    visible, raw = units[end - 1].visible, units[end - 1].tokens
    at = end - 1
    best = bases[at] + (by_size[visible] if visible <= largest else _size_price(visible, sizes))
    for begin in range(end - 2, max(-1, end - 1 - _MOST_UNITS), -1):
        unit = units[begin]
        visible += unit.visible
        raw += unit.tokens
        if raw > most or visible > largest:
            break
        price = bases[begin] + by_size[visible]
        if price < best:
            best, at = price, begin
    return best, at


def _raw(units: Sequence[Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _size_price(tokens: int, sizes: ChunkSizes) -> float:
    """What it costs to miss the core size, and more to stay below the minimum."""
    missed = (tokens / sizes.core_tokens - 1) ** 2
    return missed + max(0.0, 1 - tokens / sizes.min_tokens)


def _cut_prices(text: str, units: Sequence[Unit], sizes: ChunkSizes) -> list[float]:
    """What it costs to begin a chunk at each unit: much inside a sentence or topic, little at a new block."""
    words = [_count_words(text[unit.start : unit.end]) for unit in units]
    window = sizes.core_tokens // 2
    prices = [0.0]
    for at in range(1, len(units)):
        before = _gather(units, words, range(at - 1, -1, -1), window)
        after = _gather(units, words, range(at, len(units)), window)
        lead = _LEAD_PRICE if units[at - 1].leads else 0.0
        prices.append(_GAP_PRICE[units[at].gap] + _COHESION_PRICE * _likeness(before, after) + lead)
    return prices


def _gather(
    units: Sequence[Unit], words: Sequence[Mapping[str, int]], nearest: range, window: int
) -> dict[str, int]:
    """The words of the nearest units: at least one, no more than fill half a chunk."""
    gathered: dict[str, int] = {}
    tokens = 0
    for nth, at in enumerate(nearest[:_WINDOW_UNITS]):
        tokens += units[at].visible
        if nth and tokens > window:
            break
        for word, count in words[at].items():
            gathered[word] = gathered.get(word, 0) + count
    return gathered


def _count_words(text: str) -> Counter[str]:
    """The longer words, cut to a stem, and pairs of East Asian characters."""
    found: Counter[str] = Counter()
    for match in _WORDS.finditer(text.lower()):
        word = match.group()
        if word[0] >= "\u3040":
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            found[word[:_STEM]] += 1
    return found


def _likeness(left: Mapping[str, int], right: Mapping[str, int]) -> float:
    """The cosine of the square roots of the counts: 0 for no common word, 1 for the same words."""
    if len(left) > len(right):
        left, right = right, left
    shared = sum(math.sqrt(count * right[word]) for word, count in left.items() if word in right)
    return shared / math.sqrt(sum(left.values()) * sum(right.values())) if shared else 0.0
