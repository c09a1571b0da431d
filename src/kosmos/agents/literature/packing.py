"""Packs texts into groups that fill a context without exceeding it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kosmos.domain.tokens import estimate_tokens

_CUT = "…"


@dataclass(slots=True)
class _Bin:
    left: int
    items: list[int] = field(default_factory=list)


def pack_groups(sizes: Sequence[int], limit: int) -> list[list[int]]:
    """Positions in as few groups as largest-first packing finds, none above the limit, in their old order.

    One that is larger than the limit by itself gets a group of its own.
    """
    bins: list[_Bin] = []
    for position in sorted(range(len(sizes)), key=lambda at: (-sizes[at], at)):
        size = sizes[position]
        fitting = next((one for one in bins if size <= one.left), None)
        if fitting is None:
            fitting = _Bin(limit)
            bins.append(fitting)
        fitting.left -= size
        fitting.items.append(position)
    return sorted(sorted(one.items) for one in bins)


def cut_to(text: str, tokens: int) -> str:
    """The beginning of a text that fits, cut between lines or sentences where that is possible."""
    if estimate_tokens(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) < tokens else (low, middle - 1)
    kept = text[:low]
    ends = [kept.rfind(mark) for mark in ("\n", "。", ". ", "]")]
    best = max(ends)
    return (kept[: best + 1] if best > low // 2 else kept).rstrip() + _CUT
