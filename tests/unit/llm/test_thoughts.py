"""Thinking told from speaking, however a streamed text is cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.llm.thoughts import Piece, Retracted, Text, ThinkSplitter, Thought


def _split(pieces: list[str]) -> tuple[str, str]:
    """What was said and what was thought in the end."""
    splitter, found = ThinkSplitter(), list[Piece]()
    for piece in pieces:
        found += splitter.feed(piece)
    found += splitter.end()
    said, thought = "", ""
    for item in found:
        if isinstance(item, Retracted):
            said, thought = "", thought + said
        elif isinstance(item, Thought):
            thought += item.text
        else:
            said += item.text
    return said, thought


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("Plain.", "Plain.", ""),
        ("<think>Hm.</think>Yes.", "Yes.", "Hm."),
        ("\n<think>嗯</think>\n\n答案", "\n\n答案"[2:], "嗯"),
        ("Hm, without an opening tag.</think>Yes.", "Yes.", "Hm, without an opening tag."),
        ("<think>never closed", "", "never closed"),
        ("a < b and <thin air>", "a < b and <thin air>", ""),
        ("<think>one</think>two<think>three</think>four", "twofour", "onethree"),
        ("at the end <thi", "at the end <thi", ""),
    ],
)
def test_tags(text: str, said: str, thought: str) -> None:
    assert _split([text]) == (said, thought)
    assert _split(list(text)) == (said, thought)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<", "think", ">", "/", "a", " ", "\n", "字"]), max_size=20
    )
)
def test_it_does_not_matter_how_the_text_is_cut(pieces: list[str]) -> None:
    whole = _split(["".join(pieces)])
    assert _split(pieces) == whole
    assert _split(list("".join(pieces))) == whole
    assert not any(tag in whole[0] for tag in ("<think>",))


def test_pieces_come_as_early_as_they_can() -> None:
    splitter = ThinkSplitter()
    assert list(splitter.feed("Hello ")) == [Text("Hello ")]
    assert list(splitter.feed("<th")) == []
    assert list(splitter.feed("ree")) == [Text("<three")]
