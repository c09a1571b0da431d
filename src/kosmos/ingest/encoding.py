"""From bytes to text: byte order mark, declared charset, UTF-8, UTF-16 without a mark, then statistics.

Every step but the last is a proof (the bytes decode strictly), so only text in a legacy encoding that says
nothing about itself is ever guessed.
"""

import codecs
import re
from dataclasses import dataclass

from kosmos.errors import InvalidInput

SAMPLE = 64 * 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What documents call an encoding and what they mean: each name stands for the widest relative.
_MEANT = {
    "gb2312": ("gb18030",),
    "gbk": ("gb18030",),
    "gb18030": ("gb18030",),
    "cp936": ("gb18030",),
    "big5": ("cp950", "big5hkscs"),
    "big5hkscs": ("big5hkscs",),
    "cp950": ("cp950", "big5hkscs"),
    "shift_jis": ("cp932",),
    "cp932": ("cp932",),
    "euc_kr": ("cp949",),
    "iso8859-1": ("cp1252", "iso8859-1"),
    "ascii": ("cp1252",),
}
# Codecs that are no charsets (utf-7, punycode, rot13 …) are never used, whatever a document declares.
_CHARSETS = re.compile(
    r"utf-8|utf-(?:16|32)(?:-[lb]e)?|gb18030|gbk|gb2312|big5|big5hkscs|cp(?:125\d|1125|437|7\d\d|8\d\d|9\d\d)|iso8859-\d{1,2}|koi8-[ru]"
    r"|euc_(?:jp|kr|jis_2004)|shift_jis|iso2022_(?:jp|kr)|johab|mac-\w+|tis-620|ascii"
)
_LATIN = re.compile(r"iso8859-(?:1|2|3|4|9|10|13|14|15|16)|cp125[02347]|mac-\w+|cp437|cp85\d")
_UNSURE = 0.3
_NO_IDEA = 0.03
_TAG = re.compile(rb"<[^<>]{0,2000}>")
_DECLARED = re.compile(
    rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{2,40})|<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{2,40})"""
    rb"""|@charset\s+"([\w.:-]{2,40})\"""",
    re.IGNORECASE,
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
# Characters that make up nearly all of any text in the languages that use UTF-16 files.
_ORDINARY = re.compile(
    "[\t\n\r\x20-\x7e\xa0-\u024f\u0370-\u052f\u2010-\u203b\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)
_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the encoding it came in, and how many damaged places were replaced by U+FFFD."""

    text: str
    encoding: str
    damaged: int = 0


def decode_text(data: bytes, name: str, *, declared: str = "") -> Decoded:
    """The text of a file, or InvalidInput when it is none. `declared` is what a server or container said."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _with_damage(data[len(bom) :], encoding)
    found = _declared(data, declared) or _escaped(data) or _utf8(data)
    if found is None:
        # Without a single zero byte UTF-16 is rare and looks like Shift-JIS: statistics come first then.
        found = _wide(data) if b"\x00" in data else _nearly_utf8(data) or _guessed(data)
    if found is None or _is_noise(found.text):
        raise InvalidInput(
            f"{name} is not a text file: its bytes are no text in any known encoding.",
            remedy="Save it as UTF-8 and add it again.",
        )
    return found


def declared_charset(data: bytes) -> str:
    """The charset that an HTML, XML or CSS text names in its first lines, or nothing."""
    match = _DECLARED.search(data[:4096])
    return next(group for group in match.groups() if group).decode("ascii") if match else ""


def wide_sample(head: bytes) -> str:
    """The beginning of a text in UTF-16 or UTF-32, or nothing when it is in neither."""
    for bom, encoding in _BOMS[1:]:
        if head.startswith(bom):
            return head.decode(encoding, "replace")
    order = _byte_order(head[: len(head) & ~1]) if b"\x00" in head else None
    return head.decode(order, "replace") if order else ""


def _declared(data: bytes, outside: str) -> Decoded | None:
    for label in (outside, declared_charset(data)):
        for encoding in _meant(label):
            # A text that could be searched for its declaration as ASCII is not in a wide encoding.
            text = None if encoding.startswith(("utf-16", "utf-32")) else _strictly(data, encoding)
            if text is not None and not _is_noise(text):
                return Decoded(text, encoding)
    return None


def _meant(label: str) -> tuple[str, ...]:
    try:
        name = codecs.lookup(label.strip()).name if label else ""
    except (LookupError, ValueError):
        return ()
    return _MEANT.get(name, (name,)) if _CHARSETS.fullmatch(name) else ()


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _escaped(data: bytes) -> Decoded | None:
    """ISO-2022: its bytes are ASCII and would pass for UTF-8, escape sequences and all."""
    text = _strictly(data, "iso2022_jp_2") if b"\x1b$" in data[:SAMPLE] else None
    return None if text is None else Decoded(text, "iso2022_jp")


def _utf8(data: bytes) -> Decoded | None:
    text = None if b"\x00" in data else _strictly(data, "utf-8")
    return None if text is None else Decoded(text, "utf-8")


def _nearly_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few broken places: many more sequences are right than could be by chance."""
    found = _with_damage(data, "utf-8")
    wide = len(found.text) - len(found.text.encode("ascii", "ignore")) - found.damaged
    return found if wide > 20 * found.damaged else None


def _wide(data: bytes) -> Decoded | None:
    order = _byte_order(data[:SAMPLE]) if len(data) % 2 == 0 else None
    text = _strictly(data, order) if order else None
    return Decoded(text, order) if text is not None and order else None


def _byte_order(sample: bytes) -> str | None:
    """UTF-16 without a mark: nearly all of it must be ordinary characters in one of the two byte orders."""
    for encoding in ("utf-16-le", "utf-16-be") if len(sample) >= 4 else ():
        text = sample.decode(encoding, "replace")
        # Hangul stands between spaces; without any it is Chinese in GBK, whose bytes look the same.
        if b"\x00" not in sample and _HANGUL.search(text):
            continue
        if len(_ORDINARY.findall(text)) >= 0.97 * len(text):
            return encoding
    return None


def _guessed(data: bytes) -> Decoded | None:
    import chardet

    sample = data[:SAMPLE]
    if len(data) > SAMPLE and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n")]
    guess = chardet.detect(_TAG.sub(b" ", sample) or sample)
    encodings, confidence = _meant(guess["encoding"] or ""), guess["confidence"] or 0
    if (not encodings or confidence < _NO_IDEA) and (wide := _wide(data)):
        return wide
    if not encodings or (_LATIN.fullmatch(encodings[0]) and confidence < _UNSURE):
        encodings = ("cp1252", *encodings)
    for encoding in encodings:
        text = _strictly(data, encoding)
        if text is not None:
            return Decoded(text, encoding)
    found = _with_damage(data, encodings[-1])
    return found if found.damaged * 200 < len(found.text) else None


def _with_damage(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    damaged = text.count("\ufffd")
    return Decoded(text, encoding, damaged - _own_marks(data, encoding) if damaged else 0)


def _own_marks(data: bytes, encoding: str) -> int:
    """Replacement characters that were in the file already."""
    return data.decode(encoding, "ignore").count("\ufffd")


def _is_noise(text: str) -> bool:
    """Whether so much of it are control characters that this is a binary file which happens to decode."""
    sample = text[:SAMPLE]
    return len(_CONTROL.findall(sample)) > max(2, len(sample) // 50)
