"""Think: what the model may do next."""

import pytest

from kosmos.agents.thinking import Limits, Progress, answer_language, decide, is_small_talk

TOOLS = ("search", "read")


def test_a_question_is_looked_up_first() -> None:
    decision = decide(Progress(step=1), Limits(), TOOLS, "How long does it last?")
    assert (decision.tools, decision.choice) == (("search",), "required")


@pytest.mark.parametrize("text", ["hello", "你好！", "Thanks!", "谢谢。", "What can you do?", "Hi there"])
def test_small_talk_needs_no_look_up(text: str) -> None:
    assert is_small_talk(text)
    assert decide(Progress(step=1), Limits(), TOOLS, text).choice == "auto"


@pytest.mark.parametrize("text", ["hello world program in the docs?", "你好，证书多久轮换一次？"])
def test_a_question_that_begins_politely_is_one(text: str) -> None:
    assert not is_small_talk(text)


def test_after_a_look_up_the_model_is_free() -> None:
    decision = decide(Progress(step=2, retrieved=True), Limits(), TOOLS, "q")
    assert (decision.tools, decision.choice) == (TOOLS, "auto")


def test_at_the_limit_it_must_answer() -> None:
    decision = decide(Progress(step=3), Limits(steps=3), TOOLS, "q")
    assert (decision.choice, decision.must_answer) == ("none", "limit")
    assert decision.reason


def test_repeated_calls_end_in_an_answer() -> None:
    decision = decide(Progress(step=3, repeats=2), Limits(), TOOLS, "q")
    assert (decision.choice, decision.must_answer) == ("none", "repeats")


def test_without_tools_there_is_nothing_to_choose() -> None:
    assert decide(Progress(step=1), Limits(steps=1), (), "q").must_answer == ""


def test_the_language_of_the_answer() -> None:
    assert answer_language("auto", "证书多久轮换一次？") == "Chinese"
    assert answer_language("auto", "How often?") == "English"
    assert answer_language("zh", "How often?") == "Chinese"
