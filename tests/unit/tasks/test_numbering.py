"""Identities of chunks: the same whenever they are made again, and kept where nothing has changed."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.ingest.blocks import parse_blocks
from kosmos.tasks.pipeline import number_chunks

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = Document(
    id="d1",
    space_id="s1",
    origin="file:///a.md",
    source="a.md",
    filename="a.md",
    filetype="markdown",
    size=1,
    source_url=None,
    title="",
    original_sha256="a" * 64,
    canonical_sha256=None,
    line_count=0,
    status=DocumentStatus.PENDING,
    error=None,
    version=0,
    live_generation=0,
    draft_generation=1,
    metadata={},
    created_at=NOW,
    updated_at=NOW,
)
LINES = st.sampled_from(["# One", "## Two", "### Three", "words", "other words", "", "- item", "词语"])
TEXTS = st.lists(LINES, max_size=40).map("\n".join)


def _numbered(text: str, generation: int, before: list[Chunk]) -> list[Chunk]:
    return number_chunks(DOCUMENT, chunk_by_structure(text, parse_blocks(text)), generation, before)


@given(TEXTS, TEXTS)
def test_every_chunk_has_an_identity_of_its_own(old: str, new: str) -> None:
    before = _numbered(old, 1, [])
    after = _numbered(new, 2, before)
    assert after == _numbered(new, 2, before)
    ids = [chunk.id for chunk in after]
    assert len(set(ids)) == len(ids)
    assert [chunk.position for chunk in after] == list(range(len(after)))
    known = {chunk.id: chunk for chunk in before}
    for chunk in after:
        assert chunk.parent_id is None or ids.index(chunk.parent_id) < chunk.position
        if chunk.id in known:
            assert (chunk.raw_content, chunk.type) == (known[chunk.id].raw_content, known[chunk.id].type)


@given(TEXTS)
def test_a_text_that_is_chunked_again_keeps_every_chunk(text: str) -> None:
    before = _numbered(text, 1, [])
    assert [chunk.id for chunk in _numbered(text, 2, before)] == [chunk.id for chunk in before]


@given(TEXTS, TEXTS)
def test_what_comes_behind_another_heading_keeps_what_stood_before_it(text: str, more: str) -> None:
    before = _numbered(f"{text}\n\n# Last\n\nwords", 1, [])
    after = _numbered(f"{text}\n\n# Last\n\nwords\n\n# Behind\n\n{more}", 2, before)
    kept = {chunk.id for chunk in after}
    assert {chunk.id for chunk in before[:-1]} <= kept
