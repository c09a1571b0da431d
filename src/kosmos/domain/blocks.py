"""Blocks of a Markdown text: what ingest finds and chunking works with."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# One that is never closed runs to the end of the text, but only where it opens a block.
_UNCLOSED = re.compile(r"^ {0,3}<!--", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: `level`, `title` and `anchor` are set for headings only.

    `safe_starts` are the lines inside the block before which it may be cut (list items, table rows,
    paragraphs of code or HTML); `safe_depths` say how deep each is nested: the smaller, the better the cut.
    `anchor` is an id written into the heading as `{#id}`.
    """

    kind: str
    start_line: int
    end_line: int
    level: int = 0
    title: str = ""
    anchor: str = ""
    safe_starts: tuple[int, ...] = ()
    safe_depths: tuple[int, ...] = ()


def without_comments(text: str) -> str:
    """The text as it is indexed: HTML comments are not read by anybody, so they are not found either."""
    return _replace_comments(text, keep_lines=False) if "<!--" in text else text


def blank_comments(text: str) -> str:
    """The text with HTML comments emptied and every line where it was."""
    return _replace_comments(text, keep_lines=True) if "<!--" in text else text


def _replace_comments(text: str, *, keep_lines: bool) -> str:
    kept: list[str] = []
    done = 0
    for start, end in comment_spans(text):
        kept.append(text[done:start])
        if keep_lines:
            kept.append("\n" * text.count("\n", start, end))
        done = end
    return "".join([*kept, text[done:]])


def comment_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where HTML comments begin and end. One look at each character, whatever the text."""
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            unclosed = _UNCLOSED.search(text, max(done, text.rfind("\n", 0, start) + 1))
            if unclosed:
                yield unclosed.start(), len(text)
            return
        done = end + 3
        yield start, done
