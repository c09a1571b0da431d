"""Answers without a model: every quote can be checked, and silence is plain."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.extractive import MAX_QUOTES, answer_extractively
from kosmos.domain.answers import Answer, Citation, SearchHit
from kosmos.domain.blocks import blank_comments
from kosmos.domain.documents import slice_lines

NOTHING = {"en": "Nothing in the documents answers this.", "zh": "没有找到能回答这个问题的内容。"}


def _hit(text: str, start_line: int = 1, name: str = "d") -> SearchHit:
    return SearchHit(
        document_id=name,
        source=f"{name}.md",
        title=name,
        chunk_id=f"{name}-{start_line}",
        start_line=start_line,
        end_line=start_line + text.count("\n"),
        page=None,
        text=text,
        summary="",
        score=1.0,
        routes={},
    )


def _check(citation: Citation, hits: list[SearchHit]) -> None:
    (hit,) = [hit for hit in hits if hit.document_id == citation.document_id]
    assert hit.start_line <= citation.start_line <= citation.end_line <= hit.end_line
    offset = hit.start_line - 1
    assert citation.quote in slice_lines(hit.text, citation.start_line - offset, citation.end_line - offset)
    assert citation.quote.strip()
    assert citation.source == hit.source


PIECES = st.sampled_from(
    [
        "Backups run nightly. ",
        "备份每天运行。",
        "The limit is 3.5 GB. ",
        "\n",
        "\n\n",
        "- item backups\n",
        "| backups | 3 |\n",
        "```\nbackups = 1\n```\n",
        "<!-- backups ",
        "-->",
        "<!-- 备份 -->",
        "word ",
        "上限是多少？",
        "limit ",
        "a <!-- b -->limit. ",
    ]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=15).map("".join)
QUESTIONS = st.sampled_from(
    ["When do backups run?", "备份的上限是多少", "limit", "", "the", "😀", "nothing else", "item"]
)


@settings(max_examples=150, deadline=None)
@given(QUESTIONS, st.lists(st.tuples(TEXTS, st.integers(1, 500)), max_size=4))
def test_every_quote_stands_at_exactly_its_lines(question: str, texts: list[tuple[str, int]]) -> None:
    hits = [_hit(text, line, f"d{number}") for number, (text, line) in enumerate(texts)]
    answer = answer_extractively(question, hits)
    assert len(answer.citations) <= MAX_QUOTES
    assert [item.marker for item in answer.citations] == [str(n + 1) for n in range(len(answer.citations))]
    for citation in answer.citations:
        _check(citation, hits)
        assert f"[{citation.marker}] {' '.join(citation.quote.split())}" in answer.answer.split("\n")
        (hit,) = [hit for hit in hits if hit.document_id == citation.document_id]
        assert citation.quote in blank_comments(hit.text)
    assert bool(answer.citations) != (answer.answer in NOTHING.values())


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30), st.lists(st.text(max_size=60), max_size=3))
def test_no_text_makes_it_fail(question: str, texts: list[str]) -> None:
    hits = [_hit(text, 7, f"d{number}") for number, text in enumerate(texts)]
    for citation in answer_extractively(question, hits).citations:
        _check(citation, hits)


def _ask(question: str, *texts: str) -> Answer:
    return answer_extractively(question, [_hit(text, 10, f"d{n}") for n, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("question", "text", "quote", "lines"),
    [
        (
            "How long are backups kept?",
            "Intro here.\nBackups are kept 30 days. Other.",
            "Backups are kept 30 days.",
            (11, 11),
        ),
        ("备份保留多久？", "简介。\n备份保留三十天。其他内容。", "备份保留三十天。", (11, 11)),
        (
            "What is the limit?",
            "One sentence\nwith a limit\nof five. Two.",
            "One sentence\nwith a limit\nof five.",
            (10, 12),
        ),
        ("weight in kg", "Text.\n\n| kg | weight |\n|---|---|\n| 3.5 | x |", "| kg | weight |", (12, 12)),
        ("make target", "Run this:\n```\nmake target\n```", "make target", (12, 12)),
    ],
)
def test_the_sentence_that_answers(question: str, text: str, quote: str, lines: tuple[int, int]) -> None:
    first = _ask(question, text).citations[0]
    assert (first.quote, (first.start_line, first.end_line)) == (quote, lines)


@pytest.mark.parametrize(
    ("question", "language"),
    [("Where is Atlantis?", "en"), ("亚特兰蒂斯在哪里？", "zh"), ("GPU 在哪", "zh"), ("", "en")],
)
def test_nothing_fits(question: str, language: str) -> None:
    for texts in ([], ["Backups run nightly.", "Quite another matter."]):
        answer = _ask(question, *texts)
        assert (answer.answer, answer.citations) == (NOTHING[language], ())
        assert answer.strategy == "extractive"
        assert answer.run_id


def test_a_faint_likeness_is_no_answer() -> None:
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    assert _ask(words, "Only alpha here.").citations == ()
    assert _ask(words, "Here alpha, beta, gamma, delta and epsilon.").citations != ()


def test_the_lead_is_in_the_language_of_the_question() -> None:
    assert _ask("backups", "Backups run.").answer.startswith(
        "Extracts from the documents (no model was used):\n[1] "
    )
    assert _ask("备份", "备份运行。").answer.startswith("摘自原文（未使用模型）：\n[1] 备份运行。")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- The secret limit is five. -->\nNothing to see.",
        "<!--\nThe secret limit\nis five.\n-->",
        "Seen.\n<!-- never closed\nThe secret limit is five.",
    ],
)
def test_comments_are_never_quoted(text: str) -> None:
    assert _ask("What is the secret limit?", text).citations == ()


def test_a_sentence_around_a_comment_is_not_quoted_from_elsewhere() -> None:
    """Without its comment it reads like another piece of the text, which stands on another line."""
    text = "The limit <!-- x -->is five.\n\n<!-- The limit is five. -->"
    hits = [_hit(text, 10)]
    for citation in answer_extractively("limit five", hits).citations:
        _check(citation, hits)


def test_words_after_a_comment_are_quoted_at_their_lines() -> None:
    (citation,) = _ask(
        "How high is the limit?", "<!--\nold\ntext -->\nThe limit is high. <!-- more -->"
    ).citations
    assert (citation.quote, citation.start_line) == ("The limit is high.", 13)


def test_the_better_chunk_comes_first_and_far_worse_ones_are_left_out() -> None:
    answer = _ask(
        "night backups kept days", "Backups of the night are kept thirty days.", "Night.", "Backups."
    )
    assert [item.document_id for item in answer.citations] == ["d0"]


def test_each_answer_has_a_run_of_its_own() -> None:
    assert _ask("a", "b").run_id != _ask("a", "b").run_id
