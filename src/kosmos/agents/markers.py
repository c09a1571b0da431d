"""Markers in a streamed answer: those that point somewhere stay, all others are taken out.

`[3]`, `[1, 2]`, `[1-3]`, `[^3]`, `[source 3]` and `【3】` are markers outside of code; each leaves as `[3]`.
A text may come in pieces of any size: what may become a marker is held back until it is known.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_SPAN = 10
_NUMBER = r"\^?\d{1,5}"
_NAME = r"(?:(?:sources?|refs?|passages?|来源|出处|引用|资料)\s*[:：#]?\s*)?"
_INSIDE = rf"\s*{_NAME}{_NUMBER}(?:\s*[,，、;；\-–~]\s*{_NAME}{_NUMBER})*\s*"
_MARKER = re.compile(rf"\[{_INSIDE}\]|【{_INSIDE}】|［{_INSIDE}］", re.IGNORECASE)
# What may still become one. Letters are those of the names above.
_BEGUN = re.compile(r"[\[【［][\s\^\d,，、;；\-–~:：#a-z来源出处引用资料]{0,60}", re.IGNORECASE)
# Where a link would lead that a marker must not be: an address, in brackets or not, perhaps with a title;
# one target behind another too, or the second would become the first.
_BLANK = r"[ \t]{0,9}\n?[ \t]{0,9}"
_PLACE = r"(?:<[^<>\n]{0,2000}>|[^()\s]{1,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)"
_TITLE = r"""(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'|\([^()\n]{0,500}\))"""
_TARGETS = re.compile(rf"(?:\([ \t]{{0,9}}\)|\({_BLANK}{_PLACE}(?:{_BLANK}{_TITLE})?{_BLANK}\))+")
LONGEST_TARGET = 4000
_PART = re.compile(r"(\d{1,5})(?:\s*[-–~]\s*\D{0,12}?(\d{1,5}))?")
_SPECIAL = re.compile(r"[\[【［`]")
_OPENED = re.compile(r"[\[【［][^\]】］\n]*\Z")
_TICKS = re.compile(r"`+")
_SPACES = re.compile(r"[ \t]*\Z")
LONGEST_SPAN = 600  # characters of code within a line


@dataclass(slots=True)
class MarkerFilter:
    """Takes an answer in pieces and gives it back with true markers only."""

    known: Callable[[int], bool]
    used: list[int] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    _held: str = ""
    _spaces: str = ""  # blanks that vanish with a marker behind them
    _code: str = ""  # the backticks that opened the block of code we are in
    _tail: str = "\n"  # the last characters told

    def feed(self, text: str) -> str:
        """What can be told of the text so far."""
        self._held += text
        return self._run(final=False)

    def end(self) -> str:
        """The rest."""
        given = self._run(final=True) + self._spaces
        self._spaces = ""
        return given

    def _run(self, *, final: bool) -> str:
        out: list[str] = []
        while self._held:
            found = (_TICKS if self._code else _SPECIAL).search(self._held)
            if found is None:
                self._say(out, self._held)
                self._held = ""
                break
            self._say(out, self._held[: found.start()])
            self._held = self._held[found.start() :]
            step = self._ticks(final) if self._held[0] == "`" else self._bracket(final)
            if step is None:
                break
            self._say(out, step)
        return "".join(out)

    def _say(self, out: list[str], text: str) -> None:
        """Give out all but the last blanks."""
        if not text:
            return
        text = self._spaces + text
        self._spaces = _SPACES.search(text)[0] if not self._code else ""  # type: ignore[index]
        told = text[: len(text) - len(self._spaces)]
        self._tail = (self._tail + told)[-100:]
        out.append(told)

    def _ticks(self, final: bool) -> str | None:
        """Backticks: a block opens or closes, a span within the line goes through whole, or they are text."""
        run = _TICKS.match(self._held)[0]  # type: ignore[index]
        if len(run) == len(self._held) and not final:
            return None
        if self._code:
            self._code = "" if run == self._code else self._code
            return self._take(len(run))
        if len(run) >= 3 and self._tail.endswith("\n"):
            self._code = run
            return self._take(len(run))
        line = self._held.split("\n", 1)[0][:LONGEST_SPAN]
        close = next((m for m in _TICKS.finditer(line, len(run)) if m[0] == run), None)
        whole = len(line) < len(self._held) or final
        if close is not None and (close.end() < len(self._held) or final):
            return self._take(close.end())
        return self._take(len(run)) if whole else None

    def _bracket(self, final: bool) -> str | None:
        """The text for what begins with a bracket; None while that is not known."""
        marker = _MARKER.match(self._held)
        if marker is None:
            if not final and _BEGUN.fullmatch(self._held):
                return None
            return self._take(1)
        rest = self._held[marker.end() :]
        if not rest and not final:
            return None
        targets = _TARGETS.match(rest)
        end = targets.end() if targets else 0
        if not final and _may_be_target(rest[end:], behind=end > 0):
            return None
        self._take(marker.end() + end)
        return self._mark(marker[0])

    def _take(self, size: int) -> str:
        taken, self._held = self._held[:size], self._held[size:]
        return taken

    def _mark(self, text: str) -> str:
        kept = []
        for number in _numbers(text):
            if self.known(number):
                self.used.append(number)
                kept.append(f"[{number}]")
            else:
                self.removed.append(str(number))
        if kept:
            return "".join(kept)
        if _OPENED.search(self._tail):
            return "…"  # what stands around it must not close up and become a marker itself; a blank may
        if not self._held[:1].isalnum():
            self._spaces = ""
        return ""


def _may_be_target(rest: str, *, behind: bool) -> bool:
    """Whether what has come so far may still become a target."""
    if not rest:
        return behind
    return rest[0] == "(" and "\n\n" not in rest and len(rest) <= LONGEST_TARGET


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for first, last in _PART.findall(text):
        low, high = int(first), int(last or first)
        found += range(low, high + 1) if low <= high < low + MAX_SPAN else [low, high]
    return found


def clean_markers(text: str, known: Callable[[int], bool]) -> tuple[str, list[int], list[str]]:
    """A whole text with true markers only, the numbers it uses, and the markers that were taken out."""
    filtering = MarkerFilter(known)
    cleaned = filtering.feed(text) + filtering.end()
    return cleaned, filtering.used, filtering.removed
