"""Anchors: what a link writes behind `#` to name a heading, by the rules of GitHub and Hugo."""

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from kosmos.domain.blocks import Block

_LINKED = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|\*+|~~|`|(?<![^\W_])_+|_+(?![^\W_])|\\(?=[!-/:-@\[-`{-~])")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_DROPPED = re.compile(r"[^\w\- \x80-\U0010ffff]", re.ASCII)
_BETWEEN = re.compile(r"[\W_]+")
_KEPT = ("L", "M", "N", "Pc")


def slugify(title: str) -> str:
    """The anchor of a heading that has no id of its own and no namesake before it."""
    return _NOT_ASCII.sub(_letter, _DROPPED.sub("", _plain(title))).replace(" ", "-")


def slugify_dashed(title: str) -> str:
    """The anchor by the older rule of Hugo sites: whatever is no letter or digit becomes one dash."""
    return _BETWEEN.sub("-", _plain(title)).strip("-")


def name_anchors(headings: Iterable[tuple[str, str]]) -> list[str]:
    """The anchors of headings given as (title, own id): the second of a name gets `-1`, the third `-2`."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for title, own in headings:
        name = slug = own or slugify(title)
        while not own and name in seen:
            seen[slug] += 1
            name = f"{slug}-{seen[slug]}"
        seen.setdefault(name, 0)
        names.append(name)
    return names


def map_anchors(
    headings: Sequence[Block], ids: Iterable[tuple[str, int]]
) -> tuple[list[str], dict[str, int]]:
    """The anchor of each heading, and the line of every fragment that leads into the text."""
    names = name_anchors((block.title, block.anchor) for block in headings)
    anchors = {name: block.start_line for name, block in zip(names, headings, strict=True) if name}
    for name, line in ids:
        anchors.setdefault(name, line)
    for block in headings:
        if not block.anchor and block.title:
            anchors.setdefault(slugify_dashed(block.title), block.start_line)
    return names, anchors


def find_anchor(anchors: Mapping[str, int], fragment: str) -> int | None:
    """The line that a fragment names: as written, decoded, then without regard to case."""
    decoded = unquote(fragment)
    for name in (fragment, decoded):
        if name in anchors:
            return anchors[name]
    folded = decoded.lower()
    return next((line for name, line in anchors.items() if name.lower() == folded), None)


def _plain(title: str) -> str:
    return _MARKUP.sub("", _LINKED.sub(r"\1", html.unescape(title))).strip().lower()


def _letter(match: re.Match[str]) -> str:
    """A character beyond ASCII, if it is a letter, a mark or a digit of some script."""
    return match.group() if unicodedata.category(match.group()).startswith(_KEPT) else ""
