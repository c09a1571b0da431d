"""Options and operands of a command line, told apart."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Which options of a program take a value, and which surely take none."""

    valued: Collection[str] = frozenset()
    bare: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Words:
    """One command line, read from left to right."""

    operands: tuple[str, ...] = ()
    given: tuple[tuple[str, str | None], ...] = ()  # option and value, in order
    rest: tuple[str, ...] = ()  # what stands after `--`
    separated: bool = False  # whether there was a `--`
    unknown: tuple[str, ...] = ()  # options in no table: the word after one may be its value

    def last(self, *names: str) -> str | None:
        """The value of the last of these options; an option without a value gives an empty text."""
        values = [value or "" for name, value in self.given if name in names]
        return values[-1] if values else None

    def has(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(name in names for name, _ in self.given)

    def falsely(self, name: str) -> bool:
        """Whether the option is switched off by `=false`."""
        return (self.last(name) or "").lower() in {"false", "f", "0"}


def split_words(args: Sequence[str], options: Options, *, stop_at_operand: bool = False) -> Words:
    """Read options as Go's pflag and GNU getopt do: `--a=b`, `--a b`, `-a b`, `-ab`, `-a=b`."""
    operands: list[str] = []
    given: list[tuple[str, str | None]] = []
    unknown: list[str] = []
    at = 0
    while at < len(args):
        word = args[at]
        at += 1
        if word == "--":
            return Words(tuple(operands), tuple(given), tuple(args[at:]), True, tuple(unknown))
        if not word.startswith("-") or word == "-":
            operands.append(word)
            if stop_at_operand:
                return Words(tuple(operands), tuple(given), tuple(args[at:]), False, tuple(unknown))
            continue
        found = _long(word) if word.startswith("--") else _short(word, options)
        for name, value in found:
            if value is None and name in options.valued and name == found[-1][0]:
                value = args[at] if at < len(args) else ""  # noqa: PLW2901
                at += 1
            elif value is None and name not in options.bare:
                unknown.append(name)
            given.append((name, value))
    return Words(tuple(operands), tuple(given), (), False, tuple(unknown))


def _long(word: str) -> list[tuple[str, str | None]]:
    name, equals, value = word.partition("=")
    return [(name, value if equals else None)]


def _short(word: str, options: Options) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    letters = word[1:]
    for at, letter in enumerate(letters):
        name, tail = f"-{letter}", letters[at + 1 :]
        if tail.startswith("="):
            found.append((name, tail[1:]))
            return found
        if name in options.valued and tail:
            found.append((name, tail))
            return found
        found.append((name, None))
    return found


def abbreviates(word: str, names: Collection[str]) -> bool:
    """Whether a long option is one of the names or a beginning of one, as GNU programs accept."""
    given = word.partition("=")[0]
    return given.startswith("--") and len(given) > 2 and any(name.startswith(given) for name in names)
