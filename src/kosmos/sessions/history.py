"""Which part of a talk each stage of an agent gets to see: one table, here and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kosmos.domain.sessions import Message, MessageRole, MessageType


class Stage(StrEnum):
    """Where in its work an agent is."""

    INTENT = "intent"
    PLANNING = "planning"
    EXECUTION = "execution"
    ANSWER = "answer"
    SIMPLE = "simple"
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a talk: the last so many rounds (None: all), with calls of tools or without."""

    rounds: int | None
    tools: bool = False


# A summary of what was compressed always stands first, except where there is no history at all.
SHARES: dict[Stage, Share] = {
    Stage.INTENT: Share(rounds=2),
    Stage.PLANNING: Share(rounds=2),
    Stage.ANSWER: Share(rounds=3),
    Stage.EXECUTION: Share(rounds=0),
    Stage.SIMPLE: Share(rounds=None),
    Stage.LOOP: Share(rounds=None, tools=True),
}


def history_for(stage: Stage, messages: Sequence[Message]) -> list[Message]:
    """The messages that a stage gets, of those that are not compressed."""
    share = SHARES[stage]
    if share.rounds == 0:
        return []
    active = [message for message in messages if not message.compressed]
    summaries = [message for message in active if message.type is MessageType.COMPRESSION]
    talk = [
        message
        for message in active
        if message.type is not MessageType.COMPRESSION and (share.tools or not _of_a_tool(message))
    ]
    return [*summaries, *_last_rounds(talk, share.rounds)]


def _of_a_tool(message: Message) -> bool:
    return message.role is MessageRole.TOOL or bool(message.metadata.get("tool_calls"))


def _last_rounds(talk: Sequence[Message], rounds: int | None) -> Sequence[Message]:
    """From the n-th question from the end on: a round is a question and all that follows it."""
    if rounds is None:
        return talk
    starts = [at for at, message in enumerate(talk) if message.type is MessageType.USER]
    return talk[starts[-rounds] :] if len(starts) > rounds else talk
