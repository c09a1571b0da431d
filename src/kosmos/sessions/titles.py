"""Titles of sessions: at once from the first question, later from a model if there is one."""

import re

from kosmos.domain.language import language_of
from kosmos.prompts import load_prompt

LONGEST = 60
_QUOTES = " \t\"'“”‘’「」『』《》*#.。:："


def first_title(question: str) -> str:
    """The beginning of a question, cut between words."""
    text = " ".join(question.split())
    if len(text) <= LONGEST:
        return text
    cut = text[:LONGEST]
    return (cut[: cut.rfind(" ")] if " " in cut[LONGEST // 2 :] else cut) + "…"


def title_prompt(question: str, fence: str) -> str:
    """What a model is asked for a title."""
    text = question[:2000].replace(fence, "…")
    return load_prompt("session_title").render(language=language_of(question), question=text, fence=fence)


def clean_title(text: str) -> str | None:
    """The title that a model gave, if it can serve as one."""
    lines = [line for line in text.split("\n") if line.strip()]
    title = re.sub(r"\s+", " ", lines[0]).strip(_QUOTES) if lines else ""
    return title if 0 < len(title) <= LONGEST and title.isprintable() else None
