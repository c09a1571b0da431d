"""Pieces from chunks: what of a corpus is found, and by which words."""

import time
from collections.abc import Iterator, Mapping, Sequence

from kosmos.chunking.coverage import place_chunks
from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.structure import INDEXED, chunk_by_structure
from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import ChunkDraft, ChunkType
from kosmos.eval.chunking import Piece
from kosmos.eval.chunking_run import OURS, Cut
from kosmos.ingest.blocks import parse_blocks

CORE_TOKENS = (64, 128, 256)


def cut_by_sizes(corpora: Mapping[str, str]) -> Iterator[Cut]:
    """The structure producer at several sizes, the default last."""
    for sizes in (*(ChunkSizes(core // 2, core, core * 4) for core in CORE_TOKENS), ChunkSizes()):
        started = time.process_time()
        pieces = cut_by_structure(corpora, sizes)
        label = f"{OURS} {sizes.min_tokens}/{sizes.core_tokens}/{sizes.max_tokens}"
        yield Cut(label, pieces, time.process_time() - started)


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
