"""What a user wants: five intents, and how a model's answer is read as one of them."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum


class Intent(StrEnum):
    """What kind of work a question asks for."""

    SIMPLE_INTERACTION = "SIMPLE_INTERACTION"
    LITERATURE_SUMMARY = "LITERATURE_SUMMARY"
    REVIEW_GENERATION = "REVIEW_GENERATION"
    PAPER_REVIEW = "PAPER_REVIEW"
    LITERATURE_QA = "LITERATURE_QA"


DEFAULT_INTENT = Intent.SIMPLE_INTERACTION
MOST_REASON = 300
_OBJECT = re.compile(r"\{[^{}]*\}")
_NAMES = re.compile("|".join(Intent))


@dataclass(frozen=True, slots=True)
class Recognised:
    """An intent, and why."""

    intent: Intent
    reason: str


def read_intent(text: str) -> Recognised | None:
    """The intent that a model named; None when it named none, or several."""
    for found in _OBJECT.findall(text):
        try:
            value = json.loads(found)
            intent = Intent(str(value["intent"]).strip().upper())
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        return Recognised(intent, " ".join(str(value.get("reason") or "").split())[:MOST_REASON])
    named = set(_NAMES.findall(text.upper()))
    return Recognised(Intent(named.pop()), "") if len(named) == 1 else None
