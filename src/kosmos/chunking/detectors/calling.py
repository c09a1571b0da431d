"""Country calling codes and how many digits a number has with its code."""

_ANY = (8, 15)
_SIZES = {
    "1": (11, 11),
    "7": (11, 11),
    "30": (12, 12),
    "31": (11, 11),
    "32": (10, 11),
    "33": (11, 11),
    "34": (11, 11),
    "39": (10, 13),
    "41": (11, 11),
    "43": (9, 15),
    "44": (11, 12),
    "45": (10, 10),
    "46": (9, 12),
    "47": (10, 10),
    "48": (11, 11),
    "49": (9, 14),
    "52": (12, 13),
    "55": (12, 13),
    "60": (10, 12),
    "61": (11, 11),
    "62": (10, 14),
    "63": (11, 12),
    "64": (10, 12),
    "65": (10, 10),
    "66": (10, 11),
    "81": (11, 12),
    "82": (10, 13),
    "84": (11, 12),
    "86": (12, 13),
    "90": (12, 12),
    "91": (12, 12),
    "852": (11, 11),
    "853": (11, 11),
    "886": (11, 12),
    "971": (11, 12),
}
# Other codes of two digits, and the first two digits of those of three.
_OTHERS = (
    "20 27 36 40 51 53 54 56 57 58 92 93 94 95 98 "
    "21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99"
)
_KNOWN = frozenset(_OTHERS.split())


def number_sizes(digits: str) -> tuple[int, int]:
    """The least and the most digits of a number that begins so; (1, 0) where no country has that code."""
    for size in (3, 2, 1):
        if digits[:size] in _SIZES:
            return _SIZES[digits[:size]]
    return _ANY if digits[:2] in _KNOWN else (1, 0)
