"""Which lines of a text are still there in its next version, and where.

Lines that occur once on both sides (or runs of lines that do) are anchors; what lies between anchors is
compared again, and what has none by the shortest edit. Depth and steps are bounded: in bad cases less is
matched, but the time stays near to linear and what is matched is always right.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAX_DEPTH = 24
MAX_STEPS = 2_000_000
_RUNS = (1, 4, 16)


@dataclass(frozen=True, slots=True)
class Match:
    """Lines that are the same on both sides, in order; lines count from 1."""

    old_start: int
    new_start: int
    length: int


@dataclass(frozen=True, slots=True)
class Change:
    """Lines old_start..old_end became new_start..new_end; an end before its start means no lines."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class LineMap:
    """Where the lines of an old version stand in the new one."""

    matches: tuple[Match, ...]

    def map_range(self, old_start: int, old_end: int) -> tuple[int, int] | None:
        """The same lines in the new version; None when any of them changed or something came between."""
        index = bisect_right(self.matches, old_start, key=lambda match: match.old_start) - 1
        if index < 0 or old_end < old_start:
            return None
        match = self.matches[index]
        if old_end >= match.old_start + match.length:
            return None
        moved = match.new_start - match.old_start
        return old_start + moved, old_end + moved


@dataclass(slots=True)
class _Region:
    """Part of both sides, ends excluded, at some depth of the search."""

    old: int
    old_end: int
    new: int
    new_end: int
    depth: int = 0


@dataclass(slots=True)
class _Work:
    """Both sides as numbers, equal for equal lines, and what was found."""

    old: list[int]
    new: list[int]
    steps: int = MAX_STEPS
    found: list[tuple[int, int, int]] = field(default_factory=list)


def map_lines(old_lines: Sequence[str], new_lines: Sequence[str]) -> LineMap:
    """The map from the lines of an old version to those of the new one."""
    return LineMap(tuple(matching_ranges(old_lines, new_lines)))


def changed_regions(old_lines: Sequence[str], new_lines: Sequence[str]) -> list[Change]:
    """What changed, in order: everything that no match covers."""
    changes: list[Change] = []
    old, new = 1, 1
    for match in [*matching_ranges(old_lines, new_lines), Match(len(old_lines) + 1, len(new_lines) + 1, 0)]:
        if old < match.old_start or new < match.new_start:
            changes.append(Change(old, match.old_start - 1, new, match.new_start - 1))
        old, new = match.old_start + match.length, match.new_start + match.length
    return changes


def matching_ranges(old_lines: Sequence[str], new_lines: Sequence[str]) -> list[Match]:
    """The ranges of lines that both versions have, in order on both sides, as long as can be."""
    numbers: dict[str, int] = {}
    old = [numbers.setdefault(line, len(numbers)) for line in old_lines]
    new = [numbers.setdefault(line, len(numbers)) for line in new_lines]
    work = _Work(old, new)
    regions = [_Region(0, len(old), 0, len(new))]
    while regions:
        regions.extend(_divide(work, regions.pop()))
    return list(_join(sorted(work.found)))


def _divide(work: _Work, region: _Region) -> list[_Region]:
    """Match what the region begins and ends with, and give back what must be looked at again."""
    _trim(work, region)
    if region.old == region.old_end or region.new == region.new_end:
        return []
    for run in _RUNS if region.depth < MAX_DEPTH else ():
        anchors = _anchors(work, region, run)
        if anchors:
            return _between(region, anchors)
    _shortest_edit(work, region)
    return []


def _trim(work: _Work, region: _Region) -> None:
    old, new = work.old, work.new
    start = region.old
    while region.old < region.old_end and region.new < region.new_end and old[region.old] == new[region.new]:
        region.old += 1
        region.new += 1
    _note(work, start, region.new - (region.old - start), region.old - start)
    end = region.old_end
    while region.old < region.old_end and region.new < region.new_end:
        if old[region.old_end - 1] != new[region.new_end - 1]:
            break
        region.old_end -= 1
        region.new_end -= 1
    _note(work, region.old_end, region.new_end, end - region.old_end)


def _note(work: _Work, old: int, new: int, length: int) -> None:
    if length:
        work.found.append((old, new, length))


