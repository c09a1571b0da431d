"""Chunks tile a text: every line in exactly one of them, in order, below the right heading."""

import itertools
import time
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kosmos.chunking.structure import CORE_TOKENS, SUMMARY_CHARS, chunk_by_structure
from kosmos.domain.blocks import Block
from kosmos.domain.chunks import CONTENT_LEVEL, ChunkDraft, ChunkType
from kosmos.domain.tokens import estimate_tokens
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text

PROPERTY = settings(max_examples=100, deadline=None)
LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "",
            "",
            "# One",
            "## Two",
            "### Three",
            "#### Four",
            "# Again",
            "Setext",
            "===",
            "---",
            "text " * 30,
            "中文段落，" * 20,
            "- item",
            "> # quoted",
            "```",
            "# in code?",
            "| a | b |",
            "|---|---|",
            "<!--",
            "-->",
            "[ref]: /url",
            "    code",
            "***",
            "   ",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=15),
)
DOCUMENTS = st.lists(LINES, max_size=50).map(lambda lines: clean_text("\n".join(lines)))
CORES = st.sampled_from([1, 20, 100, CORE_TOKENS])


def _chunks(text: str, core_tokens: int = CORE_TOKENS) -> list[ChunkDraft]:
    return chunk_by_structure(text, parse_blocks(text), core_tokens=core_tokens)


def _check_tiling(text: str, chunks: Sequence[ChunkDraft]) -> None:
    lines = text.split("\n")
    assert "\n".join(chunk.raw_content for chunk in chunks) == text
    assert [chunk.start_line for chunk in chunks] == [1, *(chunk.end_line + 1 for chunk in chunks[:-1])]
    assert chunks[-1].end_line == len(lines)
    for chunk in chunks:
        assert chunk.start_line <= chunk.end_line
        assert chunk.raw_content.split("\n") == lines[chunk.start_line - 1 : chunk.end_line]
        assert chunk.token_count == estimate_tokens(chunk.raw_content)


def _check_tree(chunks: Sequence[ChunkDraft]) -> None:
    """The parent of a chunk is the nearest heading before it of a smaller level."""
    for at, chunk in enumerate(chunks):
        level = chunk.level if chunk.type is ChunkType.HEADING else 7
        above: list[int] = []
        for before in range(at - 1, -1, -1):
            if chunks[before].type is ChunkType.HEADING and chunks[before].level < level:
                above.insert(0, before)
                level = chunks[before].level
        assert chunk.parent == (above[-1] if above else None)
        assert chunk.heading_path == tuple(chunks[index].summary for index in above)
        assert (chunk.level == CONTENT_LEVEL) == (chunk.type is ChunkType.CONTENT)


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk_by_structure("", []) == []
    assert _chunks("") == []


@PROPERTY
@given(DOCUMENTS, CORES)
def test_chunks_of_markdown_tile_it_and_form_a_tree(text: str, core_tokens: int) -> None:
    chunks = _chunks(text, core_tokens)
    if text == "":
        assert chunks == []
        return
    _check_tiling(text, chunks)
    _check_tree(chunks)


@PROPERTY
@given(st.text(), CORES)
def test_chunks_of_any_text_tile_it(text: str, core_tokens: int) -> None:
    canonical = clean_text(text)
    if canonical:
        _check_tiling(canonical, _chunks(canonical, core_tokens))


@PROPERTY
@given(DOCUMENTS)
def test_each_heading_is_a_chunk_of_its_own(text: str) -> None:
    wanted = [(part.title, part.level) for part in parse_blocks(text) if part.kind == "heading"]
    found = [(chunk.summary, chunk.level) for chunk in _chunks(text) if chunk.type is ChunkType.HEADING]
    assert found == wanted


