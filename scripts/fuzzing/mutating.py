"""Damage: bytes, texts and archives that were right once; and values of JSON of any shape."""

import io
import random
import zipfile
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

ODD: tuple[bytes, ...] = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"<",
    b">",
    b"]]>",
    b"&",
    b'"',
    b"\r\n",
    b"%",
    b"\\",
    b"-1",
)
ODD += (b"99999999999999999999", b"\xef\xbb\xbf", "﷽".encode(), b"1e999", b"\x1b", b"{", b"[" * 50)
NUMBERS = (0, 1, -1, 2**31, 2**63, -(2**63), 10**30, 0.5, 1e308)


def damage(data: bytes, seed: int, words: Sequence[bytes] = ODD) -> bytes:
    """Bytes with one to eight places cut out, doubled, flipped, swapped or filled with odd words."""
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        _damage_once(made, chance, words)
    return bytes(made)


def _damage_once(made: bytearray, chance: random.Random, words: Sequence[bytes]) -> None:
    at = chance.randrange(len(made) + 1)
    end = min(len(made), at + chance.choice((1, 1, 4, 30, 500)))
    match chance.randrange(6):
        case 0:
            del made[at:end]
        case 1:
            made[at:at] = made[at:end]
        case 2 if at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        case 3:
            made[at:at] = chance.choice(words)
        case 4:
            made[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
        case _:
            other = chance.randrange(len(made) + 1)
            made[at:end] = made[other : other + (end - at)]


def damaged(samples: Sequence[bytes], words: Sequence[bytes] = ODD) -> st.SearchStrategy[bytes]:
    """Samples, each damaged in its own way."""
    return st.builds(
        lambda at, seed: damage(samples[at], seed, words),
        st.integers(0, len(samples) - 1),
        st.integers(0, 2**48),
    )


def damage_archive(data: bytes, seed: int) -> bytes:
    """An archive of which one member is damaged, lost, doubled or renamed; or whose own bytes are."""
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    if chance.random() < 0.25:
        return damage(data, seed)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        infos = old.infolist()
        hurt = chance.randrange(len(infos))
        for at, info in enumerate(infos):
            _copy(old.read(info), info.filename, new, chance if at == hurt else None)
    return made.getvalue()


def _copy(content: bytes, name: str, new: zipfile.ZipFile, chance: random.Random | None) -> None:
    if chance is None:
        new.writestr(name, content)
        return
    match chance.randrange(8):
        case 0:
            return
        case 1:
            new.writestr(f"../{name}", content)
        case 2:
            new.writestr(name, content + content)
        case 3:
            new.writestr(name, b"")
        case _:
            new.writestr(name, damage(content, chance.randrange(2**48)))


def damaged_archives(samples: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Archives, each damaged in its own way."""
    return st.builds(
        lambda at, seed: damage_archive(samples[at], seed),
        st.integers(0, len(samples) - 1),
        st.integers(0, 2**48),
    )


def texts(most: int = 60) -> st.SearchStrategy[str]:
    """Texts of any characters, halves of surrogate pairs too, and of odd words."""
    anything = st.text(st.characters(), max_size=most)
    words = st.lists(st.sampled_from(_WORDS), max_size=8).map("".join)
    return st.one_of(anything, words)


_WORDS = (
    "pump",
    "证书",
    " ",
    "\n",
    "\x00",
    "\ud800",
    "🏳️‍🌈",
    "[1]",
    "`",
    "{",
    '"',
    "\\",
    "\u202e",
    "https://a/",
    "~",
    "$",
)


def values(depth: int = 3) -> st.SearchStrategy[Any]:
    """Values of JSON of any shape, with numbers that are none."""
    leaf = st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(NUMBERS),
        st.floats(),
        texts(20),
        st.integers(),
    )
    made = leaf
    for _ in range(depth):
        made = st.one_of(leaf, st.lists(made, max_size=3), st.dictionaries(texts(8), made, max_size=3))
    return made


def shaped(fields: Sequence[str], depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some fields of known names, some others, and values of any shape."""
    names = st.one_of(st.sampled_from(list(fields)), st.sampled_from(list(fields)), texts(6))
    return st.dictionaries(names, values(depth), max_size=6)
