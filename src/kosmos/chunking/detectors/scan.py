"""A text made ready for the detectors: full-width signs folded one for one, so that positions stay true."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kosmos.domain.redactions import RedactionKind

_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ]+")
_TO_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
# Punctuation is frequent in Chinese text: replacing it sign by sign is far cheaper than a table.
_PUNCTUATION = tuple((sign, chr(ord(sign) - 0xFEE0)) for sign in "：（）＝＠．－＿＋／＂＇；") + tuple(
    (sign, "-") for sign in "‐‑‒–−"
)
_SPACES = tuple((sign, " ") for sign in "\u3000\u00a0\u2002\u2003\u2009\u202f")
# At least seven digits with at most three separators between two of them; possessive, hence linear.
_RUN = re.compile(r"[0-9](?:[ .()/-]{0,3}+[0-9]){6,}+")

# Below so many characters one pass for all words is cheaper than one for each.
_SHORT = 1_000

_THING = re.compile(
    r"storage|memory|bytes|\bsize|capacity|quota|amount|total|count|usage|timestamp|duration|offset|\b[ug]id\b|version"
    r"|\b(?:order|invoice|ticket|tracking|serial|issue|case|part|batch|transaction)\b|\bsku\b|\bisbn\b|\bbuild\b"
    r"|内存|存储|容量|大小|字节|总计|合计|金额|时间戳|订单编?号|单号|编号|编码|序号|序列号|流水号|发票|工单|版本|型号|条码"
)

# Characters before and after a number that make it part of something longer: a hash, a decimal, a version.
LEFT = r"(?<![0-9A-Za-z_#$€£¥￥])(?<![0-9]\.)(?<![0-9A-Za-z]-)(?<![A-Za-z]/)(?<![0-9A-Za-z]\+)"
RIGHT = r"(?![0-9A-Za-z_%])(?!\.[0-9])(?!-[0-9A-Za-z])(?!/[A-Za-z])"


@dataclass(frozen=True, slots=True)
class Span:
    """A hit: characters `start` up to `end` of the text."""

    start: int
    end: int
    kind: RedactionKind
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """A text with its lower-case form of the same length and its runs of digits."""

    text: str
    lower: str
    runs: tuple[tuple[int, int], ...]

    def before(self, position: int, reach: int) -> str:
        """What stands before a position in its line, in lower case."""
        return self.lower[max(position - reach, 0) : position].rpartition("\n")[2]

    def after(self, position: int, reach: int) -> str:
        """What stands after a position in its line, in lower case."""
        return self.lower[position : position + reach].partition("\n")[0]


Detector = Callable[[Scan], Iterator[Span]]


def scan_text(text: str) -> Scan:
    """Fold a text and find its runs of digits."""
    folded = text if text.isascii() else _fold(text)
    return Scan(folded, _lower(folded), tuple(match.span() for match in _RUN.finditer(folded)))


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds whichever of these words comes first."""
    return re.compile("|".join(map(re.escape, words)))


def may_hold(text: str, words: re.Pattern[str]) -> bool:
    """Whether it is worth looking for each of some words: not in a short text that has none of them.

    Titles, links and values are short, and there are many more of them than texts.
    """
    return len(text) > _SHORT or words.search(text) is not None


def match_runs(
    scan: Scan, pattern: re.Pattern[str], *, left: int = 4, right: int = 16
) -> Iterator[re.Match[str]]:
    """Matches of a pattern in the runs of digits and a little around them."""
    for start, end in scan.runs:
        yield from pattern.finditer(scan.text, max(start - left, 0), end + right)


def cue_before(scan: Scan, position: int, cue: re.Pattern[str], *, reach: int = 30) -> bool:
    """Whether a word that announces a number stands before it in the line, with no other number between."""
    before = scan.before(position, reach)
    ends = [found.end() for found in cue.finditer(before)]
    return bool(ends) and not any(sign.isdigit() for sign in before[ends[-1] :])


def counts_things(scan: Scan, position: int) -> bool:
    """Whether the words before a number say that it is a size, a time, an amount or the number of a thing."""
    return cue_before(scan, position, _THING)


def only_digits(text: str) -> str:
    """The digits of a number without what separates them."""
    return "".join(sign for sign in text if "0" <= sign <= "9")


def _fold(text: str) -> str:
    for sign, narrow in (*_PUNCTUATION, *_SPACES):
        text = text.replace(sign, narrow)
    return _WIDE.sub(lambda match: match.group().translate(_TO_NARROW), text)


def _lower(text: str) -> str:
    """The one letter whose lower case is longer is left out, so that positions stay true."""
    return text.replace("\u0130", "I").lower()
