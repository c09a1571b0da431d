"""Chunkers of other projects, for comparison: measured where they are installed, never needed."""

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kosmos.eval.chunking import Piece
from kosmos.eval.chunking_run import Cut

PEER_CHARS = (400, 800, 1600)
HOW_TO_GET = "pip install langchain-text-splitters chonkie"

Chunker = Callable[[str, str], list[Piece]]  # name and text of a corpus


def cut_by_peers(corpora: Mapping[str, str], sizes: tuple[int, ...] = PEER_CHARS) -> Iterator[Cut | str]:
    """What each peer makes of the corpora, or once for each package why it could not be asked."""
    absent: set[str] = set()
    for size in sizes:
        for label, make in _peers(size).items():
            try:
                cut = make()
            except ImportError as error:
                reason = f"{label.split(' ')[0]}: {error.msg} ({HOW_TO_GET})"
                if reason not in absent:
                    absent.add(reason)
                    yield reason
                continue
            started = time.process_time()
            pieces = [piece for name, text in corpora.items() for piece in cut(name, text)]
            yield Cut(label, pieces, time.process_time() - started)


def _peers(size: int) -> dict[str, Callable[[], Chunker]]:
    """The peers at one size in characters; made late, since each may be missing."""
    return {
        f"LangChain recursive {size}": lambda: _langchain("RecursiveCharacterTextSplitter", size),
        f"Chonkie recursive {size}": lambda: _chonkie("RecursiveChunker", chunk_size=size),
        f"Chonkie sentence {size}": lambda: _chonkie("SentenceChunker", chunk_size=size, chunk_overlap=0),
        f"Chonkie token {size}": lambda: _chonkie("TokenChunker", chunk_size=size, chunk_overlap=0),
    }


def _langchain(name: str, size: int) -> Chunker:
    """LangChain's splitter of that name, without overlap."""
    splitter: Any = getattr(importlib.import_module("langchain_text_splitters"), name)(
        chunk_size=size, chunk_overlap=0, add_start_index=True
    )

    def cut(corpus: str, text: str) -> list[Piece]:
        found = [
            (item.metadata["start_index"], item.page_content) for item in splitter.create_documents([text])
        ]
        return [Piece(corpus, start, start + len(content), content) for start, content in found]

    return cut


def _chonkie(name: str, **options: object) -> Chunker:
    """Chonkie's chunker of that name, counting characters as LangChain does."""
    chunker: Any = getattr(importlib.import_module("chonkie"), name)(tokenizer="character", **options)
    return lambda corpus, text: [
        Piece(corpus, item.start_index, item.end_index, item.text) for item in chunker.chunk(text)
    ]
