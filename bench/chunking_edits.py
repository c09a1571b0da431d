"""How many chunks are made again when a text changes: `python bench/chunking_edits.py FILE… [--lines N]`.

The files are put together up to N lines (5,000), once as they are and once with every heading made plain
text. A hundredth of the lines is then edited, put in or taken out: in one place, in five, and all over.
"""

import argparse
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import print_table, write_json

from kosmos.chunking.coverage import reuse_chunks
from kosmos.chunking.packing import ChunkSizes
from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import Chunk, ChunkDraft
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import clean_text

RUNS = 3
SHARE = 100
PLACES = (1, 5, None)  # None: every line by itself
SIZES = (ChunkSizes(), ChunkSizes(64, 128, 512), ChunkSizes(32, 64, 256))


@dataclass(frozen=True)
class Row:
    """Shares of the new chunks in percent, medians: those made again, those with a changed line."""

    text: str
    sizes: str
    edit: str
    places: str
    chunks: int
    remade: float
    floor: float


def store(drafts: Sequence[ChunkDraft]) -> list[Chunk]:
    """Chunks as they would be stored."""
    return [
        Chunk(
            id=str(position),
            space_id="",
            document_id="",
            generation=1,
            parent_id=None if draft.parent is None else str(draft.parent),
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


def lines_of(chunk: Chunk) -> range:
    """The numbers of the lines of a chunk."""
    return range(chunk.start_line, chunk.end_line + 1)


def choose(lines: Sequence[str], places: int | None, chance: random.Random) -> list[int]:
    """The lines to change: a hundredth, in runs of equal length; blank lines and marks are left alone."""
    count = max(1, len(lines) // SHARE)
    plain = [at for at, line in enumerate(lines) if len(line.split()) > 3 and line[0].isalnum()]
    if places is None:
        return sorted(chance.sample(plain, count))
    length = count // places
    starts = [chance.randrange(len(plain) - length) for _ in range(places)]
    return sorted({plain[start + step] for start in starts for step in range(length)})


def edit(lines: Sequence[str], chosen: Sequence[int]) -> list[str]:
    """A word changed in each chosen line."""
    changed = list(lines)
    for at in chosen:
        words = changed[at].split(" ")
        words[len(words) // 2] = "somethingelse"
        changed[at] = " ".join(words)
    return changed


def insert(lines: Sequence[str], chosen: Sequence[int]) -> list[str]:
    """A new line before each chosen one."""
    picked = set(chosen)
    return [
        part
        for at, line in enumerate(lines)
        for part in ([f"A new line with the number {at} stands here now.", line] if at in picked else [line])
    ]


def delete(lines: Sequence[str], chosen: Sequence[int]) -> list[str]:
    """The chosen lines taken out."""
    picked = set(chosen)
    return [line for at, line in enumerate(lines) if at not in picked]


EDITS: dict[str, Callable[[Sequence[str], Sequence[int]], list[str]]] = {
    "edited": edit,
    "inserted": insert,
    "deleted": delete,
}


def measure_edits(name: str, text: str, sizes: ChunkSizes) -> Iterator[Row]:
    """One row for each way of changing the text."""
    lines = text.split("\n")
    old = store(chunk_by_structure(text, parse_blocks(text), sizes=sizes))
    for kind, change in EDITS.items():
        for places in PLACES:
            shares, floors = [], []
            for seed in range(RUNS):
                chosen = choose(lines, places, random.Random(seed))
                changed = clean_text("\n".join(change(lines, chosen)))
                drafts = chunk_by_structure(changed, parse_blocks(changed), sizes=sizes)
                shares.append(100 * (1 - len(reuse_chunks(old, drafts)) / len(drafts)))
                touched = sum(any(at + 1 in lines_of(chunk) for at in chosen) for chunk in old)
                floors.append(100 * touched / len(drafts))
            yield Row(
                name,
                f"{sizes.min_tokens}/{sizes.core_tokens}/{sizes.max_tokens}",
                kind,
                "all over" if places is None else str(places),
                len(old),
                statistics.median(shares),
                statistics.median(floors),
            )


def main() -> None:
    """Measure, print, write `bench/results/chunking_edits.json`."""
    parser = argparse.ArgumentParser(description="How many chunks are made again when a text changes.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--lines", type=int, default=5000)
    arguments = parser.parse_args()
    joined = clean_text("\n\n".join(file.read_text("utf-8") for file in arguments.files)).split("\n")
    lines = joined[: arguments.lines]
    texts = {
        "with headings": clean_text("\n".join(lines)),
        "without": clean_text(
            "\n".join(line.lstrip("# ") if line.startswith("#") else line for line in lines)
        ),
    }
    rows = [
        row for name, text in texts.items() for sizes in SIZES for row in measure_edits(name, text, sizes)
    ]
    cells = [
        [row.text, row.sizes, row.edit, row.places, str(row.chunks), f"{row.remade:.1f}", f"{row.floor:.1f}"]
        for row in rows
    ]
    title = f"Chunks made again when {len(lines) // SHARE} of {len(lines)} lines change"
    print_table(title, ["text", "sizes", "lines", "places", "chunks", "remade %", "touched %"], cells)
    file = write_json("chunking_edits", {"rows": [asdict(row) for row in rows]})
    print(f"written: bench/results/{file.name}")


if __name__ == "__main__":
    main()
