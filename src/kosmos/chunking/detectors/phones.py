"""Phone numbers: forms that are telling by themselves, and any number that the text calls a phone number."""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.calling import number_sizes
from kosmos.chunking.detectors.scan import (
    LEFT,
    RIGHT,
    Scan,
    Span,
    counts_things,
    cue_before,
    match_runs,
    only_digits,
)
from kosmos.domain.redactions import RedactionKind

_CUE = re.compile(
    r"电话|電話|手机|手機|移动电话|座机|传真|傳真|热线|联系方式|联系号码|来电|拨打|致电|短信|微信"
    r"|\b(?:tele)?phones?\b|\btel\b|\bmobile\b|\bcell(?:phone| phone)?\b|\bfax\b|\bwhatsapp\b|\bhotline\b"
    r"|\b(?:call|text|dial|ring|reach|contact)(?: me| us| him| her| them)?(?: at| on)?:? {1,2}\(?$"
)
_EXTENSION = r"(?:(?: ?(?:转|轉|分机|ext\.?|extension|x)[ :]?|-)[0-9]{1,6})?"
_CHINA = r"(?:(?:\(\+ ?86\)|\(0086\)|\+ ?86|0086|86(?=[- ]))[- ]{0,2})?"
_AREA = r"0(?:10|2[0-9]|[3-9][0-9]{2})"
_FORMS = {
    "Chinese mobile number": (
        _CHINA + r"1[3-9](?:[0-9]{9}|[0-9]([ .-])[0-9]{4}\1[0-9]{4}|[0-9]{2}([ -])[0-9]{4}\2[0-9]{3})"
    ),
    "Chinese landline number": (
        _CHINA + rf"(?:\({_AREA}\)[ -]?|{_AREA}[ -]{{0,2}})[2-9][0-9]{{2,3}}[ -]?[0-9]{{4}}" + _EXTENSION
    ),
    "Chinese service number": r"(?:[48]00-[0-9]{4}-[0-9]{3}|[48]00[0-9]-[0-9]{3}-[0-9]{3})",
    "North American phone number": (
        r"(?:\+?1[-. ]?)?(?:\([2-9][0-9]{2}\)[ -]?[0-9]{3}[-. ]|[1-9][0-9]{2}-[0-9]{3}-"
        r"|[2-9][0-9]{2}([. ])[2-9][0-9]{2}\1|[2-9][0-9]{2} [2-9][0-9]{2}-)[0-9]{4}" + _EXTENSION
    ),
    "British phone number": (
        r"(?:\(0[127][0-9]{1,3}\)|0[1-37][0-9]{1,4})[ -](?:[0-9]{3,4}[ -][0-9]{3,4}|[0-9]{5,6})"
    ),
    "mobile number": r"0(?:7[0-9]{9}|9[0-9]{8}|9[0-9]{2}[ -][0-9]{3}[ -][0-9]{3})",
    "French phone number": r"0[1-9]([ .-])[0-9]{2}(?:\1[0-9]{2}){3}",
    "German phone number": (
        r"(?:\(0[1-9][0-9]{1,4}\)|0[1-9][0-9]{1,4})(?: ?/ ?| |-)[0-9]{5,8}(?:-[0-9]{1,4})?"
    ),
    "phone number with area code": r"0[1-9][0-9]{0,3}-[0-9]{1,4}-[0-9]{4}",
}
_PATTERNS = tuple((re.compile(LEFT + form + RIGHT), reason) for reason, form in _FORMS.items())
_INTERNATIONAL = re.compile(
    r"(?<![0-9A-Za-z_+.-])(\((?=[+0-9]{2,5}\)))?(?:\+|00(?=[1-9])) ?(?P<code>[1-9][0-9]{0,14}+)(?(1)\))"
    r"(?P<rest>(?:[ .-]{0,2}+(?:\([0-9]{1,6}\)|[0-9]{1,15}+)){0,8}+)"
)
_GROUP = re.compile(r"[ .-]{0,2}(?:\(([0-9]+)\)|[0-9]+)")
_TAIL = re.compile(_EXTENSION + RIGHT)
_NAMED = re.compile(
    r"(?<![0-9A-Za-z_])(?:\+|\((?=[0-9]{2,4}\)))?[0-9](?:(?:[ .-]|\) ?|-\()?[0-9]){6,14}" + RIGHT
)
_TRIPLE = re.compile(r"[2-9][0-9]{2} [0-9]{3} [0-9]{4}")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_UNIT = re.compile(
    r" ?(?:[kmgt]i?b|bytes?|bits?|m?s|ns|[kmg]hz|seconds?|minutes?|hours?|days?|rows?|items?|requests?"
    r"|users?|usd|dollars?|eur|rmb|cny|years?|people|万|亿|元|字节|位|次|条|个|人|秒|毫秒|分钟|吨|公里|千|行|份|股"
    r"|美元|欧元)(?![a-z])"
)
_PAGE = 1 << 16


