"""What each stage gets to see of a talk: the table of the specification."""

import pytest

from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.sessions.history import SHARES, Stage, history_for


def _talk(rounds: int, *, summary: bool = True) -> list[Message]:
    messages = []
    for number in range(rounds):
        calls = {"tool_calls": [{"id": "c", "function": {"name": "search", "arguments": "{}"}}]}
        messages += [
            Message(MessageRole.USER, MessageType.USER, f"q{number}"),
            Message(MessageRole.ASSISTANT, MessageType.ASSISTANT, "", calls),
            Message(MessageRole.TOOL, MessageType.TOOL, f"t{number}", {"tool_call_id": "c"}),
            Message(MessageRole.ASSISTANT, MessageType.ASSISTANT, f"a{number}"),
        ]
    old = Message(MessageRole.USER, MessageType.USER, "old", compressed=True)
    # A summary is stored where it was made, behind what it does not cover.
    made = [Message(MessageRole.SYSTEM, MessageType.COMPRESSION, "summary")] if summary else []
    return [old, *messages, *made]


def _texts(stage: Stage, messages: list[Message]) -> list[str]:
    return [message.content for message in history_for(stage, messages)]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Stage.INTENT, ["summary", "q3", "a3", "q4", "a4"]),
        (Stage.PLANNING, ["summary", "q3", "a3", "q4", "a4"]),
        (Stage.ANSWER, ["summary", "q2", "a2", "q3", "a3", "q4", "a4"]),
        (Stage.EXECUTION, []),
        (Stage.SIMPLE, ["summary", *(f"{who}{n}" for n in range(5) for who in "qa")]),
        (Stage.LOOP, ["summary", *(text for n in range(5) for text in (f"q{n}", "", f"t{n}", f"a{n}"))]),
    ],
)
def test_each_stage_gets_its_share(stage: Stage, expected: list[str]) -> None:
    assert _texts(stage, _talk(5)) == expected


def test_every_stage_is_in_the_table() -> None:
    assert set(SHARES) == set(Stage)


def test_a_short_talk_is_given_whole() -> None:
    assert _texts(Stage.ANSWER, _talk(1, summary=False)) == ["q0", "a0"]
