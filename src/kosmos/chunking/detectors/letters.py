"""Numbers that begin with letters: IBAN, identity cards of Hong Kong and Taiwan, passports and permits."""

import re
from collections.abc import Iterator

from kosmos.chunking.detectors.checks import hong_kong_holds, iban_holds, iban_length, taiwan_holds
from kosmos.chunking.detectors.scan import RIGHT, Scan, Span, cue_before
from kosmos.domain.redactions import RedactionKind

# The look-behind stands after the first letter, since a pattern that begins with a set is searched faster.
_START = re.compile(r"[A-Z](?<![0-9A-Za-z_#$/.-].)(?:[A-Z][0-9]{2}[ 0-9A-Z-]|[A-Z]?[0-9]{6})")
_HONG_KONG = re.compile(r"([A-Z]{1,2})([0-9]{6})(\(?)([0-9A])(?(3)\))" + RIGHT)
_TAIWAN = re.compile(r"[A-Z][1289][0-9]{8}" + RIGHT)
_PASSPORT = re.compile(r"(?:[A-Z]{1,2}[0-9]{6,9})" + RIGHT)
_HK_CUE = re.compile(r"身份证|身份證|身份号|身份號|证件|證件|\bhkid\b|identity card|\bid (?:card|no|number)")
PASSPORT_CUE = re.compile(r"护照|護照|passport|通行证|通行證|回乡证|台胞证|证件|travel (?:document|permit)")
_AFTER_IBAN = re.compile(r"(?![0-9A-Za-z])")


def find_lettered(scan: Scan) -> Iterator[Span]:
    """At most one span for each place where letters are followed by digits."""
    for match in _START.finditer(scan.text):
        span = _iban(scan, match.start()) or _identity(scan, match.start())
        if span:
            yield span


def _iban(scan: Scan, start: int) -> Span | None:
    size = iban_length(scan.text[start : start + 2])
    if not size:
        return None
    end, signs = start, ""
    for sign in scan.text[start : start + 2 * size]:
        if len(signs) == size or not (sign.isascii() and (sign.isalnum() or sign in " -")):
            break
        end += 1
        signs += sign.strip(" -").upper()
    if len(signs) != size or not _AFTER_IBAN.match(scan.text, end) or not iban_holds(signs):
        return None
    return Span(start, end, RedactionKind.IBAN, "international bank account number, valid check digits")


def _identity(scan: Scan, start: int) -> Span | None:
    match = _HONG_KONG.match(scan.text, start)
    if match and (match[3] or cue_before(scan, start, _HK_CUE)) and hong_kong_holds(*match.group(1, 2, 4)):
        return Span(start, match.end(), RedactionKind.ID_CARD, "Hong Kong ID card number, valid check digit")
    match = _TAIWAN.match(scan.text, start)
    if match and taiwan_holds(match.group()):
        return Span(start, match.end(), RedactionKind.ID_CARD, "Taiwan ID card number, valid check digit")
    match = _PASSPORT.match(scan.text, start)
    if match and cue_before(scan, start, PASSPORT_CUE):
        return Span(start, match.end(), RedactionKind.PASSPORT, "named a passport or permit number")
    return None
