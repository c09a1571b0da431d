"""Tells thinking from speaking in a streamed text: some models think between `<think>` tags."""

from collections.abc import Iterator
from dataclasses import dataclass

OPEN, CLOSE = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of what a model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of what a model says."""

    text: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """What was said so far does not count: it was thinking, or the answer starts anew."""

    reason: str


Piece = Thought | Text | Retracted


class ThinkSplitter:
    """Takes a text in pieces of any size; a tag that is cut in two is held back until it is whole.

    A closing tag without an opening one says that everything before it was thinking: some servers put the
    opening tag into the prompt.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._said = False

    def feed(self, text: str) -> Iterator[Piece]:
        """What can be told already."""
        self._held += text
        while self._held:
            at, tag = self._next_tag()
            if tag is None:
                keep = _partial(self._held, (CLOSE,) if self._thinking else (OPEN, CLOSE))
                yield from self._give(self._held[: len(self._held) - keep])
                self._held = self._held[len(self._held) - keep :]
                return
            yield from self._give(self._held[:at])
            self._held = self._held[at + len(tag) :]
            if tag == CLOSE and not self._thinking and self._said:
                yield Retracted("it was thinking")
            self._thinking = tag == OPEN

    def end(self) -> Iterator[Piece]:
        """The rest, whatever it looks like."""
        yield from self._give(self._held)
        self._held = ""

    def _next_tag(self) -> tuple[int, str | None]:
        tags = (CLOSE,) if self._thinking else (OPEN, CLOSE)
        found = [(at, tag) for tag in tags if (at := self._held.find(tag)) >= 0]
        return min(found, default=(-1, None))

    def _give(self, text: str) -> Iterator[Piece]:
        if not text:
            return
        if self._thinking:
            yield Thought(text)
        elif text := text if self._said else text.lstrip():  # what comes before the first word says nothing
            self._said = True
            yield Text(text)


def _partial(text: str, tags: tuple[str, ...]) -> int:
    """How many of the last characters may be the beginning of a tag."""
    longest = max(map(len, tags)) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(tag.startswith(text[-size:]) for tag in tags):
            return size
    return 0
