"""Text of a page, slide or cell as Markdown that says the same and nothing else."""

import re
from collections.abc import Sequence

# What would open another block than a paragraph at the start of a line, or hide what follows.
_OPENING = re.compile(r"(?:#{1,6}(?=\s|$)|>|`{3,}|~{3,}|<(?=[A-Za-z/!?])|-{3,}\s*$|={2,}\s*$|\[[^\]]+\]:)")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]+")
_CJK = re.compile(r"[\u2e80-\u30ff\u31c0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]")


def flatten(text: str) -> str:
    """The text on one line, without control characters and halves of surrogate pairs."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return _BLANK.sub(" ", whole.replace("\u00ad", "")).strip()


def escape(line: str) -> str:
    """The line so that Markdown reads it as text: only what would change its kind is escaped."""
    line = line.replace("<!--", "&lt;!--")
    return "\\" + line if _OPENING.match(line) else line


def join_lines(first: str, second: str) -> str:
    """Two lines of one paragraph: Chinese and Japanese go on without a space, all else with one."""
    if not first or not second:
        return first or second
    tight = _CJK.match(first[-1]) and _CJK.match(second[0])
    return first + second if tight else f"{first} {second}"


def render_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table whose first row is the header; ragged rows are filled up."""
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        return ""
    lines = [_table_line([*row, *([""] * (width - len(row)))]) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _table_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape_cell(cell) for cell in cells) + " |"


def escape_cell(text: str) -> str:
    """The text of a cell on one line; its own line breaks become `<br>`."""
    parts = (flatten(part) for part in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    joined = "<br>".join(part.replace("<!--", "&lt;!--") for part in parts if part)
    return joined.replace("\\|", "|").replace("|", "\\|")
