"""Template calls of documentation sites that enclose code: `{{< highlight yaml >}} … {{< /highlight >}}`.

Without this rule a comment in enclosed YAML would be taken for a heading.
"""

import re
from functools import lru_cache

from markdown_it.rules_block import StateBlock

_OPEN = re.compile(r"\{\{[<%]\s*(highlight|mermaid|comment|tab(?=\s[^\n{}]*\bcodelang=))\b[^\n{}]*[>%]\}\}")


def code_shortcode(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule: everything from the opening call to the line of the closing one is one piece of code."""
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("{{", begin) or state.is_code_block(start):
        return False
    opened = _OPEN.match(state.src, begin, state.eMarks[start])
    if opened is None:
        return False
    last = _closing_line(state, opened.group(1), (opened.end(), start, end))
    if last is None:
        return False
    if not silent:
        state.line = last + 1
        token = state.push("fence", "code", 0)
        token.info, token.markup, token.map = opened.group(1), "{{", [start, last + 1]
        token.content = state.getLines(start + 1, last, state.sCount[start], True)
    return True


def _closing_line(state: StateBlock, name: str, within: tuple[int, int, int]) -> int | None:
    """The line of the closing call, inside the same container; None without one."""
    position, line, end = within
    never = state.env.setdefault("unclosed", {})
    if never.get(name, len(state.src)) <= position:
        return None
    closed = _closing(name).search(state.src, position)
    if closed is None:
        never[name] = position
        return None
    while line < end and state.eMarks[line] < closed.end():
        line += 1
        if line < end and state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            return None
    return line if line < end else None


@lru_cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(r"\{\{[<%]\s*/\s*" + name + r"\s*[>%]\}\}")
