"""What a user may call a thing."""

import unicodedata

from kosmos.errors import InvalidInput

MAX_NAME = 120
# Control, surrogate, private-use and unassigned characters, line and paragraph separators. Format
# characters are refused one by one below: emoji need joiners, but text direction must not be overridden.
_REFUSED = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_BIDI = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), *"\u061c\u200e\u200f\ufeff"}
# Joiners, marks and blanks show nothing by themselves; nor do these fillers, whatever their category says.
_UNSEEN = {"Cf", "Mn", "Me", "Zs"}
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060"))


def clean_name(text: str, *, what: str = "name") -> str:
    """The name in NFC without outer blanks, or InvalidInput that says what is wrong with it."""
    name = unicodedata.normalize("NFC", text).strip()
    if len(name) > MAX_NAME:
        raise InvalidInput(
            f"The {what} has {len(name)} characters; at most {MAX_NAME} are allowed.",
            remedy="Choose a shorter one; long text belongs into the description.",
        )
    for char in name:
        if unicodedata.category(char) in _REFUSED or char in _BIDI:
            raise InvalidInput(
                f"The {what} contains the character U+{ord(char):04X}, which cannot be shown safely.",
                remedy="Remove control and direction characters from it.",
            )
    if all(unicodedata.category(char) in _UNSEEN or char in _FILLERS for char in name):
        raise InvalidInput(f"The {what} is empty.", remedy="Give it at least one visible character.")
    return name


def name_key(name: str) -> str:
    """The form in which two names are compared: width, letter case and invisible joints do not count."""
    return unicodedata.normalize("NFKC", name).casefold().translate(_ZERO_WIDTH)
