"""Sentences of answers: what they rest on, and which rest on nothing."""

import pytest

from kosmos.agents.claims import judge, sentences_of


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "Oil it every 40 days [1]. Use VG 46. [2]",
            [("Oil it every 40 days .", ("1",)), ("Use VG 46.", ("2",))],
        ),
        ("每九十天轮换一次[2]。先备份。[1]", [("每九十天轮换一次。", ("2",)), ("先备份。", ("1",))]),
        ("- one thing [1]\n- another [2]", [("one thing", ("1",)), ("another", ("2",))]),
        ("## Title\n\nText [3].", [("Text .", ("3",))]),
        ("```\ncode here. more.\n```\nText [3].", [("Text .", ("3",))]),
        ("Version 3.5 is out [1].", [("Version 3.5 is out .", ("1",))]),
    ],
)
def test_sentences(answer: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert list(sentences_of(answer)) == expected


def test_a_sentence_without_support_is_labelled() -> None:
    claims = judge("The pump is blue [1]. It was built in Norway in 1962.", {"1": "The pump is blue."})
    assert [claim.problem for claim in claims] == [None, "no citation"]


def test_an_invented_quote_is_labelled() -> None:
    text = "The blue pump must be oiled every 40 days."
    good, bad = judge(
        'It says "must be oiled every 40 days" [1]. It says “must never be oiled at all” [1].', {"1": text}
    )
    assert good.problem is None
    assert bad.problem == "quote not found"


def test_questions_lead_ins_and_courtesies_need_no_support() -> None:
    assert judge("Sure. The steps are:\nShall I go on?\n好的。步骤如下：", {}) == ()
