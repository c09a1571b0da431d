"""Numbers that states give to people, written with digits alone."""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.cards import CARD_CUE
from kosmos.chunking.detectors.checks import id_card_holds, id_card_plausible, is_card, ssn_allowed
from kosmos.chunking.detectors.letters import PASSPORT_CUE
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

_ID_CUE = re.compile(
    r"身份证|身分證|身份號|身份号|证件号|證件號|公民身份"
    r"|\bid (?:card|no|number)|identity (?:card|number|no)|national id|resident id"
)
_SSN_CUE = re.compile(r"\bssn\b|social security|社会安全|社保号")
_LONG = re.compile(
    LEFT + r"[1-9][0-9]{5}([ -]?)(?:18|19|20)[0-9]{2}[01][0-9][0-3][0-9]\1[0-9]{3}[0-9Xx]" + RIGHT
)
_OLD = re.compile(LEFT + r"[1-9][0-9]{5}([ -]?)[0-9]{2}[01][0-9][0-3][0-9]\1[0-9]{3}" + RIGHT)
_SSN = re.compile(LEFT + r"[0-9]{3}([- ])[0-9]{2}\1[0-9]{4}" + RIGHT)
_BARE_SSN = re.compile(LEFT + r"[0-9]{9}" + RIGHT)


def find_identities(scan: Scan) -> Iterator[Span]:
    """Chinese identity cards and American social security numbers."""
    yield from _find_long(scan)
    for match in match_runs(scan, _OLD):
        if id_card_plausible(only_digits(match.group())) and not _means_other(scan, match):
            yield _span(match, RedactionKind.ID_CARD, "Chinese ID card number of 15 digits, plausible date")
    for pattern in (_SSN, _BARE_SSN):
        for match in match_runs(scan, pattern):
            sure = match.group()[3] == "-" or cue_before(scan, match.start(), _SSN_CUE)
            if sure and ssn_allowed(only_digits(match.group())):
                yield _span(match, RedactionKind.SSN, "US social security number")
            elif pattern is _BARE_SSN and cue_before(scan, match.start(), PASSPORT_CUE):
                yield _span(match, RedactionKind.PASSPORT, "named a passport number")


def _means_other(scan: Scan, match: re.Match[str]) -> bool:
    """Whether a number without a check digit is rather a card or the number of a thing."""
    if cue_before(scan, match.start(), _ID_CUE):
        return False
    named_card = is_card(only_digits(match.group())) or cue_before(scan, match.start(), CARD_CUE)
    return named_card or counts_things(scan, match.start())


def _find_long(scan: Scan) -> Iterator[Span]:
    for match in match_runs(scan, _LONG):
        number = match.group().replace(" ", "").replace("-", "")
        if id_card_holds(number):
            yield _span(match, RedactionKind.ID_CARD, "Chinese ID card number, valid check digit")
        elif id_card_plausible(number) and cue_before(scan, match.start(), _ID_CUE):
            yield _span(match, RedactionKind.ID_CARD, "named an ID card number, plausible date")


def _span(match: re.Match[str], kind: RedactionKind, reason: str) -> Span:
    return Span(match.start(), match.end(), kind, reason)
