"""Long talks: the older messages become one summary, the recent ones stay as they are.

The originals are kept and marked; they are no longer sent. A call of a tool and its result are never
parted: either both are in the summary or both stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.domain.tokens import estimate_tokens
from kosmos.prompts import load_prompt
from kosmos.sessions.budget import Budget, tokens_in

KEEP = 0.3  # of the messages stay as they are
LONGEST = 4000  # characters of one message that the summary is made of
SPARED = 4  # what the user said is cut so many times later than the rest


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compressed, an earlier summary included, and what stays."""

    older: tuple[Message, ...]
    recent: tuple[Message, ...]


def plan_compression(messages: Sequence[Message], window: int) -> Plan | None:
    """What to compress of the active messages; None while they fit."""
    budget = Budget(window)
    if tokens_in(messages) <= budget.threshold:
        return None
    talk = [message for message in messages if message.type is not MessageType.COMPRESSION]
    summaries = [message for message in messages if message.type is MessageType.COMPRESSION]
    cut = _safe_cut(talk, len(talk) - max(1, int(len(talk) * KEEP)))
    # Few but very long messages: what is kept must fit, or the next question would not.
    while cut < len(talk) and tokens_in(talk[cut:]) + budget.summary > budget.threshold:
        cut = _safe_cut(talk, cut + 1, forward=True)
    return Plan((*summaries, *talk[:cut]), tuple(talk[cut:])) if cut else None


def _safe_cut(talk: Sequence[Message], cut: int, *, forward: bool = False) -> int:
    """A place near `cut` that parts no call from its results: before it, or behind it."""
    while 0 < cut < len(talk) and talk[cut].role is MessageRole.TOOL:
        cut += 1 if forward else -1
    return cut


def compression_prompt(plan: Plan, language: str, fence: str, *, window: int) -> str:
    """What the model is asked that makes the summary; in a small window the longest messages are cut."""
    prompt, budget = load_prompt("compress_history"), Budget(window)
    most = window - budget.summary - budget.system - estimate_tokens(prompt.text)
    talk, longest = "", LONGEST
    while longest > 10:
        talk = "\n\n".join(_laid_out(message, longest) for message in plan.older)
        if estimate_tokens(talk) <= most:
            break
        longest = longest * 2 // 3
    return prompt.render(language=language, talk=talk.replace(fence, "…"), fence=fence)


def _laid_out(message: Message, longest: int) -> str:
    if message.type is MessageType.COMPRESSION:
        return f"[earlier summary]\n{message.content}"
    named = [call["function"] for call in message.metadata.get("tool_calls") or ()]
    called = "".join(f"\n(calls {call['name']} {call['arguments'][:longest]})" for call in named)
    spared = SPARED * longest if message.role is MessageRole.USER else longest
    return f"[{message.role}]\n{_shortened(message.content, spared)}{called}"


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - longest} characters left out …\n{text[-half:]}"


def summary_message(text: str, plan: Plan) -> Message:
    """The message that stands for the older part from now on."""
    metadata = {"compressed": len(plan.older), "upto": plan.older[-1].position}
    content = text.strip()
    return Message(
        MessageRole.SYSTEM,
        MessageType.COMPRESSION,
        content,
        metadata,
        token_count=estimate_tokens(content),
    )


def plain_summary(plan: Plan, most: int) -> str:
    """A summary without any model: the earlier one, then what the user said, first and last, in its words."""
    parts = [message.content for message in plan.older if message.type is MessageType.COMPRESSION]
    said = [message.content for message in plan.older if message.type is MessageType.USER]
    lines = [f"- {' '.join(text.split())[:200]}" for text in said]
    kept: list[str] = []
    for line in [*lines[:1], *reversed(lines[1:])]:
        if estimate_tokens("\n".join([*parts, *kept, line])) > most:
            break
        kept.append(line)
    return "\n".join([*parts, *kept[:1], *reversed(kept[1:])])[: most * 4]
