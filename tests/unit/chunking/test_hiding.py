"""Chunks under a layer, and a layer that goes along with the next version of a text."""

from hypothesis import given
from hypothesis import strategies as st

from kosmos.chunking.coverage import join_chunks
from kosmos.chunking.hiding import carry_redactions, hide_summaries, show_part
from kosmos.chunking.redaction import apply_redactions, find_redactions
from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.redactions import Redaction, RedactionKind, RedactionSource, mark_of, redact_range
from kosmos.ingest.blocks import parse_blocks

SECRETS = [
    "call 13812345678",
    "jane.doe@corp.example.org",
    "password: hunter2hunter2X9",
    "身份证号 11010519491231002X",
]
LINES = st.sampled_from(["# One", "## Two", "words", "other words.", "", "- item", "词语。", *SECRETS])
TEXTS = st.lists(LINES, max_size=40).map("\n".join)


def _private(start: int, end: int) -> Redaction:
    return redact_range(start, end, kind="private", reason="health", source="model")


@given(TEXTS)
def test_chunks_show_what_the_whole_shows_and_summaries_no_more(text: str) -> None:
    hidden = find_redactions(text)
    drafts = hide_summaries(chunk_by_structure(text, parse_blocks(text)), hidden)
    assert join_chunks(drafts) == text
    shown = apply_redactions(text, hidden)
    lines = shown.split("\n")
    for draft in drafts:
        part = show_part(draft, hidden)
        assert part.rstrip("\n") in "\n".join(lines[draft.start_line - 1 : draft.end_line])
    told = "\n".join([*(draft.summary for draft in drafts), *("".join(d.heading_path) for d in drafts)])
    assert not any(secret in told for secret in ("13812345678", "jane.doe", "hunter2", "11010519491231002X"))


def test_titles_of_headings_are_hidden_in_the_paths_below() -> None:
    text = "# Ask jane.doe@corp.example.org\n\nwords\n\n## Below\n\nmore"
    drafts = hide_summaries(chunk_by_structure(text, parse_blocks(text)), find_redactions(text))
    assert [draft.heading_path for draft in drafts] == [
        (),
        ("Ask ⟦email⟧",),
        ("Ask ⟦email⟧",),
        ("Ask ⟦email⟧", "Below"),
    ]


def test_what_was_hidden_stays_hidden_wherever_it_moves() -> None:
    old = "a\nJane is ill.\nVery ill.\nb\nc"
    layer = [_private(2, 3)]
    assert carry_redactions(old, layer, old) == layer
    new = "Very ill.\nc\nnew\nJane is ill.\nVery ill.\nb"
    carried = carry_redactions(old, layer, new)
    assert [(item.start_line, item.end_line) for item in carried] == [(1, 1), (4, 5)]
    assert apply_redactions(new, carried) == "⟦private⟧\nc\nnew\n⟦private⟧\n\nb"


def test_what_was_shown_elsewhere_is_not_hidden_everywhere() -> None:
    old = "{\nsecret\n}\n{\nshown\n}"
    assert carry_redactions(old, [_private(1, 3)], "{\nother\n}\nsecret") == [_private(4, 4)]


def test_a_span_inside_a_line_keeps_its_columns() -> None:
    kind = RedactionKind.PRIVATE
    span = Redaction(1, 1, kind, RedactionSource.PERSON, mark_of(kind), start_column=3, end_column=7)
    carried = carry_redactions("my name is", [span], "first\nmy name is")
    assert apply_redactions("first\nmy name is", carried) == "first\nmy ⟦private⟧ is"


@given(TEXTS, TEXTS, st.data())
def test_nothing_that_was_hidden_nowhere_shown_comes_to_light(
    old: str, new: str, data: st.DataObject
) -> None:
    lines = old.split("\n")
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    layer = [_private(start, end)]
    hidden = {line for line in lines[start - 1 : end] if line.strip()} - set(lines[: start - 1] + lines[end:])
    shown = apply_redactions(new, carry_redactions(old, layer, new)).split("\n")
    assert not hidden & set(shown)
    assert len(shown) == len(new.split("\n"))
