"""Compares our chunkers with their peers: quality as `kosmos eval chunking` has it, and CPU time.

`python bench/chunking.py DATA [--encoder FOLDER]`: DATA holds `questions.jsonl` and its corpora; the folder
holds `model.onnx` and `tokenizer.json` of a sentence encoder. Peers are measured where they are installed:
`pip install langchain-text-splitters chonkie onnxruntime tokenizers`.
"""

import argparse
from pathlib import Path

from measure import print_table, write_json

from kosmos.cli.output import plain
from kosmos.eval.chunking import Score, read_chunking_set
from kosmos.eval.chunking_answers import read_answers
from kosmos.eval.chunking_cuts import cut_all, routes_with
from kosmos.eval.chunking_encoder import open_encoder
from kosmos.eval.chunking_run import Report, compare


def run(data: Path, encoder: Path | None) -> Report:
    """Everything that can be measured here."""
    found = read_chunking_set(data)
    cuts, missing = cut_all(found.corpora, read_answers())
    return compare(found, cuts, routes_with(open_encoder(encoder) if encoder else None), missing=missing)


def percent(score: Score) -> str:
    """Recall, precision and IoU in percent."""
    return f"{100 * score.recall:.1f} / {100 * score.precision:.1f} / {100 * score.iou:.1f}"


def main() -> None:
    """Measure, print, write `bench/results/chunking.json`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--encoder", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        print("chunking: not measured, no folder with questions.jsonl was named")
        return
    report = run(arguments.data, arguments.encoder)
    routes = list(report.beaten)
    rows = [
        [row.label, str(row.pieces), f"{row.mean_chars:.0f}", f"{1000 * row.seconds:.0f}"]
        + [percent(row.scores[route]) for route in routes]
        for row in report.rows
    ]
    print_table("Recall / precision / IoU at 5", ["chunker", "pieces", "chars", "CPU ms", *routes], rows)
    for route, worse in report.beaten.items():
        print(f"{route}: {'; '.join(worse) or 'no peer has both a higher recall and a higher IoU'}")
    for reason in report.missing:
        print(f"not measured: {reason}")
    print(f"written: bench/results/{write_json('chunking', plain(report)).name}")


if __name__ == "__main__":
    main()
