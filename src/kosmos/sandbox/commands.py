"""Which programs may run, and with which arguments.

A program is one path, named by the operator; its arguments follow a grammar. Options are listed one by
one; a value or an operand that begins with `-` is no value and no operand; `--` is put before the operands,
so that none of them can turn into an option.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kosmos.errors import Forbidden, InvalidInput

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Rule:
    """One program that may run."""

    path: str
    flags: frozenset[str] = frozenset()  # options without a value
    options: frozenset[str] = frozenset()  # options with one
    operands: int = 64  # how many at most
    separator: bool = True  # whether the program knows `--`
    open: bool = False  # any option but the refused ones: for programs with a judge of their own
    refused: frozenset[str] = frozenset()
    network: bool = False
    read: tuple[str, ...] = ()  # further paths that it may read
    environment: Mapping[str, str] = field(default_factory=dict)


def admit(rules: Mapping[str, Rule], argv: Sequence[str]) -> tuple[Rule, tuple[str, ...]]:
    """The rule for a command and the argv to run; Forbidden when there is none or it does not fit."""
    if not argv or any("\0" in word for word in argv):
        raise InvalidInput("A command is a list of words, the program first.")
    rule = rules.get(argv[0]) if _NAME.fullmatch(argv[0]) else None
    if rule is None:
        known = ", ".join(sorted(rules))
        raise Forbidden(f"{argv[0]!r} is not one of the programs that may run: {known}.")
    program = _program(rule.path, argv[0])
    words = _open_words(rule, argv) if rule.open else _closed_words(rule, argv)
    return rule, (program, *words)


def _program(path: str, name: str) -> str:
    """The path of the program itself, behind all links."""
    resolved = os.path.realpath(path)
    if not Path(resolved).is_file() or not os.access(resolved, os.X_OK):
        raise Forbidden(f"{name} is allowed but not installed at {path}.")
    # Programs that are many in one look at the name they are called by.
    return path if Path(resolved).name != Path(path).name else resolved


def _open_words(rule: Rule, argv: Sequence[str]) -> tuple[str, ...]:
    for word in argv[1:]:
        if word == "--":
            break
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name in rule.refused:
            raise Forbidden(f"{argv[0]} may not be given {name}.")
    return tuple(argv[1:])


def _closed_words(rule: Rule, argv: Sequence[str]) -> tuple[str, ...]:
    options: list[str] = []
    operands: list[str] = []
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if word == "--" and rule.separator:
            operands += words
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
        else:
            options += _option(rule, argv[0], word, words)
    if len(operands) > rule.operands:
        raise Forbidden(f"{argv[0]} may be given at most {rule.operands} operands.")
    return (*options, *(["--"] if rule.separator and operands else []), *operands)


def _option(rule: Rule, program: str, word: str, following: list[str]) -> list[str]:
    name, equals, value = word.partition("=")
    if not equals and word in rule.flags:
        return [word]
    if not word.startswith("--") and len(word) > 2 and all(f"-{letter}" in rule.flags for letter in word[1:]):
        return [word]
    if name not in rule.options:
        raise Forbidden(f"{program} may not be given {word!r}.", remedy=_allowed(rule))
    if equals and name.startswith("--"):
        return [word]
    value = following.pop(0) if following and not equals else ""
    if not value or value.startswith("-"):
        raise Forbidden(f"{program} {name} needs a value that does not begin with a dash.")
    return [name, value]


def _allowed(rule: Rule) -> str:
    names = ", ".join(sorted(rule.flags | rule.options))
    return f"Allowed: {names}." if names else "It takes no options."
