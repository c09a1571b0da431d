"""Links in the inline text of one block, by the rules of CommonMark, in one pass.

Only what decides about links is read: escapes, code spans, tags, brackets, addresses. Every look ahead is
bounded, so that the time grows with the length of the text and with nothing else.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from markdown_it.common.utils import normalizeReference, unescapeAll

from kosmos.domain.trees import LinkKind
from kosmos.ingest.links_html import MAX_TAG, TAG, Found, addressed, found_call, read_tag
from kosmos.ingest.links_shortcodes import CALL

MAX_ADDRESS = 4000
MAX_PIECES = 40
_SPECIAL = re.compile(r"\\.|`+|!\[|\[|\]|<|\{\{[<%]|(?<![A-Za-z0-9])https?://", re.DOTALL)
_ROUND = re.compile(
    r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x1f]*|[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9.-]+)>"
)
_CLOSING_TAG = re.compile(r"</[A-Za-z][A-Za-z0-9-]*\s*>")
_BARE = re.compile(r"https?://[A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]+")
_GAP = re.compile(r"[ \t\n]*")
_POINTED = re.compile(r"<((?>(?:[^<>\n\\]|\\.)*))>")
_PIECE = re.compile(r"[^\s()\\\x00-\x1f\x7f]+|\\[^\s]|\\|[()]")
_TITLE = re.compile(
    r"""[ \t\n]+(?:"(?>(?:[^"\\]|\\.)*)"|'(?>(?:[^'\\]|\\.)*)'|\((?>(?:[^()\\]|\\.)*)\))""", re.DOTALL
)
_LABEL = re.compile(r"\[((?>(?:[^\[\]\\]|\\.){0,999}))\]", re.DOTALL)


def scan_inline(content: str, references: Mapping[str, Mapping[str, Any]]) -> list[Found]:
    """The links of an inline text in the order in which they begin."""
    scan = _Scan(content, references)
    while match := _SPECIAL.search(content, scan.position):
        scan.position = match.end()
        mark = match.group()
        if mark[0] == "`":
            scan.skip_code(match)
        elif mark == "<":
            scan.read_angle(match.start())
        elif mark in ("[", "!["):
            scan.openers.append((match.start(), match.end()))
        elif mark == "]":
            scan.close_bracket(match.start())
        elif mark[0] == "{":
            scan.read_call(match.start())
        elif mark[0] == "h":
            scan.read_bare(match.start())
    return sorted(scan.found, key=lambda found: found.offset)