def test_lines_that_no_block_has_go_with_the_chunk_before_them() -> None:
    text = "\n\nfirst\n\n[ref]: /url\n\n# Head\n\n\nbody\n\n"
    ranges = [(chunk.start_line, chunk.end_line) for chunk in chunk_by_structure(text, parse_blocks(text))]
    assert ranges == [(1, 6), (7, 9), (10, 12)]


@pytest.mark.parametrize("text", [" ", "\n", "\n\n\n x", "[only]: /a-reference", "<!-- only a comment -->"])
def test_a_text_without_blocks_is_one_chunk(text: str) -> None:
    chunks = _chunks(text)
    _check_tiling(text, chunks)
    assert len(chunks) == 1
    assert chunks[0].type is ChunkType.CONTENT


def test_front_matter_stands_alone() -> None:
    chunks = _chunks("---\na: 1\n---\nbody\n\nmore")
    assert [(chunk.metadata["kind"], chunk.start_line, chunk.end_line) for chunk in chunks] == [
        ("front_matter", 1, 3),
        ("paragraph", 4, 6),
    ]


def test_a_giant_block_stays_whole_and_its_neighbours_apart() -> None:
    giant = "很长的一段。" * 50_000
    chunks = _chunks(f"before\n\n{giant}\n\nafter")
    assert [chunk.raw_content.strip() for chunk in chunks] == ["before", giant, "after"]
    assert chunks[1].token_count > 100 * CORE_TOKENS
    assert len(chunks[1].summary) == SUMMARY_CHARS


def test_thousands_of_headings() -> None:
    before = time.monotonic()
    text = "\n".join(
        f"{'#' * (1 + number % 6)} Heading {number}\n\nbody {number}\n" for number in range(5000)
    )
    chunks = _chunks(clean_text(text))
    assert time.monotonic() - before < 20
    assert len(chunks) == 10_000
    _check_tiling(clean_text(text), chunks)
    assert chunks[-1].heading_path == ("Heading 4998", "Heading 4999")


@PROPERTY
@example([50, 50, 1], 100)
@given(st.lists(st.integers(1, 120), min_size=1, max_size=40), st.sampled_from([100, CORE_TOKENS]))
def test_blocks_are_packed_as_far_as_they_fit(sizes: list[int], core_tokens: int) -> None:
    """Paragraphs of known sizes: no chunk is too large, and none could have taken the next paragraph too."""
    text = "\n\n".join("字" * size for size in sizes)
    chunks = _chunks(text, core_tokens)
    groups = [[len(part) for part in chunk.raw_content.split()] for chunk in chunks]
    assert [size for group in groups for size in group] == sizes
    for group, following in itertools.pairwise(groups):
        assert sum(group) + following[0] > core_tokens
    for group in groups:
        assert sum(group) <= core_tokens or len(group) == 1


def test_sections_are_never_packed_together() -> None:
    chunks = _chunks("# A\n\nshort\n\n# B\n\nshort too")
    assert [chunk.raw_content.split("\n")[0] for chunk in chunks] == ["# A", "short", "# B", "short too"]
    assert [chunk.parent for chunk in chunks] == [None, 0, None, 2]


def test_a_skipped_level_keeps_the_nearest_heading_as_parent() -> None:
    chunks = _chunks("### Deep\n\n# Top\n\n### Under\n\n## Middle\n\n### Last")
    assert [(chunk.level, chunk.parent) for chunk in chunks] == [(3, None), (1, None), (3, 1), (2, 1), (3, 3)]


def test_a_summary_is_an_extract() -> None:
    text = "word " * 100
    (chunk,) = chunk_by_structure(text, [Block("paragraph", 1, 1)])
    assert chunk.summary.endswith("…")
    assert text.startswith(chunk.summary[:-1])
    assert _chunks("short\n text")[0].summary == "short text"


def test_a_summary_leaves_comments_out() -> None:
    (chunk,) = _chunks("<!--\n" + "old words " * 50 + "\n-->\nNew words.")
    assert chunk.summary == "New words."
    assert _chunks("# Head <!-- draft -->")[0].summary == "Head"
