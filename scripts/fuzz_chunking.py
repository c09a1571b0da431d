"""Proves both producers of chunks on generated Markdown: `fuzz_chunking.py [--texts 20000] [--first SEED]`.

With `--folder` the texts are the Markdown files below a folder instead.

Every text is chunked by structure and by the indexer, whose model answers well, badly, partly, out of order,
with overlaps, with lies about lines, or with nothing. Each time the chunks joined must be the text, to the
byte, in a tree that obeys the rules. Exit 1 and the seeds of the texts for which they are not.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fuzz_texts import make_text

from kosmos.chunking.indexer import index_text
from kosmos.chunking.indexer_batches import Limits
from kosmos.chunking.indexer_ladder import Fallback, Policy, Reply
from kosmos.chunking.indexer_prompt import Question
from kosmos.chunking.indexer_sheet import lay_out
from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.redaction import find_redactions
from kosmos.chunking.rules import check_chunks
from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import ChunkDraft
from kosmos.doubles.pointing import MANNERS, Manner, point_somehow, see
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text

SIZES = (ChunkSizes(), ChunkSizes(64, 128, 512), ChunkSizes(10, 20, 40), ChunkSizes(1, 1, 1))
LIMITS = (Limits(), Limits(8, 150, 1), Limits(30, 600, 1))
SOMEHOW = "somehow"  # another manner for each question


@dataclass(frozen=True, slots=True)
class Told:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any] | None


class Model:
    """Answers in one manner, and counts."""

    def __init__(self, manner: Manner, seed: int) -> None:
        self._manner = manner
        self._rng = random.Random(seed)  # noqa: S311  (repeatable on purpose)
        self.asked = 0

    def answer(self, question: Question) -> Reply:
        """What a provider would send, through JSON."""
        self.asked += 1
        calls = self._manner(see(str(question.messages[1]["content"])), self._rng)
        told = [Told(name, None if said is None else json.loads(json.dumps(said))) for name, said in calls]
        return Reply(told, self._rng.choice(["tool_calls", "tool_calls", "length", ""]))


def main() -> None:
    """Run, report, and exit with 1 where anything is wrong."""
    options = _options()
    counts: Counter[str] = Counter()
    failed: list[str] = []
    started = time.process_time()
    for seed, text in _texts(options):
        counts["texts"] += 1
        failed += _check(seed, clean_text(text), counts)
    seconds = time.process_time() - started
    texts = counts.pop("texts", 0)
    print(" ".join(f"{name}={count}" for name, count in sorted(counts.items())))
    print(f"texts={texts} broken={len(failed)} cpu_seconds={seconds:.0f}")
    for line in failed[:20]:
        print(f"BROKEN {line}")
    sys.exit(bool(failed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="Seed of the first text.")
    parser.add_argument("--folder", type=Path, help="Take the Markdown files below it.")
    return parser.parse_args()


def _texts(options: argparse.Namespace) -> Iterator[tuple[int, str]]:
    if options.folder is None:
        seeds = range(options.first, options.first + options.texts)
        yield from ((seed, make_text(seed)) for seed in seeds)
    else:
        files = sorted(options.folder.rglob("*.md"))
        yield from ((at, file.read_bytes().decode(errors="replace")) for at, file in enumerate(files))


def _check(seed: int, text: str, counts: Counter[str]) -> list[str]:
    chance = random.Random(f"{seed} choices")  # noqa: S311  (repeatable on purpose)
    blocks = parse_blocks(text)
    drafts = chunk_by_structure(text, blocks, sizes=chance.choice(SIZES))
    counts["structure_chunks"] += len(drafts)
    wrong = _violations(f"structure seed={seed}", text, drafts)
    if text:
        name = chance.choice([*MANNERS, *[SOMEHOW] * 4])
        model = Model(MANNERS.get(name, point_somehow), seed)
        index = index_text(
            lay_out(text, blocks, title="T", redactions=find_redactions(text)),
            model.answer,
            policy=Policy(chance.choice(list(Fallback)), chance.choice(LIMITS)),
            tails=chance.random() < 0.5,
        )
        counts[f"model_{name}"] += 1
        counts["questions"] += model.asked
        counts["indexer_chunks"] += len(index.drafts)
        counts.update(asdict(index.tally))
        wrong += _violations(f"indexer model={name} seed={seed}", text, index.drafts)
    return wrong


def _violations(where: str, text: str, drafts: Sequence[ChunkDraft]) -> list[str]:
    return [f"{where}: {item.rule} {item.message}" for item in check_chunks(text, drafts)]


if __name__ == "__main__":
    main()
