"""Chunks tile a text: every line in exactly one of them, in order, below the right heading."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.coverage import END_OFFSET, START_OFFSET, join_chunks, place_chunks
from kosmos.chunking.packing import CORE_TOKENS, MAX_TOKENS, ChunkSizes
from kosmos.chunking.rules import check_chunks
from kosmos.chunking.structure import INDEXED, chunk_by_structure
from kosmos.chunking.summaries import SUMMARY_CHARS
from kosmos.domain.chunks import CONTENT_LEVEL, ChunkDraft, ChunkType
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import InvalidInput
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text

PROPERTY = settings(max_examples=100, deadline=None)
WORDS = "word " * 5000
SAMPLES = [
    *[
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
        "***",
        "   ",
    ],
    *["text " * 30, "A sentence. Another one! " * 20, "中文段落，句子。" * 20],
    *["- item", "  continued", "1. first", "> # quoted", "```", "~~~", "# in code?", "    code"],
    *["| a | b |", "|---|---|", "| c | d |", "<!--", "-->", "<!-- all -->", "[ref]: /url", "<div>"],
    *["👩\u200d👩\u200d👧 " * 40, "שלום עולם. " * 20, "x" * 900, "字" * 900, "[{'a': 1}, {'b': 2}]" * 20],
    *["page\x0cbreak", "line\u2028separator", "next\x85line", "windows\r", "\r\n"],
]
LINES = st.one_of(st.sampled_from(SAMPLES), st.text(st.characters(exclude_categories=["Cs"]), max_size=15))
TEXTS = st.lists(LINES, max_size=40).map("\n".join)
SIZES = st.sampled_from(
    [
        ChunkSizes(1, 1, 1),
        ChunkSizes(5, 20, 50),
        ChunkSizes(50, 100, 400),
        ChunkSizes(20, 20, 2000),
        ChunkSizes(),
    ]
)


def _chunks(text: str, sizes: ChunkSizes | None = None) -> list[ChunkDraft]:
    return chunk_by_structure(text, parse_blocks(text), sizes=sizes or ChunkSizes())


def _contents(chunks: Sequence[ChunkDraft]) -> list[str]:
    return [chunk.raw_content for chunk in chunks if chunk.type is ChunkType.CONTENT]


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


def test_one_line_of_five_thousand_words() -> None:
    for text in (WORDS, WORDS.strip(), f"before\n{WORDS}\nafter", "字" * 5000, "\u2028" * 9000, "x" * 30_000):
        chunks = _chunks(clean_text(text))
        assert check_chunks(clean_text(text), chunks) == []
        assert all(chunk.token_count <= MAX_TOKENS for chunk in chunks)


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk_by_structure("", []) == []


@PROPERTY
@given(TEXTS, SIZES)
def test_chunks_tile_the_text_and_form_a_tree(text: str, sizes: ChunkSizes) -> None:
    canonical = clean_text(text)
    chunks = _chunks(canonical, sizes)
    assert check_chunks(canonical, chunks) == []
    assert join_chunks(chunks) == canonical
    _check_tree(chunks)
    for chunk, (start, end) in zip(chunks, place_chunks(chunks), strict=True):
        assert canonical[start:end] == chunk.raw_content
        assert chunk.token_count == estimate_tokens(chunk.raw_content)
        assert chunk.type is ChunkType.HEADING or len(chunk.summary) <= SUMMARY_CHARS


@PROPERTY
@given(TEXTS)
def test_text_that_is_not_canonical_is_tiled_as_well(text: str) -> None:
    plain = text.replace("\r", "").replace("\x00", "")
    assert check_chunks(plain, _chunks(plain)) == []


@PROPERTY
@given(TEXTS.map(lambda text: text.replace("<!--", "")), SIZES)
def test_no_content_is_larger_than_the_maximum(text: str, sizes: ChunkSizes) -> None:
    for chunk in _chunks(clean_text(text), sizes):
        whole = chunk.type is ChunkType.HEADING or chunk.metadata["kind"] == "front_matter"
        assert whole or chunk.token_count <= sizes.max_tokens


@PROPERTY
@given(TEXTS)
def test_each_heading_is_a_chunk_of_its_own(text: str) -> None:
    canonical = clean_text(text)
    wanted = [(part.title, part.level) for part in parse_blocks(canonical) if part.kind == "heading"]
    found = [(chunk.summary, chunk.level) for chunk in _chunks(canonical) if chunk.type is ChunkType.HEADING]
    assert found == wanted


def test_a_heading_has_its_lines_and_the_blank_ones_below() -> None:
    text = "\n\nfirst\n\n[ref]: /url\n\n# Head\n\n\nbody\n\n"
    ranges = [(chunk.start_line, chunk.end_line) for chunk in _chunks(text)]
    assert ranges == [(1, 6), (7, 9), (10, 12)]


def test_link_definitions_below_a_heading_are_not_part_of_it() -> None:
    chunks = _chunks("# Head\n\n[ref]: /url\n\n# Next\n\ntext")
    assert [chunk.raw_content for chunk in chunks] == ["# Head\n", "[ref]: /url\n", "# Next\n", "text"]
    assert [chunk.metadata.get(INDEXED, True) for chunk in chunks] == [True, False, True, True]


@pytest.mark.parametrize(
    "text", [" ", "\n", "[only]: /a-reference", "<!-- only a comment -->", "---", "***\n\n—"]
)
def test_a_text_without_words_is_one_chunk_that_is_not_indexed(text: str) -> None:
    (chunk,) = _chunks(text)
    assert chunk.type is ChunkType.CONTENT
    assert chunk.raw_content == text
    assert chunk.metadata[INDEXED] is False


def test_front_matter_stands_alone_and_is_not_indexed() -> None:
    chunks = _chunks("---\na: 1\n---\nbody\n\nmore")
    assert [(chunk.metadata["kind"], chunk.start_line, chunk.end_line) for chunk in chunks] == [
        ("front_matter", 1, 3),
        ("paragraph", 4, 6),
    ]
    assert [chunk.metadata.get(INDEXED, True) for chunk in chunks] == [False, True]


def test_small_neighbours_of_one_section_are_merged() -> None:
    chunks = _chunks("# A\n\nshort\n\nshort too\n\n- item\n\n# B\n\nalone")
    assert [(chunk.raw_content, chunk.merged) for chunk in chunks if chunk.type is ChunkType.CONTENT] == [
        ("short\n\nshort too\n\n- item\n", True),
        ("alone", False),
    ]
    assert not any(chunk.from_split for chunk in chunks)


def test_one_long_line_is_cut_at_sentence_ends() -> None:
    sentence = "The quick brown fox jumps over the lazy dog near the river bank. "
    chunks = _chunks("before\n\n" + (sentence * 400).rstrip() + "\n\nafter")
    inner = chunks[1:-1]
    assert len(chunks) > 5
    assert {(chunk.start_line, chunk.end_line) for chunk in inner} == {(3, 3)}
    for left, right in pairwise(chunks):
        assert left.metadata[END_OFFSET] == right.metadata[START_OFFSET]
        assert left.raw_content.endswith("bank. ")
    assert all(chunk.from_split and chunk.token_count <= 2 * CORE_TOKENS for chunk in chunks)


def test_one_long_chinese_line_is_cut_at_sentence_ends() -> None:
    chunks = _chunks("容器运行在节点上，由控制平面调度。" * 200)
    assert len(chunks) > 3
    assert all(chunk.raw_content.endswith("。") for chunk in chunks)


def test_a_fence_stays_whole_up_to_the_maximum() -> None:
    code = "```yaml\n" + "key: value of some length\n" * 200 + "```"
    assert CORE_TOKENS < estimate_tokens(code) <= MAX_TOKENS
    contents = _contents(_chunks(f"{'Words before. ' * 100}\n\n{code}\n\n{'Words after. ' * 100}"))
    assert [content.count("key:") for content in contents] == [0, 200, 0]


def test_a_fence_in_a_list_stays_whole_too() -> None:
    code = "  ```\n" + "  run the command\n\n" * 30 + "  ```\n"
    text = "".join(f"- item {number} is explained here\n\n{code}" for number in range(8))
    for content in _contents(_chunks(clean_text(text), ChunkSizes(30, 60, 2048))):
        assert content.count("```") % 2 == 0


def test_a_larger_fence_is_cut_between_lines() -> None:
    code = "```\n" + "".join(f"line {number} of the code\n" for number in range(1500)) + "```"
    chunks = _chunks(code)
    assert len(chunks) > 3
    assert not any(key in chunk.metadata for chunk in chunks for key in (START_OFFSET, END_OFFSET))
    assert all(chunk.from_split for chunk in chunks)


def test_a_table_is_cut_between_rows_and_keeps_its_head() -> None:
    table = "| name | what it is |\n|---|---|\n| word | " + "\n| word | ".join(
        f"explanation number {number}, at some length and with a full stop. |" for number in range(200)
    )
    contents = _contents(_chunks(table))
    assert len(contents) > 3
    assert contents[0].startswith("| name | what it is |\n|---|---|\n| word |")
    for content in contents:
        assert content.startswith("| ")
        assert content.endswith("|")


def test_a_list_is_cut_between_items() -> None:
    text = "\n".join(
        f"- item {number}\n  goes on without an end, for a while\n  and on" for number in range(300)
    )
    contents = _contents(_chunks(text))
    assert len(contents) > 3
    assert all(content.startswith("- item") for content in contents)


def test_a_comment_is_never_cut() -> None:
    hidden = "<!--\n" + "Old words that nobody reads.\n\n" * 2000 + "-->"
    chunks = _chunks(f"{hidden}\n\nNew words.\n\ntext {hidden} text")
    for chunk in chunks:
        assert chunk.raw_content.count("<!--") == chunk.raw_content.count("-->")
    assert _chunks(hidden)[0].metadata[INDEXED] is False


def test_an_announcement_stays_with_what_it_announces() -> None:
    filler = "Words that fill the paragraph to some length, nothing more than that. " * 3
    text = "\n\n".join(f"{filler}\n\nDo it like this:\n\n1. {filler}" for _ in range(20))
    for content in _contents(_chunks(text, ChunkSizes(50, 100, 400)))[:-1]:
        assert not content.rstrip().endswith(":")


def test_thousands_of_headings() -> None:
    text = "\n".join(
        f"{'#' * (1 + number % 6)} Heading {number}\n\nbody {number}\n" for number in range(5000)
    )
    chunks = _chunks(clean_text(text))
    assert len(chunks) == 10_000
    assert check_chunks(clean_text(text), chunks) == []
    assert chunks[-1].heading_path == ("Heading 4998", "Heading 4999")


@PROPERTY
@given(st.lists(st.integers(1, 120), min_size=1, max_size=40))
def test_paragraphs_are_packed_towards_the_core_size(numbers: list[int]) -> None:
    """No chunk is larger than twice the core, and no two neighbours would fit into one."""
    text = "\n\n".join("字" * number for number in numbers)
    sizes = [chunk.token_count for chunk in _chunks(text, ChunkSizes(50, 100, 400))]
    assert sum(sizes) == sum(numbers)
    assert max(sizes) <= 200
    for left, right in pairwise(sizes):
        assert left + right > 100


def test_sections_are_never_packed_together() -> None:
    chunks = _chunks("# A\n\nshort\n\n# B\n\nshort too")
    assert [chunk.raw_content.split("\n")[0] for chunk in chunks] == ["# A", "short", "# B", "short too"]
    assert [chunk.parent for chunk in chunks] == [None, 0, None, 2]


def test_a_skipped_level_keeps_the_nearest_heading_as_parent() -> None:
    chunks = _chunks("### Deep\n\n# Top\n\n### Under\n\n## Middle\n\n### Last")
    assert [(chunk.level, chunk.parent) for chunk in chunks] == [(3, None), (1, None), (3, 1), (2, 1), (3, 3)]


@pytest.mark.parametrize("numbers", [(0, 1, 2), (3, 2, 4), (1, 5, 4)])
def test_sizes_have_to_rise(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidInput, match="do not rise"):
        ChunkSizes(*numbers)