def find_phones(scan: Scan) -> Iterator[Span]:
    """Numbers in national and international forms; a number in no telling form needs a word before it."""
    for start, end, reason in (*_find_forms(scan), *_find_international(scan), *_find_named(scan)):
        if not _UNIT.match(scan.after(end, 12)):
            yield Span(start, end, RedactionKind.PHONE, reason)


def _find_forms(scan: Scan) -> Iterator[tuple[int, int, str]]:
    for pattern, reason in _PATTERNS:
        for match in match_runs(scan, pattern):
            if _telling(scan, match) and (" " not in match.group() or _alone(scan, match)):
                yield *match.span(), reason


def _telling(scan: Scan, match: re.Match[str]) -> bool:
    """Not a size in bytes or an amount, and long enough to be more than a date."""
    number, digits = match.group(), only_digits(match.group())
    if number.isdigit() and (int(number) % _PAGE == 0 or counts_things(scan, match.start())):
        return cue_before(scan, match.start(), _CUE)
    # Round numbers with nothing but spaces between them are sizes or amounts.
    amounts = all(group.endswith("00") for group in number.split(" ")[1:]) and digits[0] != "0"
    return len(digits) >= 9 and not (" " in number and amounts)


def _alone(scan: Scan, match: re.Match[str]) -> bool:
    """Whether groups set apart by spaces stand in words, not in a row or a column of numbers."""
    if cue_before(scan, match.start(), _CUE):
        return True
    before, after = scan.before(match.start(), 80), scan.after(match.end(), 80)
    neighbours = before.rstrip(" |,;\t")[-1:] + after.lstrip(" |,;\t")[:1]
    if _TRIPLE.fullmatch(match.group()) and not any(sign.isalpha() for sign in before + after):
        return False
    return not any(sign.isdigit() for sign in neighbours)


def _find_international(scan: Scan) -> Iterator[tuple[int, int, str]]:
    for match in match_runs(scan, _INTERNATIONAL):
        end = _international_end(match)
        tail = _TAIL.match(scan.text, end) if end else None
        bare_zeros = "+" not in match.group() and match.group()[: (end or 0) - match.start()].isdigit()
        if tail and (not bare_zeros or cue_before(scan, match.start(), _CUE)):
            yield match.start(), tail.end(), "international phone number"


def _international_end(match: re.Match[str]) -> int | None:
    """Where the longest number ends that the country's numbering allows; groups after it belong to others."""
    least, most = number_sizes(match["code"])
    digits = len(match["code"])
    fits = match.start("rest") if least <= digits <= most else None
    for group in _GROUP.finditer(match.string, *match.span("rest")):
        digits += 0 if group[1] == "0" else len(only_digits(group.group()))
        if least <= digits <= most:
            fits = group.end()
    return fits


def _find_named(scan: Scan) -> Iterator[tuple[int, int, str]]:
    for match in match_runs(scan, _NAMED, left=1, right=1):
        named = cue_before(scan, match.start(), _CUE, reach=24)
        if named and not _ADDRESS.fullmatch(match.group()):
            yield *match.span(), "named a phone number"
