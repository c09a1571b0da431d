"""Pieces from chunks: what of a corpus is found, and by which words."""

from collections.abc import Mapping, Sequence

from kosmos.chunking.coverage import place_chunks
from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.structure import INDEXED, chunk_by_structure
from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import ChunkDraft, ChunkType
from kosmos.eval.chunking import Piece
from kosmos.ingest.blocks import parse_blocks


def cut_by_structure(corpora: Mapping[str, str], sizes: ChunkSizes) -> list[Piece]:
    """The pieces of all corpora as the structure producer cuts them."""
    return [
        piece
        for name, text in corpora.items()
        for piece in as_pieces(name, chunk_by_structure(text, parse_blocks(text), sizes=sizes))
    ]


def as_pieces(corpus: str, drafts: Sequence[ChunkDraft]) -> list[Piece]:
    """The chunks that search can find, as the index sees them: the headings above them, then their text."""
    places = place_chunks(drafts)
    return [
        Piece(corpus, *place, " ".join([*draft.heading_path, without_comments(draft.raw_content)]))
        for draft, place in zip(drafts, places, strict=True)
        if draft.type is not ChunkType.HEADING and draft.metadata.get(INDEXED, True)
    ]
