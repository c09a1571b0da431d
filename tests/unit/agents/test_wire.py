"""Messages as they are sent: within a budget, and never in a shape that servers refuse."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.wire import fit, lay_out, tokens_of, with_last_words
from kosmos.domain.sessions import Message, MessageRole, MessageType


def _round(number: int, sizes: tuple[int, int, int]) -> list[Message]:
    asked, found, said = sizes
    calls = {"tool_calls": [{"id": f"c{number}", "function": {"name": "search", "arguments": "{}"}}]}
    return [
        Message(MessageRole.USER, MessageType.USER, "问" * asked),
        Message(MessageRole.ASSISTANT, MessageType.ASSISTANT, "", calls),
        Message(MessageRole.TOOL, MessageType.TOOL, "找" * found, {"tool_call_id": f"c{number}"}),
        Message(MessageRole.ASSISTANT, MessageType.ASSISTANT, "答" * said),
    ]


SIZES = st.tuples(st.integers(1, 200), st.integers(0, 800), st.integers(1, 200))


@settings(deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=12), st.integers(500, 5000), st.booleans())
def test_what_is_sent_fits_and_is_whole(
    rounds: list[tuple[int, int, int]], budget: int, summary: bool
) -> None:
    talk = [message for number, sizes in enumerate(rounds) for message in _round(number, sizes)]
    head = [Message(MessageRole.SYSTEM, MessageType.COMPRESSION, "sum")] if summary else []
    question = Message(MessageRole.USER, MessageType.USER, "now?")
    wire = [{"role": "system", "content": "s"}, *lay_out([*head, *talk, question])]
    sent = fit(wire, budget)
    assert sent[0] == wire[0]
    assert sent[-1] == wire[-1]
    assert not summary or sent[1]["content"].startswith("Summary")
    open_calls: set[str] = set()
    for message in sent:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls
        open_calls |= {call["id"] for call in message.get("tool_calls", ())}
    kept = sum(message["role"] == "user" for message in sent)
    assert sum(map(tokens_of, sent)) <= budget or kept <= 2


def test_neighbours_of_one_user_become_one() -> None:
    two = [Message(MessageRole.USER, MessageType.USER, text) for text in ("a", "b")]
    assert lay_out(two) == [{"role": "user", "content": "a\n\nb"}]


def test_last_words_stand_last() -> None:
    assert with_last_words([{"role": "tool", "content": "x"}], "cite!")[-1]["content"] == "x\n\ncite!"
