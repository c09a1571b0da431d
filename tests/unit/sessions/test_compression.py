"""Compression: when, how much, and never between a call of a tool and its results."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.domain.tokens import estimate_tokens
from kosmos.sessions.budget import Budget, tokens_in
from kosmos.sessions.compression import (
    compression_prompt,
    plain_summary,
    plan_compression,
    summary_message,
)

WINDOW = 8000


def _message(role: str, size: int, position: int) -> Message:
    calls = [{"id": f"c{position}", "function": {"name": "search", "arguments": "{}"}}]
    kind = {"user": MessageType.USER, "tool": MessageType.TOOL}.get(role, MessageType.ASSISTANT)
    return Message(
        MessageRole("assistant" if role == "call" else role),
        kind,
        "字" * size,
        {"tool_calls": calls} if role == "call" else {},
        position=position,
    )


ROUND = st.lists(st.integers(0, 400), min_size=2, max_size=2).flatmap(
    lambda sizes: st.integers(0, 3).map(
        lambda tools: [
            ("user", sizes[0]),
            *([("call", 5)] if tools else []),
            *([("tool", 300)] * tools),
            ("assistant", sizes[1]),
        ]
    )
)


@settings(deadline=None)
@given(st.lists(ROUND, max_size=30))
def test_calls_and_results_stay_together(rounds: list[list[tuple[str, int]]]) -> None:
    flat = [item for one in rounds for item in one]
    messages = [_message(role, size, at) for at, (role, size) in enumerate(flat, start=1)]
    plan = plan_compression(messages, WINDOW)
    assert (plan is None) == (tokens_in(messages) <= Budget(WINDOW).threshold)
    if plan is None:
        return
    assert [*plan.older, *plan.recent] == messages
    assert not plan.recent or plan.recent[0].role is not MessageRole.TOOL
    assert not plan.older[-1].metadata.get("tool_calls")
    assert tokens_in(plan.recent) + Budget(WINDOW).summary <= Budget(WINDOW).threshold or not plan.recent


def test_the_older_70_percent_are_compressed() -> None:
    messages = [_message("user" if at % 2 else "assistant", 100, at) for at in range(1, 101)]
    plan = plan_compression(messages, WINDOW)
    assert plan is not None
    assert (len(plan.older), len(plan.recent)) == (70, 30)


def test_an_earlier_summary_is_part_of_the_next() -> None:
    summary = Message(MessageRole.SYSTEM, MessageType.COMPRESSION, "the user is Ada", position=99)
    messages = [_message("user" if at % 2 else "assistant", 100, at) for at in range(1, 101)]
    plan = plan_compression([*messages, summary], WINDOW)
    assert plan is not None
    assert plan.older[0] is summary
    assert "the user is Ada" in compression_prompt(plan, "English", "f00", window=100_000)
    assert plain_summary(plan, 500).startswith("the user is Ada")
    assert summary_message("x", plan).type is MessageType.COMPRESSION


def test_the_prompt_of_a_long_talk_fits() -> None:
    messages = [_message("user", 3000, at) for at in range(1, 40)]
    plan = plan_compression(messages, WINDOW)
    assert plan is not None
    prompt = compression_prompt(plan, "Chinese", "f00", window=WINDOW)
    assert estimate_tokens(prompt) < WINDOW - Budget(WINDOW).summary
    assert prompt.count("f00") == 2


def test_a_plain_summary_keeps_what_was_said_first() -> None:
    said = [
        Message(MessageRole.USER, MessageType.USER, f"{n} {'字' * 100}", position=n) for n in range(1, 200)
    ]
    plan = plan_compression(said, WINDOW)
    assert plan is not None
    text = plain_summary(plan, 500)
    assert text.startswith("- 1 ")
    assert f"- {len(plan.older)} " in text
    assert len(text) < 2500
