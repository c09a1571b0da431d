"""Whether a value looks like a secret or like a name, a placeholder or code."""

import math
import re
from collections import Counter

# How a stand-in begins (variables, templates, tags, calls), what it contains, what it may be as a whole.
_BEGINNING = re.compile(
    r"\$[({]|[<{\[⟦]|%[A-Za-z_]+%|[A-Za-z_][A-Za-z0-9_.]{2,60}[(\[]|(?:your|my|the|some|any|an?)[-_]",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"<[^>]{1,60}>|\{\{|\$\{|[⟦⟧…]|\.\.\.|\*{3}|x{4}|://|example|placeholder|change[-_]?me|replace|redacted"
    r"|dummy|sample|foobar",
    re.IGNORECASE,
)
# Variables, paths, and the words themselves unless digits make them what people choose: Password123.
_WHOLE = re.compile(
    r"[*x.#?_-]+|[$&*@%!][A-Za-z_]\w*|[~.]{0,2}/[\w./-]*|[^0-9]*(?:secret|passw(?:or)?d)[^0-9]*"
    r"|pass|pwd|token|key|value|null|nil|none|true|false|string|user|root|admin|test",
    re.IGNORECASE,
)
_SEQUENCES = re.compile(r"0123456789|1234567890|9876543210|abcdef|fedcba|qwerty", re.IGNORECASE)
# Words joined by points, hyphens or underscores: a name in code or of an object in a cluster.
_NAME = re.compile(r"[A-Za-z]+[0-9]{0,2}(?:[._/:-][A-Za-z]*[0-9]{0,2})*|[a-z0-9]{1,12}(?:-[a-z0-9]{1,12})+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret without being one."""
    return bool(_BEGINNING.match(value) or _WHOLE.fullmatch(value) or _INSIDE.search(value))


def looks_random(value: str, *, least: int = 12) -> bool:
    """Whether a value is long and mixed enough for a key."""
    if len(value) < least or is_placeholder(value) or 2 * len(_SEQUENCES.sub("", value)) < len(value):
        return False
    return is_mixed(value) and bits_per_sign(value) >= 2.8


def is_mixed(value: str) -> bool:
    """Whether letters and digits are mixed otherwise than in names."""
    mixed = any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)
    return mixed and (not _NAME.fullmatch(value) or bool(_UUID.fullmatch(value)))


def looks_like_password(value: str) -> bool:
    """Whether a value that is called a password is one: people choose short ones, but seldom mere words."""
    if not 6 <= len(value) <= 128 or is_placeholder(value):
        return False
    if value.isalnum():
        return not value.isalpha()
    special = any(sign in "!@#$%^&*+=?~" for sign in value)
    return is_mixed(value) or (special and any(sign.isalpha() for sign in value))


def bits_per_sign(value: str) -> float:
    """Shannon's measure of how evenly the signs are used."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
