"""Which of our two languages a text is in."""

import re

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z]{2,}")
SAMPLE = 20_000


def language_of(text: str) -> str:
    """`Chinese` or `English`: a Chinese character says about as much as half an English word."""
    sample = text[:SAMPLE]
    return "Chinese" if len(_CHINESE.findall(sample)) > len(_WORD.findall(sample)) else "English"
