"""Markers in streamed answers: true ones stay, all others go, however the text is cut."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.markers import MarkerFilter, clean_markers

KNOWN = {1, 2, 3, 12}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oil it every 40 days [1].", "Oil it every 40 days [1]."),
        ("Oil it every 40 days [9].", "Oil it every 40 days."),
        ("每 90 天轮换一次【2】。", "每 90 天轮换一次[2]。"),
        ("每 90 天轮换一次［7］。", "每 90 天轮换一次。"),
        ("Both [1, 2] and [3；9] hold.", "Both [1][2] and [3] hold."),
        ("A range [1-3].", "A range [1][2][3]."),
        ("A note [^12].", "A note [12]."),
        ("See [source 2] or [来源：8].", "See [2] or."),
        ("A link [1](http://evil.invalid/?q=secret) stays out.", "A link [1] stays out."),
        ("A link [8](http://evil.invalid/).", "A link."),
        ("A link [1](x)(http://evil.invalid/).", "A link [1]."),
        ('A link [1](http://evil.invalid/ "t").', "A link [1]."),
        ("A link [1](<http://evil.invalid/>).", "A link [1]."),
        ("A link [1]( http://evil.invalid/(a) 'b').", "A link [1]."),
        ("Words [1](as they are) and [1] (x) stay.", "Words [1](as they are) and [1] (x) stay."),
        ("[link](http://a.example) and [x] and [] stay.", "[link](http://a.example) and [x] and [] stay."),
        ("Code `items[9]` stays.", "Code `items[9]` stays."),
        ("```\na[9]\n```\nbut [9] goes", "```\na[9]\n```\nbut goes"),
        ("A stray ` does not hide [9].", "A stray ` does not hide."),
        ("a `` b [9]\nnext `` [9]", "a `` b\nnext ``"),
        ("at the end [", "at the end ["),
        ("at the end [1", "at the end [1"),
        ("[9]", ""),
        ("[9[9]9] and [1[8]2]", "[9…9] and [1…2]"),
        ("[8[9]] and [1[9]]", "[8…] and [1…]"),
        ("[99999]x[1]", "x[1]"),
        ("[123456] is no marker", "[123456] is no marker"),
    ],
)
def test_true_markers_stay(text: str, expected: str) -> None:
    assert clean_markers(text, KNOWN.__contains__)[0] == expected


def test_what_was_used_and_what_was_removed() -> None:
    _, used, removed = clean_markers("a [2][9] b [1,8] c [2]", KNOWN.__contains__)
    assert used == [2, 1, 2]
    assert removed == ["9", "8"]


PIECES = st.lists(
    st.sampled_from(
        [
            "[",
            "]",
            "1",
            "9",
            "12",
            " ",
            ",",
            "-",
            "【",
            "】",
            "`",
            "```",
            "\n",
            "(",
            ")",
            "a",
            "。",
            "源",
            "source ",
        ]
    )
    | st.text(max_size=4),
    max_size=25,
)


@settings(deadline=None)
@given(PIECES)
def test_it_does_not_matter_how_the_text_is_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = clean_markers(text, KNOWN.__contains__)
    filtering = MarkerFilter(KNOWN.__contains__)
    streamed = "".join(filtering.feed(piece) for piece in pieces) + filtering.end()
    assert (streamed, filtering.used, filtering.removed) == whole
    by_letter = MarkerFilter(KNOWN.__contains__)
    assert "".join(by_letter.feed(letter) for letter in text) + by_letter.end() == streamed


@settings(deadline=None)
@given(PIECES)
def test_no_false_marker_is_left_outside_of_code(pieces: list[str]) -> None:
    cleaned, _, _ = clean_markers("".join(pieces), KNOWN.__contains__)
    if "`" not in cleaned:
        assert {int(number) for number in re.findall(r"\[([0-9]{1,5})\]", cleaned)} <= KNOWN


@settings(deadline=None)
@given(PIECES)
def test_cleaning_twice_is_cleaning_once(pieces: list[str]) -> None:
    cleaned, used, _ = clean_markers("".join(pieces), KNOWN.__contains__)
    assert clean_markers(cleaned, KNOWN.__contains__)[1:] == (used, []) or "`" in cleaned