class _Scan:
    """Where one scan stands: brackets that are open, links found, code spans known."""

    def __init__(self, content: str, references: Mapping[str, Mapping[str, Any]]) -> None:
        self.content = content
        self.references = references
        self.position = 0
        self.openers: list[tuple[int, int]] = []
        self.found: list[Found] = []
        # Link brackets below this height are inside no link any more: links do not hold links.
        self._dead = 0
        self._ticks: dict[int, list[int]] | None = None
        self._no_comment_end = False

    def skip_code(self, ticks: re.Match[str]) -> None:
        """Go behind the code span that begins here, if one does."""
        if self._ticks is None:
            self._ticks = {}
            for run in re.finditer("`+", self.content):
                self._ticks.setdefault(run.end() - run.start(), []).append(run.start())
        length = ticks.end() - ticks.start()
        closing = self._ticks.get(length, [])
        index = bisect_left(closing, ticks.end())
        if index < len(closing):
            self.position = closing[index] + length

    def read_angle(self, at: int) -> None:
        """An address in angle brackets, a tag, a comment, or nothing."""
        limit = at + MAX_TAG
        if self.content.startswith("<!--", at):
            end = -1 if self._no_comment_end else self.content.find("-->", at + 4)
            self._no_comment_end = end < 0
            self.position = end + 3 if end >= 0 else at + 1
        elif match := _ROUND.match(self.content, at, limit):
            mailto = "" if ":" in match.group(1) else "mailto:"
            self.found.append(Found(LinkKind.AUTOLINK, at, mailto + match.group(1), match.group(1)))
            self.position = match.end()
        elif match := TAG.match(self.content, at, limit):
            self.found.extend(read_tag(match, self.content))
            self.position = match.end()
        elif match := _CLOSING_TAG.match(self.content, at, limit):
            self.position = match.end()

    def read_call(self, at: int) -> None:
        """A template call."""
        match = CALL.match(self.content, at, at + MAX_TAG)
        if match:
            self.found.extend(found_call(match))
            self.position = match.end()

    def read_bare(self, at: int) -> None:
        """An address without any marks, as most readers take it: without the full stop behind it."""
        match = _BARE.match(self.content, at, at + MAX_ADDRESS)
        if match is None:
            return
        address = match.group().rstrip("?!.,:*_~'\"")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip("?!.,:*_~'\"")
        self.found.append(Found(LinkKind.AUTOLINK, at, address, address))
        self.position = at + len(address)

    def close_bracket(self, at: int) -> None:
        """A link or an image, if the bracket that closes here is one's text."""
        if not self.openers:
            return
        start, inside = self.openers.pop()
        image = inside - start == 2
        height = len(self.openers)
        dead = height < self._dead and not image
        self._dead = min(self._dead, height)
        if dead:
            return
        text = self.content[inside:at]
        read = self._read_address(at + 1)
        kind = LinkKind.INLINE
        if read is None:
            read, kind = self._read_reference(text, at + 1), LinkKind.REFERENCE
        if read is None:
            return
        target, self.position = read
        self._drop_inside(start, image)
        if not image:
            self._dead = height
        if target:
            self.found.append(addressed(LinkKind.IMAGE if image else kind, start, target, _plain(text)))

    def _drop_inside(self, start: int, image: bool) -> None:
        """Nothing in the text of an image is a link; in that of a link an address without marks is none."""
        index = len(self.found)
        while index and self.found[index - 1].offset > start:
            index -= 1
        inside = self.found[index:]
        del self.found[index:]
        for found in inside:
            bare = found.kind is LinkKind.AUTOLINK and self.content[found.offset] != "<"
            if found.kind is None or not (image or bare):
                self.found.append(found)

    def _read_address(self, at: int) -> tuple[str, int] | None:
        """The address in `(address "title")` and the position behind it."""
        if not self.content.startswith("(", at):
            return None
        limit = min(len(self.content), at + MAX_ADDRESS)
        start = self._skip(at + 1, limit)
        if pointed := _POINTED.match(self.content, start, limit):
            target, end = unescapeAll(pointed.group(1)), pointed.end()
        elif self.content.startswith("<", start):
            return None
        else:
            end = self._end_of_address(start, limit)
            target = unescapeAll(self.content[start:end])
        title = _TITLE.match(self.content, end, limit)
        end = self._skip(title.end() if title else end, limit)
        return (target, end + 1) if self.content.startswith(")", end) else None

    def _end_of_address(self, start: int, limit: int) -> int:
        """Where an address without angle brackets ends: parentheses inside it are balanced."""
        call = CALL.match(self.content, start, limit)
        position = call.end() if call else start
        depth = 0
        for _ in range(MAX_PIECES):
            piece = _PIECE.match(self.content, position, limit)
            if piece is None or (piece.group() == ")" and depth == 0):
                break
            depth += (piece.group() == "(") - (piece.group() == ")")
            position = piece.end()
        return position if depth == 0 else start

    def _read_reference(self, text: str, at: int) -> tuple[str, int] | None:
        """The address that `[label]`, `[]` or the text itself stands for, and the position behind it."""
        named = _LABEL.match(self.content, at)
        label = named.group(1) if named and named.group(1).strip() else text
        if len(label) > 999 or not self.references:
            return None
        known = self.references.get(normalizeReference(label))
        return (str(known["href"]), named.end() if named else at) if known else None

    def _skip(self, at: int, limit: int) -> int:
        gap = _GAP.match(self.content, at, limit)
        return gap.end() if gap else at


def _plain(text: str) -> str:
    """A link's text on one line, without the marks of code and emphasis."""
    if "](" in text:
        text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    return " ".join(re.sub(r"[`*]", "", text).split())
