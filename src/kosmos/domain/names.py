"""What a user may call a thing."""

import unicodedata

from kosmos.errors import InvalidInput

MAX_NAME = 120
# Control, surrogate, private-use and unassigned characters, line and paragraph separators. Format
# characters are refused one by one below: emoji need joiners, but text direction must not be overridden.
_REFUSED = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_BIDI = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u200e", "\u200f", "\ufeff"}


def clean_name(text: str, *, what: str = "name") -> str:
    """The name in NFC without outer blanks, or InvalidInput that says what is wrong with it."""
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise InvalidInput(f"The {what} is empty.", remedy="Give it at least one visible character.")
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
    return name


def name_key(name: str) -> str:
    """The form in which two names are compared: look-alike widths and letter case count as the same."""
    return unicodedata.normalize("NFKC", name).casefold()
