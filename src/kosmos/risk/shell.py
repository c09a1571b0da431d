"""A line of shell, split into commands as far as it can be understood without a shell."""

from dataclasses import dataclass, field

_OPERATORS = "|&;()\n"
_REDIRECTS = "<>"
_OPAQUE = "$`"
_DISCARDED = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "&1", "&2"})
RESERVED = frozenset(
    {"!", "{", "}", "do", "done", "elif", "else", "fi", "if", "then", "time", "until", "while"}
)


@dataclass(slots=True)
class Line:
    """What a line of shell comes to."""

    commands: list[list[str]] = field(default_factory=list)
    opaque: bool = False  # an expansion, a here document or an open quote: nobody knows what will run
    writes: bool = False  # a redirection into a file
    reads: list[str] = field(default_factory=list)  # files that are redirected in

    @property
    def compound(self) -> bool:
        """Whether there is more than one command."""
        return len(self.commands) > 1


def split_line(text: str) -> Line:
    """Split a line of shell; what cannot be understood is marked, never guessed."""
    line, words, at = Line(), list[str](), 0
    while at < len(text):
        mark = text[at]
        if text.startswith("\\\n", at):
            at += 2
        elif mark in " \t\r":
            at += 1
        elif mark == "#":
            at = _end_of_line(text, at)
        elif mark in _OPERATORS and not text.startswith("&>", at):
            words = _close(line, words)
            at += 1
        elif mark in _REDIRECTS or mark == "&":
            at = _redirect(text, at, line)
        else:
            word, at = _word(text, at, line)
            # `2>file`: the number belongs to the redirection.
            if not (word.isdigit() and at < len(text) and text[at] in _REDIRECTS):
                words.append(word)
    _close(line, words)
    return line


def _close(line: Line, words: list[str]) -> list[str]:
    while words and words[0] in RESERVED:
        words = words[1:]
    if words:
        line.commands.append(words)
    return []


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _redirect(text: str, at: int, line: Line) -> int:
    start = at
    while at < len(text) and text[at] in "<>|&":
        at += 1
    operator = text[start:at]
    while at < len(text) and text[at] in " \t":
        at += 1
    if operator.startswith("<<") or text[at : at + 1] == "(":
        line.opaque = True
        return at + 1
    word, at = _word(text, at, line)
    if ">" not in operator:
        line.reads.append(word)
    elif operator.endswith("&") and word in {"1", "2", "-"}:
        pass
    elif word not in _DISCARDED:
        line.writes = True
    return at


def _word(text: str, at: int, line: Line) -> tuple[str, int]:
    made: list[str] = []
    while at < len(text) and text[at] not in " \t\r" + _OPERATORS + _REDIRECTS:
        mark = text[at]
        if mark == "\\":
            made.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
            at += 2
        elif mark in "'\"":
            part, at = _quoted(text, at, line)
            made.append(part)
        else:
            if mark in _OPAQUE or (mark == "{" and _expands(text, at)):
                line.opaque = True
            made.append(mark)
            at += 1
    return "".join(made), at


def _expands(text: str, at: int) -> bool:
    """Whether a brace makes several words of one."""
    inside = text[at : text.find("}", at) + 1]
    return "," in inside or ".." in inside


def _quoted(text: str, at: int, line: Line) -> tuple[str, int]:
    quote, start = text[at], at + 1
    made: list[str] = []
    at = start
    while at < len(text) and text[at] != quote:
        if quote == '"' and text[at] == "\\" and text[at + 1 : at + 2] in {'"', "\\", "$", "`", "\n"}:
            at += 1
        elif quote == '"' and text[at] in _OPAQUE:
            line.opaque = True
        made.append(text[at : at + 1])
        at += 1
    if at >= len(text):
        line.opaque = True
    return "".join(made), at + 1
