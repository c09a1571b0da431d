"""Readers of Markdown, ours and others', one in each process, for `bench/ingest.py`.

Each has two steps: from files to text, and from text to pieces of about 512 tokens. Imports and the first
file, which fills caches, are not counted. Does nothing when run without arguments.
"""

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKENS = 512
WORDS = 300  # Haystack counts words


@dataclass(frozen=True)
class Reader:
    """The two steps; what lies between them is the reader's own."""

    convert: Callable[[Sequence[Path]], list[Any]]
    split: Callable[[list[Any]], int]  # how many pieces


def floor() -> Reader:
    """What nobody can do without: open, decode, look for blank lines."""
    return Reader(
        convert=lambda paths: [path.read_bytes().decode(errors="replace") for path in paths],
        split=lambda texts: sum(len(text.split("\n\n")) for text in texts),
    )


def kosmos() -> Reader:
    """Canonical text with metadata, then blocks, then chunks of exact lines with summaries."""
    from kosmos.chunking.structure import chunk_by_structure
    from kosmos.ingest.blocks import parse_blocks
    from kosmos.ingest.conversion import ConversionHost

    async def convert(paths: Sequence[Path]) -> list[str]:
        async with ConversionHost() as host:
            return [(await host.convert(path, path.name)).canonical.text for path in paths]

    return Reader(
        convert=lambda paths: asyncio.run(convert(paths)),
        split=lambda texts: sum(len(chunk_by_structure(text, parse_blocks(text))) for text in texts),
    )


def llamaindex_markdown() -> Reader:
    """Their Markdown reader, which cuts at headings, and their sentence splitter."""
    return _llamaindex("MarkdownReader", ())


def llamaindex_nodes() -> Reader:
    """Their flat reader, their Markdown node parser, and their sentence splitter."""
    parsers = importlib.import_module("llama_index.core.node_parser")
    return _llamaindex("FlatReader", (parsers.MarkdownNodeParser(),))


def _llamaindex(name: str, parsers: Sequence[Any]) -> Reader:
    reader = getattr(importlib.import_module("llama_index.readers.file"), name)()
    sentences = importlib.import_module("llama_index.core.node_parser").SentenceSplitter(
        chunk_size=TOKENS, chunk_overlap=0
    )

    def split(nodes: list[Any]) -> int:
        for parser in (*parsers, sentences):
            nodes = parser.get_nodes_from_documents(nodes)
        return len(nodes)

    return Reader(lambda paths: [node for path in paths for node in reader.load_data(path)], split)


def haystack() -> Reader:
    """Their Markdown converter, which drops the marks, and their document splitter."""
    converter = importlib.import_module("haystack.components.converters").MarkdownToDocument(
        progress_bar=False
    )
    splitter = importlib.import_module("haystack.components.preprocessors").DocumentSplitter(
        split_by="word", split_length=WORDS
    )
    return Reader(
        convert=lambda paths: list(converter.run(sources=list(paths))["documents"]),
        split=lambda found: len(
            splitter.run(documents=[item for item in found if item.content])["documents"]
        ),
    )


READERS: dict[str, Callable[[], Reader]] = {
    "floor": floor,
    "Kosmos": kosmos,
    "LlamaIndex reader": llamaindex_markdown,
    "LlamaIndex nodes": llamaindex_nodes,
    "Haystack": haystack,
}


def measure(name: str, paths: Sequence[Path]) -> dict[str, float]:
    """CPU seconds of both steps over all files."""
    reader = READERS[name]()
    reader.split(reader.convert(paths[:1]))
    marks = [time.process_time()]
    made = reader.convert(paths)
    marks.append(time.process_time())
    pieces = reader.split(made)
    marks.append(time.process_time())
    return {"convert": marks[1] - marks[0], "split": marks[2] - marks[1], "pieces": pieces}


def markdown_files(folder: Path) -> list[Path]:
    """What all readers read."""
    return sorted(path for path in folder.rglob("*.md") if path.is_file())


if __name__ == "__main__" and len(sys.argv) == 3:
    print(json.dumps(measure(sys.argv[1], markdown_files(Path(sys.argv[2])))))
