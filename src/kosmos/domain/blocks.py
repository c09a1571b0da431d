"""Blocks of a Markdown text: what ingest finds and chunking works with."""

import re
from dataclasses import dataclass

# One that is never closed runs to the end of the text, but only where it opens a block.
_COMMENT = re.compile(r"<!--.*?-->|^ {0,3}<!--.*\Z", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: `level` and `title` are set for headings only."""

    kind: str
    start_line: int
    end_line: int
    level: int = 0
    title: str = ""


def without_comments(text: str) -> str:
    """The text as it is indexed: HTML comments are not read by anybody, so they are not found either."""
    return _COMMENT.sub("", text) if "<!--" in text else text


def blank_comments(text: str) -> str:
    """The text with HTML comments emptied and every line where it was."""
    return _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text) if "<!--" in text else text
