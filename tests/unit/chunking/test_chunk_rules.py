"""Each rule finds what breaks it, and nothing else does."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.rules import Rule, as_drafts, check_chunks
from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import ERROR_LEVEL, Chunk, ChunkDraft, ChunkType
from kosmos.ingest.blocks import parse_blocks

TEXT = "# One\n\nfirst\n\n## Two\n\n" + "A long line of words. " * 60 + "\n\nlast"


def _good() -> list[ChunkDraft]:
    return chunk_by_structure(TEXT, parse_blocks(TEXT), sizes=ChunkSizes(20, 50, 100))


def _broken(position: int, **changes: object) -> list[ChunkDraft]:
    drafts = _good()
    drafts[position] = replace(drafts[position], **changes)  # type: ignore[arg-type]  # any field
    return drafts


def _rules(drafts: list[ChunkDraft], text: str = TEXT) -> set[Rule]:
    return {violation.rule for violation in check_chunks(text, drafts)}


def test_good_chunks_break_no_rule() -> None:
    drafts = _good()
    assert len(drafts) > 6
    assert check_chunks(TEXT, drafts) == []
    assert check_chunks("", []) == []


def test_a_missing_chunk_is_a_gap() -> None:
    for position in range(len(_good()) - 1):
        drafts = [replace(draft, parent=None) for at, draft in enumerate(_good()) if at != position]
        assert _rules(drafts) >= {Rule.GAP, Rule.HASH}
    assert _rules(_good()[:-1]) == {Rule.GAP, Rule.HASH}
    assert _rules([]) == {Rule.GAP, Rule.HASH}


def test_a_chunk_twice_is_out_of_order() -> None:
    drafts = _good()
    assert _rules([*drafts[:2], *drafts[1:2]]) >= {Rule.ORDER}


def test_a_line_in_two_chunks_is_an_overlap() -> None:
    drafts = _broken(1, end_line=4, raw_content="first\n")
    assert check_chunks(TEXT, drafts) == []
    assert _rules(_broken(1, end_line=5, raw_content="first\n\n## Two")) == {Rule.OVERLAP, Rule.HASH}


@pytest.mark.parametrize(
    "changes",
    [
        {"start_line": 0},
        {"end_line": 10_000},
        {"start_line": 4, "end_line": 3},
        {"metadata": {"start_offset": 99}},
        {"metadata": {"end_offset": 5}},
        {"metadata": {"end_offset": -1}},
        {"metadata": {"start_offset": "1"}},
        {"metadata": {"start_offset": True}},
    ],
)
def test_lines_that_are_not_there(changes: dict[str, object]) -> None:
    assert Rule.LINES in _rules(_broken(1, **changes))


def test_changed_text_is_found_even_by_one_blank() -> None:
    assert _rules(_broken(1, raw_content="first \n")) == {Rule.TEXT, Rule.HASH}
    assert _rules(_good(), TEXT.replace("last", "Last")) == {Rule.TEXT, Rule.HASH}


@pytest.mark.parametrize("parent", [-1, 1, 2, 99])
def test_a_parent_has_to_be_a_heading_before_its_child(parent: int) -> None:
    assert _rules(_broken(1, parent=parent)) == {Rule.PARENT}
    assert _rules(_broken(3, parent=1)) == {Rule.PARENT}


def test_levels_rise_strictly_below_a_heading() -> None:
    assert _rules(_broken(2, level=1)) == {Rule.LEVEL}
    assert _rules(_broken(2, level=3)) == set()


@pytest.mark.parametrize(
    ("kind", "level"),
    [(ChunkType.HEADING, 0), (ChunkType.HEADING, 7), (ChunkType.CONTENT, 1), (ChunkType.ERROR, -1)],
)
def test_levels_fit_types(kind: ChunkType, level: int) -> None:
    assert Rule.LEVEL in _rules(_broken(1, type=kind, level=level))


def test_a_sentinel_is_allowed() -> None:
    assert _rules(_broken(1, type=ChunkType.ERROR, level=ERROR_LEVEL)) == set()


def _stored(drafts: list[ChunkDraft]) -> list[Chunk]:
    return [
        Chunk(
            id=f"id{position}",
            space_id="s",
            document_id="d",
            generation=1,
            parent_id=None if draft.parent is None else f"id{draft.parent}",
            type=draft.type,
            level=draft.level,
            start_line=draft.start_line,
            end_line=draft.end_line,
            raw_content=draft.raw_content,
            summary=draft.summary,
            redaction=None,
            token_count=draft.token_count,
            position=position,
            from_split=draft.from_split,
            merged=draft.merged,
            metadata=draft.metadata,
        )
        for position, draft in enumerate(drafts)
    ]


def test_stored_chunks_are_checked_by_the_same_rules() -> None:
    stored = _stored(_good())
    assert check_chunks(TEXT, as_drafts(stored)) == []
    lost = [replace(stored[0], parent_id="gone"), *stored[1:]]
    assert [(item.rule, item.position) for item in check_chunks(TEXT, as_drafts(lost))] == [(Rule.PARENT, 0)]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_moved_bound_is_noticed(data: st.DataObject) -> None:
    drafts = _good()
    position = data.draw(st.integers(0, len(drafts) - 1))
    key = data.draw(st.sampled_from(["start_line", "end_line"]))
    moved = getattr(drafts[position], key) + data.draw(st.sampled_from([-2, -1, 1, 2]))
    assert check_chunks(TEXT, _broken(position, **{key: moved}))
