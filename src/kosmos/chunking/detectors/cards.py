"""Payment cards: known beginnings, the check digit; any number that the text calls one."""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.checks import is_card
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

CARD_CUE = re.compile(
    r"银行卡|銀行卡|信用卡|储蓄卡|借记卡|卡号|卡號|银行[账帐][号户]|开户[账帐]号|收款[账帐][号户]|[账帐]号"
    r"|card (?:number|no)|credit card|debit card|bank card|bank account"
    r"|unionpay|mastercard|\bvisa\b|银联"
)
_MORE = re.compile(r" [0-9]{2,5} [0-9]{2,5}")
# Longest first: a code of three digits behind the card number must not hide it.
_FORMS = (
    re.compile(LEFT + r"[2-9][0-9]{11,18}" + RIGHT),
    re.compile(LEFT + r"[2-9][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}\1[0-9]{1,3}" + RIGHT),
    re.compile(LEFT + r"[2-9][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}" + RIGHT),
    re.compile(LEFT + r"3[0-9]{3}([ -])[0-9]{6}\1[0-9]{4,5}" + RIGHT),
    re.compile(LEFT + r"[4-9][0-9]{5}([ -])[0-9]{10,13}" + RIGHT),
)


def find_cards(scan: Scan) -> Iterator[Span]:
    """Card numbers with a valid check digit, and account numbers that are named so."""
    for form in _FORMS:
        for match in match_runs(scan, form):
            digits = only_digits(match.group())
            if cue_before(scan, match.start(), CARD_CUE):
                yield _span(match, "named a card or account number")
            elif is_card(digits) and not counts_things(scan, match.start()) and not _in_row(scan, match):
                yield _span(match, "payment card number, valid check digit")


def _in_row(scan: Scan, match: re.Match[str]) -> bool:
    """Whether groups set apart by spaces are but some of the numbers of a row."""
    before, after = scan.before(match.start(), 4), scan.after(match.end(), 12)
    return " " in match.group() and (before.rstrip()[-1:].isdigit() or bool(_MORE.match(after)))


def _span(match: re.Match[str], reason: str) -> Span:
    return Span(match.start(), match.end(), RedactionKind.BANK_CARD, reason)
