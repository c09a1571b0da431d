"""Chunks are joined and placed to the character, and found again after an edit."""

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.coverage import join_chunks, place_chunks, reuse_chunks
from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import Chunk, ChunkDraft, ChunkType
from kosmos.ingest.blocks import parse_blocks

SYLLABLES = ("ka", "ro", "mi", "ten", "sol", "ve", "dur", "nal", "pi", "gor")


def _chunks(text: str, sizes: ChunkSizes | None = None) -> list[ChunkDraft]:
    return chunk_by_structure(text, parse_blocks(text), sizes=sizes or ChunkSizes())


def _stored(drafts: Sequence[ChunkDraft]) -> list[Chunk]:
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


def _prose(paragraphs: int, seed: int = 0) -> list[str]:
    """Paragraphs with a few invented words each, as a text has whose subject moves on."""
    chance = random.Random(seed)
    found = []
    for _ in range(paragraphs):
        words = ["".join(chance.choices(SYLLABLES, k=3)) for _ in range(12)]
        found.append(" ".join(chance.choices(words, k=chance.randrange(20, 90))) + ".")
    return found


def test_pieces_of_a_line_are_joined_without_anything_between() -> None:
    text = "short\n\n" + "Some words in a sentence. " * 200 + "\n\nend"
    chunks = _chunks(text, ChunkSizes(20, 50, 100))
    assert sum("end_offset" in chunk.metadata for chunk in chunks) > 5
    assert join_chunks(chunks) == text
    assert join_chunks(_stored(chunks)) == text
    assert [text[start:end] for start, end in place_chunks(chunks)] == [chunk.raw_content for chunk in chunks]
    assert join_chunks([]) == ""


def test_an_unchanged_text_keeps_every_chunk() -> None:
    drafts = _chunks("# A\n\n" + "\n\n".join(_prose(40)))
    old = _stored(drafts)
    assert reuse_chunks(old, drafts) == dict(enumerate(old))


def test_a_chunk_under_another_heading_is_another_chunk() -> None:
    old = _stored(_chunks("# A\n\nsame"))
    assert list(reuse_chunks(old, _chunks("# A\n\nsame"))) == [0, 1]
    assert list(reuse_chunks(old, _chunks("# B\n\nsame"))) == []
    assert list(reuse_chunks(old, _chunks("# A\n\nsame\n\n# A\n\nsame"))) == [0, 3]


def test_equal_chunks_are_given_out_once_and_in_order() -> None:
    old = _stored(_chunks("# A\n\nx\n\n# A\n\nx\n\n# A\n\nx"))
    fresh = _chunks("# A\n\nx\n\n# A\n\nx\n\n# A\n\nx\n\n# A\n\nx")
    reused = reuse_chunks(old, fresh)
    ids = [chunk.id for chunk in reused.values()]
    assert len(ids) == len(set(ids)) == 6
    assert ids == sorted(ids)


def test_a_heading_is_never_taken_for_content() -> None:
    old = _stored(_chunks("# A"))
    (draft,) = _chunks("# A")
    plain = ChunkDraft(ChunkType.CONTENT, -1, 1, 1, draft.raw_content, "", 1, None)
    assert reuse_chunks(old, [plain]) == {}


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 299), st.sampled_from(["edit", "insert", "delete"]), st.integers(0, 3))
def test_an_edit_is_felt_only_nearby(at: int, kind: str, seed: int) -> None:
    """Prose without any heading: cuts come back to the old places within a few chunks of the edit."""
    lines, sizes = _prose(300, seed), ChunkSizes(64, 128, 512)
    old = _stored(_chunks("\n\n".join(lines), sizes))
    changed = {
        "edit": [*lines[:at], "Quite another paragraph about cooking and gardens.", *lines[at + 1 :]],
        "insert": [*lines[:at], "Quite another paragraph about cooking and gardens.", *lines[at:]],
        "delete": [*lines[:at], *lines[at + 1 :]],
    }[kind]
    drafts = _chunks("\n\n".join(changed), sizes)
    assert len(old) > 100
    assert len(drafts) - len(reuse_chunks(old, drafts)) <= 12
