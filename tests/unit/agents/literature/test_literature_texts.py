"""Cutting papers, packing summaries, numbers that are promised, the forms of answers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.literature.contract import Condensed, Paper, Place
from kosmos.agents.literature.cutting import cut_pieces
from kosmos.agents.literature.forms import (
    compare,
    has_table,
    header_rows,
    is_verdict,
    read_condensed,
    read_review,
)
from kosmos.agents.literature.numbering import PaperSources, disarm
from kosmos.agents.literature.packing import cut_to, pack_groups
from kosmos.agents.sources import Sources
from kosmos.domain.papers import PaperFacts
from kosmos.domain.tokens import estimate_tokens
from kosmos.tools.contract import Passage

ENGLISH = "## Summary\n## Strengths\n## Weaknesses\n## Questions\n## Rating"
LINES = st.lists(
    st.sampled_from(["", "# A", "## B", "```", "text " * 90, "字" * 300, "- x", "#no heading"]), max_size=60
)


@settings(deadline=None)
@given(LINES, st.tuples(st.integers(1, 60), st.integers(0, 20)))
def test_every_line_with_text_is_in_exactly_one_piece(lines: list[str], hole: tuple[int, int]) -> None:
    out = (hole[0], hole[0] + hole[1])
    pieces = cut_pieces(lines, leave_out=out)
    covered = [number for piece in pieces for number in range(piece.start, piece.end + 1)]
    assert len(covered) == len(set(covered))
    assert covered == sorted(covered)
    wanted = {at for at, line in enumerate(lines, start=1) if line.strip() and not out[0] <= at <= out[1]}
    assert wanted <= set(covered)
    assert not set(covered) & set(range(out[0], out[1] + 1))
    for piece in pieces:
        assert lines[piece.start - 1].strip()
        assert lines[piece.end - 1].strip()


def test_pieces_stand_below_their_headings() -> None:
    lines = ["# T", "", "intro", "## Method", "```", "# no heading", "```", "", "## Data", "rows"]
    assert [piece.headings for piece in cut_pieces(lines)] == [("T",), ("T", "Method"), ("T", "Data")]


@settings(deadline=None)
@given(st.lists(st.integers(1, 1000), max_size=80), st.integers(100, 1500))
def test_groups_fill_the_limit_and_never_exceed_it(sizes: list[int], limit: int) -> None:
    groups = pack_groups(sizes, limit)
    assert sorted(at for group in groups for at in group) == list(range(len(sizes)))
    for group in groups:
        assert group == sorted(group)
        assert len(group) == 1 or sum(sizes[at] for at in group) <= limit
    fitting = [size for size in sizes if size <= limit]
    ideal = math.ceil(sum(fitting) / limit)
    # First fit leaves at most one group half empty.
    assert len(groups) - (len(sizes) - len(fitting)) <= max(1, 2 * ideal)


@settings(deadline=None)
@given(st.text(alphabet="ab .。\n字[1]", max_size=400), st.integers(3, 60))
def test_a_text_is_cut_to_size(text: str, tokens: int) -> None:
    cut = cut_to(text, tokens)
    assert estimate_tokens(cut) <= tokens
    assert text.startswith(cut.removesuffix("…").rstrip()) or cut == text


async def _read(document_id: str, place: Place) -> Passage | None:
    if document_id == "gone":
        return None
    return Passage(
        "The depth is 3 m.", "a.md", document_id=document_id, start_line=place[0], end_line=place[1]
    )


async def test_promised_lines_are_read_when_they_are_cited() -> None:
    sources = PaperSources(Sources("f", next_number=5), _read)
    one, gone = Paper("one", "a.md", PaperFacts()), Paper("gone", "b.md", PaperFacts())
    text = sources.adopt(one, Condensed("Deep [1]. Wide [2][9].", {1: (3, 4), 2: (7, 7)}))
    assert text == "Deep [5]. Wide [6]."
    assert sources.adopt(one, Condensed("Deep [4].", {4: (3, 4)})) == "Deep [5]."
    assert sources.adopt(gone, Condensed("Lost [1].", {1: (1, 1)})) == "Lost [7]."
    assert sources.sources.seen == {}
    await sources.keep({5: None, 7: None})
    assert set(sources.sources.seen) == {5}
    assert sources.sources.next_number == 8


def test_marks_of_a_paper_itself_cannot_be_taken_for_ours() -> None:
    passage = Passage("As shown [3] and [4, 5] before.", "a.md", title="T", headings=("T", "Method"))
    shown = disarm(passage)
    assert shown.text == "As shown ⟦3⟧ and ⟦4, 5⟧ before."
    assert shown.headings == ("Method",)
    sources = PaperSources(Sources("f"), _read)
    number, text = sources.show(passage)
    assert "[3]" not in text
    assert sources.sources.seen[number].text == passage.text


def test_a_table_is_made_of_summaries() -> None:
    said = "**Problem:** How deep? Why. [1]\nMethod: a gauge [2]. More.\n数据：十个 | 站[3]。\n"
    said += "Limits:\n- one port [4]"
    assert read_condensed(said)["problem"] == "How deep? Why. [1]"
    table = compare([("A | B", said)], "English")
    assert has_table(table)
    assert "| A / B | How deep? Why. [1] | a gauge [2]. | 十个 / 站[3]。 | – | - one port [4] |" in table
    assert header_rows(table) == {"| Paper | Problem | Method | Data | Result | Limits |"}
    assert not has_table("a | b\nno table")


@pytest.mark.parametrize(
    ("text", "rating", "confidence"),
    [
        (
            f"{ENGLISH}\nRating: 7/10\nConfidence: 3/5",
            7.0,
            3,
        ),
        ("## 概述\n## 优点\n## 不足\n## 问题\n## 评分\n**评分**：6.5/10\n置信度：4／5", 6.5, 4),
    ],
)
def test_the_form_of_a_review(text: str, rating: float, confidence: int) -> None:
    assert read_review(text) == {"rating": rating, "confidence": confidence, "missing": []}
    assert read_review("## Summary\nGood.")["missing"] == ["strengths", "weaknesses", "questions", "rating"]
    assert is_verdict("Rating: 7/10")
    assert not is_verdict("It is rated 7/10.")
