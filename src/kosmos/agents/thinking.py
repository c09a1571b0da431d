"""Think: looks at how far a run has come, and decides what the model may do next."""

import re
from dataclasses import dataclass, field

from kosmos.domain.language import language_of

SEARCH = "search"
MOST_REPEATS = 2  # the same calls so often in a row: more of them bring nothing

# What people say that no document answers.
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|thanks?|thank you|good (?:morning|evening|day)|bye|who are you|what can you do|"
    r"你好|您好|嗨|谢谢|多谢|早上好|晚上好|再见|你是谁|你能做什么|你会什么)[\s!！.。?？,，~～]*(?:there)?[\s!！.。]*",
    re.IGNORECASE,
)
_REASONS = {"limit": "This was the last look-up.", "repeats": "The same calls bring the same results."}
_LIMIT_NOTES = {
    "Chinese": "（已达到步数上限，以上仅依据目前查到的内容。）",
    "English": "(The step limit was reached; this rests on what was found until then.)",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go."""

    steps: int = 8
    retrieve_first: bool = True


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    step: int = 0  # inferences begun
    retrieved: bool = False
    repeats: int = 0
    nudged: bool = False
    calls: list[tuple[str, str]] = field(default_factory=list)  # of the step before


@dataclass(frozen=True, slots=True)
class Decision:
    """What the model may do: `tools` it may call, whether it must or must not, and why."""

    tools: tuple[str, ...]
    choice: str  # auto, required or none
    must_answer: str = ""  # `limit` or `repeats`

    @property
    def reason(self) -> str:
        """Why no tool may be called any more, in a sentence for the model."""
        return _REASONS.get(self.must_answer, "")


def decide(progress: Progress, limits: Limits, tools: tuple[str, ...], question: str) -> Decision:
    """The constraints of the next inference; `progress.step` is its number, from 1."""
    if progress.step >= limits.steps and tools:
        return Decision((), "none", "limit")
    if progress.repeats >= MOST_REPEATS:
        return Decision((), "none", "repeats")
    if not tools:
        return Decision((), "none")
    must_look = limits.retrieve_first and not progress.retrieved and SEARCH in tools
    if must_look and progress.step == 1 and not is_small_talk(question):
        return Decision((SEARCH,), "required")
    return Decision(tools, "auto")


def is_small_talk(text: str) -> bool:
    """Whether there is nothing to look up."""
    return _SMALL_TALK.fullmatch(text.strip()) is not None


def limit_note(language: str) -> str:
    """What is said where an answer was cut short by the limit."""
    return _LIMIT_NOTES[language]


def answer_language(wanted: str, question: str) -> str:
    """`Chinese` or `English`, as the agent says or as the question is."""
    return {"zh": "Chinese", "en": "English"}.get(wanted) or language_of(question)