def _anchors(work: _Work, region: _Region, run: int) -> list[tuple[int, int]]:
    """Pairs of lines where a run begins that each side has once, rising on both sides."""
    old = _once(work.old, region.old, region.old_end, run)
    new = _once(work.new, region.new, region.new_end, run)
    return _rising(sorted((place, new[key]) for key, place in old.items() if key in new))


def _once(side: list[int], start: int, end: int, run: int) -> dict[object, int]:
    """Runs of so many lines that occur once in a part, with their place."""
    places: dict[object, int] = {}
    again: set[object] = set()
    for place in range(start, end - run + 1):
        key: object = side[place] if run == 1 else tuple(side[place : place + run])
        if key in places:
            again.add(key)
        else:
            places[key] = place
    for key in again:
        del places[key]
    return places


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs that rises on the second side too."""
    tails: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, new) in enumerate(pairs):
        place = bisect_left(tails, new)
        before.append(last[place - 1] if place else -1)
        if place == len(tails):
            tails.append(new)
            last.append(index)
        else:
            tails[place], last[place] = new, index
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _between(region: _Region, anchors: Sequence[tuple[int, int]]) -> list[_Region]:
    """The regions that begin at each anchor (which trimming then matches) and the one before the first."""
    starts = [(region.old, region.new), *anchors]
    ends = [*anchors, (region.old_end, region.new_end)]
    return [
        _Region(old, old_end, new, new_end, region.depth + 1)
        for (old, new), (old_end, new_end) in zip(starts, ends, strict=True)
        if old < old_end and new < new_end
    ]


def _shortest_edit(work: _Work, region: _Region) -> None:
    """Match by the fewest deletions and insertions, as long as steps are left.

    Round n holds how far n edits lead on the diagonals -n, -n + 2 … n (Myers' greedy algorithm).
    """
    height, width = region.old_end - region.old, region.new_end - region.new
    if set(work.old[region.old : region.old_end]).isdisjoint(work.new[region.new : region.new_end]):
        return
    rounds: list[list[int]] = [[0]]
    while work.steps > 0:
        last, edits = rounds[-1], len(rounds)
        reached: list[int] = []
        for place in range(edits + 1):
            old = last[place] if _goes_down(last, place) else last[place - 1] + 1
            diagonal = 2 * place - edits
            end = _slide(work, region, old, old - diagonal)
            reached.append(end)
            work.steps -= end - old + 2
            if end >= height and end - diagonal >= width:
                _walk_back(work, region, rounds)
                return
        rounds.append(reached)


def _goes_down(last: Sequence[int], place: int) -> bool:
    """Whether the best way onto a diagonal is an insertion rather than a deletion."""
    return place == 0 or (place < len(last) and last[place - 1] < last[place])


def _slide(work: _Work, region: _Region, old: int, new: int) -> int:
    """How far equal lines go on from here."""
    height, width = region.old_end - region.old, region.new_end - region.new
    while old < height and new < width and work.old[region.old + old] == work.new[region.new + new]:
        old += 1
        new += 1
    return old


def _walk_back(work: _Work, region: _Region, rounds: Sequence[Sequence[int]]) -> None:
    old = region.old_end - region.old
    diagonal = old - (region.new_end - region.new)
    for edits in range(len(rounds), 0, -1):
        last, place = rounds[edits - 1], (diagonal + edits) // 2
        down = _goes_down(last, place)
        before = last[place] if down else last[place - 1]
        start = before if down else before + 1
        _note(work, region.old + start, region.new + start - diagonal, old - start)
        old, diagonal = before, diagonal + (1 if down else -1)


def _join(found: Sequence[tuple[int, int, int]]) -> Iterator[Match]:
    """Matches that touch on both sides become one."""
    start: tuple[int, int, int] | None = None
    for old, new, length in found:
        if start and (start[0] + start[2], start[1] + start[2]) == (old, new):
            start = (start[0], start[1], start[2] + length)
        else:
            if start:
                yield Match(start[0] + 1, start[1] + 1, start[2])
            start = (old, new, length)
    if start:
        yield Match(start[0] + 1, start[1] + 1, start[2])
