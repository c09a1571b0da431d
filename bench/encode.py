"""What encoding costs beyond the model itself: our encoder against bare onnxruntime on the same texts.

    python bench/encode.py [--documents FOLDER] [--tokens 20000] [--rounds 3]

The floor runs the same graph on rows of words that lie ready, with as many threads: no tokens to find, no
event loop. All times are CPU time, taken in turns in one process.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import print_table, write_json

from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.blocks import without_comments
from kosmos.encoders.bert_numpy import run_numpy
from kosmos.encoders.local import LocalEncoder
from kosmos.encoders.minilm import SHAPE, WINDOW, MiniLM, load_minilm
from kosmos.encoders.opening import Quarters, open_builtin
from kosmos.encoders.safetensors import Weights
from kosmos.encoders.weights import REMEDY, find_weights
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text
from kosmos.store.rows import Dense

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NUMPY_TEXTS = 8
Timed = Callable[[], Awaitable[object]]


def read_texts(folder: Path, model: MiniLM, tokens: int) -> list[str]:
    """The chunks of the Markdown files of a folder, up to so many tokens."""
    texts: dict[str, int] = {}
    for file in sorted(folder.rglob("*.md")):
        text = clean_text(file.read_text(encoding="utf-8"))
        for draft in chunk_by_structure(text, parse_blocks(text)):
            body = without_comments(draft.raw_content).strip()
            if body and body not in texts:
                texts[body] = len(model.tokens(body))
            if sum(texts.values()) >= tokens:
                return list(texts)
    return list(texts)


def windows(model: MiniLM, text: str) -> list[Dense]:
    """The rows of words that the encoder hands to the model, window by window."""
    tokens = model.tokens(text)
    step = -(-len(tokens) // max(1, -(-len(tokens) // WINDOW))) or 1
    parts = [tokens[start : start + step] for start in range(0, len(tokens), step)] or [[]]
    pieces = model._pieces
    return [model._look_up([pieces.start, *part, pieces.end]) for part in parts]


async def cpu_seconds(work: Timed) -> float:
    """CPU time of all threads of this process while the work is done."""
    started = time.process_time()
    await work()
    return time.process_time() - started


async def measure_in_turns(works: dict[str, Timed], rounds: int) -> dict[str, float]:
    """The median of several rounds; the works take turns, so that a busy machine is busy for all."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            seconds = await cpu_seconds(work)
            if number:  # the first round warms up
                times[name].append(seconds)
    return {name: statistics.median(found) for name, found in times.items()}


def bare(model: MiniLM, rows: Sequence[Dense], threads: int = 1) -> Timed:
    """The model alone."""

    async def run() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(model._run, rows))

    return run


def whole(encoder: LocalEncoder, texts: Sequence[str]) -> Timed:
    """The encoder as it is used."""

    async def run() -> None:
        await encoder.encode_passages(texts)

    return run


def tokens_only(model: MiniLM, texts: Sequence[str]) -> Timed:
    """Finding the tokens, nothing else."""

    async def run() -> None:
        for text in texts:
            model.tokens(text)

    return run


def floor_of(name: str, times: Mapping[str, float]) -> float:
    """What the bare model took with as many threads; the first of them where that means nothing."""
    return times.get(f"bare onnxruntime, {name.partition(', ')[2]}", next(iter(times.values())))


async def run_bench(folder: Path, tokens: int, rounds: int) -> dict[str, object]:
    """Measure and print; the values go to the JSON file."""
    weights = find_weights()
    if weights is None:
        raise SystemExit(f"no weights. {REMEDY}")
    with tempfile.TemporaryDirectory() as home:
        cache = Path(home) / "cache"
        model = load_minilm(weights, cache=cache)
        texts = read_texts(folder, model, tokens)
        rows = [item for text in texts for item in windows(model, text)]
        count = sum(map(len, rows))
        encoders = {threads: open_builtin(Quarters(Path(home), cache, threads=threads)) for threads in (1, 2)}
        works: dict[str, Timed] = {}
        for threads, item in encoders.items():
            works[f"bare onnxruntime, threads: {threads}"] = bare(model, rows, threads)
            works[f"kosmos, threads: {threads}"] = whole(item, texts)
        works["finding the tokens alone"] = tokens_only(model, texts)
        times = await measure_in_turns(works, rounds)
        for item in encoders.values():
            await item.close()
    slow = run_numpy(Weights(weights / "model.safetensors"), SHAPE)
    few = rows[:NUMPY_TEXTS]
    plain = await cpu_seconds(bare(MiniLM(model._pieces, model._rows, slow), few))
    shown = [
        [name, f"{seconds:.2f}", f"{count / seconds:,.0f}", f"{seconds / floor_of(name, times):.2f}"]
        for name, seconds in times.items()
    ]
    floor = next(iter(times.values()))
    share = sum(map(len, few)) / count
    shown.append(
        [
            "numpy alone, a few",
            f"{plain:.2f}",
            f"{count * share / plain:,.0f}",
            f"{plain / share / floor:.2f}",
        ]
    )
    title = f"Encoding {len(texts)} chunks, {count:,} tokens in {len(rows)} windows"
    print_table(title, ["", "CPU s", "tokens/CPU s", "x bare"], shown)
    return {"texts": len(texts), "tokens": count, "cpu_seconds": times, "numpy_cpu_seconds": plain / share}


def main() -> None:
    """Measure, print, write `bench/results/encode.json`."""
    parser = argparse.ArgumentParser(description="The encoder against bare onnxruntime.")
    parser.add_argument("--documents", type=Path, default=EXAMPLES, help="folder of Markdown files")
    parser.add_argument("--tokens", type=int, default=20_000, help="how much of it is encoded")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    options = parser.parse_args()
    results = asyncio.run(run_bench(options.documents, options.tokens, options.rounds))
    print(f"written: bench/results/{write_json('encode', results).name}")


if __name__ == "__main__":
    main()
