"""Compares the structure chunker with its peers: recall, precision and IoU of the five best pieces.

`python bench/chunking.py DATA [--encoder FOLDER]`: DATA holds `questions.jsonl` and its corpora; the folder
holds `model.onnx` and `tokenizer.json` of a sentence encoder. Peers are measured where they are installed:
`pip install langchain-text-splitters chonkie onnxruntime tokenizers`.
"""

import argparse
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import print_table, write_json

from kosmos.chunking.packing import ChunkSizes
from kosmos.eval.chunking import ChunkingSet, Matrix, Piece, Score, Scorer, evaluate_pieces, read_chunking_set
from kosmos.eval.chunking_pieces import cut_by_structure
from kosmos.eval.chunking_routes import Encoder, by_both, by_vectors, by_words

CORE_TOKENS = (64, 128, 256)
PEER_CHARS = (400, 800, 1600)
ENCODED_TOKENS = 256
BATCH = 16

Chunker = Callable[[str, str], list[Piece]]  # name and text of a corpus


def langchain(name: str, size: int) -> Chunker:
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


def chonkie(name: str, **options: object) -> Chunker:
    """Chonkie's chunker of that name, counting characters as LangChain does."""
    chunker: Any = getattr(importlib.import_module("chonkie"), name)(tokenizer="character", **options)
    return lambda corpus, text: [
        Piece(corpus, item.start_index, item.end_index, item.text) for item in chunker.chunk(text)
    ]


def peers(size: int) -> dict[str, Callable[[], Chunker]]:
    """The peers at one size in characters; made late, since each may be missing."""
    return {
        f"LangChain recursive {size}": lambda: langchain("RecursiveCharacterTextSplitter", size),
        f"Chonkie recursive {size}": lambda: chonkie("RecursiveChunker", chunk_size=size),
        f"Chonkie sentence {size}": lambda: chonkie("SentenceChunker", chunk_size=size, chunk_overlap=0),
        f"Chonkie token {size}": lambda: chonkie("TokenChunker", chunk_size=size, chunk_overlap=0),
    }


def cut_all(data: ChunkingSet) -> tuple[dict[str, list[Piece]], dict[str, float], list[str]]:
    """The pieces of every chunker, CPU seconds, and what could not be measured."""
    pieces: dict[str, list[Piece]] = {}
    seconds: dict[str, float] = {}
    missing: list[str] = []
    sizes = [ChunkSizes(core // 2, core, core * 4) for core in CORE_TOKENS] + [ChunkSizes()]
    for size in sizes:
        label = f"structure {size.min_tokens}/{size.core_tokens}/{size.max_tokens}"
        started = time.process_time()
        pieces[label] = cut_by_structure(data.corpora, size)
        seconds[label] = time.process_time() - started
    for chars in PEER_CHARS:
        for label, make in peers(chars).items():
            try:
                cut = make()
            except ImportError as error:
                missing.append(f"{label}: {error}")
                continue
            started = time.process_time()
            pieces[label] = [piece for corpus, text in data.corpora.items() for piece in cut(corpus, text)]
            seconds[label] = time.process_time() - started
    return pieces, seconds, missing


def open_encoder(folder: Path) -> Encoder:
    """An ONNX sentence encoder that pools and normalises by itself; each text is encoded once."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 2
    session = runtime.InferenceSession(str(folder / "model.onnx"), options)
    tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(ENCODED_TOKENS)
    known: dict[str, Matrix] = {}

    def encode(texts: Sequence[str]) -> Matrix:
        fresh = sorted(set(texts) - known.keys(), key=len)
        for batch in (fresh[at : at + BATCH] for at in range(0, len(fresh), BATCH)):
            encoded = tokenizer.encode_batch(batch)
            ids = np.array([item.ids for item in encoded], dtype=np.int64)
            mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
            rows = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            known.update(zip(batch, rows, strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32)

    return encode


def beaten(scores: Mapping[str, Score]) -> list[str]:
    """Each pair in which a peer has both a higher recall and a higher IoU than a size of ours."""
    ours = {label: score for label, score in scores.items() if label.startswith("structure")}
    others = {label: score for label, score in scores.items() if label not in ours}
    return [
        f"{other} beats {label}"
        for label, mine in ours.items()
        for other, score in others.items()
        if score.recall > mine.recall and score.iou > mine.iou
    ]


def percent(score: Score) -> str:
    """Recall, precision and IoU in percent."""
    return f"{100 * score.recall:.1f} / {100 * score.precision:.1f} / {100 * score.iou:.1f}"


def main() -> None:
    """Measure, print, write `bench/results/chunking.json`."""
    parser = argparse.ArgumentParser(description="Compare the structure chunker with its peers.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", type=Path)
    arguments = parser.parse_args()
    data = read_chunking_set(arguments.data)
    routes: dict[str, Scorer] = {"words": by_words}
    if arguments.encoder:
        encode = open_encoder(arguments.encoder)
        routes = {"vectors": by_vectors(encode), **routes, "both": by_both(encode)}
    pieces, seconds, missing = cut_all(data)
    results = {
        route: {label: evaluate_pieces(data, found, scorer) for label, found in pieces.items()}
        for route, scorer in routes.items()
    }
    rows = []
    for label, found in pieces.items():
        mean = sum(piece.end - piece.start for piece in found) / max(1, len(found))
        cells = [percent(results[route][label][0]) for route in routes]
        rows.append([label, str(len(found)), f"{mean:.0f}", f"{1000 * seconds[label]:.0f}", *cells])
    print_table("Recall / precision / IoU at 5", ["chunker", "pieces", "chars", "CPU ms", *routes], rows)
    verdicts = {
        route: beaten({label: both[0] for label, both in found.items()}) for route, found in results.items()
    }
    for route, worse in verdicts.items():
        print(f"{route}: {'; '.join(worse) or 'no peer has both a higher recall and a higher IoU'}")
    for reason in missing:
        print(f"not measured: {reason}")
    file = write_json("chunking", {"results": to_plain(results), "beaten": verdicts, "missing": missing})
    print(f"written: bench/results/{file.name}")


def to_plain(results: Mapping[str, Mapping[str, tuple[Score, Mapping[str, Score]]]]) -> dict[str, Any]:
    """The scores as JSON knows them: over all questions, and by corpus."""

    def plain(score: Score) -> dict[str, float]:
        return {"recall": score.recall, "precision": score.precision, "iou": score.iou}

    return {
        route: {
            label: {"all": plain(score), **{corpus: plain(part) for corpus, part in parts.items()}}
            for label, (score, parts) in found.items()
        }
        for route, found in results.items()
    }


if __name__ == "__main__":
    main()
