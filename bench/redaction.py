"""What the identifier detector finds and what it takes for one by mistake, and how fast it reads.

    python bench/redaction.py --documents FOLDER [--judged FILE]

Recall is measured on generated lines, false alarms on generated look-alikes and on the Markdown files of a
folder. Whether a hit in a real document is an alarm only a reader can tell: every hit is written to
`bench/results/redaction_hits.tsv`; the values that a reader judged to be false alarms stand, one a line, in
the judged file.
"""

import argparse
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import RESULTS, print_table, write_json
from samples import Sample, make_decoys, make_samples

from kosmos.chunking.detectors.identifiers import find_identifiers
from kosmos.chunking.redaction import apply_redactions
from kosmos.domain.redactions import Redaction
from kosmos.ingest.canonical import clean_text

SEED = 20260
EACH = 60


@dataclass(frozen=True)
class Hit:
    """A redaction in a document, with the hidden text."""

    file: str
    redaction: Redaction
    value: str


def is_exact(sample: Sample) -> bool:
    """Whether the identifier is found with its kind, from first to last character, and nothing else."""
    found = [(item.start_column, item.end_column, str(item.kind)) for item in find_identifiers(sample.text)]
    return found == [(sample.start, sample.end, sample.kind)]


def is_hidden(sample: Sample) -> bool:
    """Whether the identifier can no longer be read, however exact the span."""
    shown = apply_redactions(sample.text, find_identifiers(sample.text))
    return sample.text[sample.start : sample.end] not in shown


def report_recall() -> dict[str, object]:
    """Generated identifiers found exactly, by kind."""
    samples = make_samples(SEED, EACH)
    exact = [is_exact(sample) for sample in samples]
    total, good = (
        Counter(s.kind for s in samples),
        Counter(s.kind for s, ok in zip(samples, exact, strict=True) if ok),
    )
    missed = Counter(s.form for s, ok in zip(samples, exact, strict=True) if not ok)
    zh = [ok for s, ok in zip(samples, exact, strict=True) if not s.text.isascii()]
    en = [ok for s, ok in zip(samples, exact, strict=True) if s.text.isascii()]
    hidden = sum(is_hidden(sample) for sample in samples)
    rows = [[kind, str(total[kind]), f"{good[kind] / total[kind]:.2%}"] for kind in sorted(total)]
    rows += [["all", str(len(exact)), f"{sum(exact) / len(exact):.2%}"]]
    rows += [["lines with Chinese", str(len(zh)), f"{sum(zh) / len(zh):.2%}"]]
    rows += [["ASCII lines", str(len(en)), f"{sum(en) / len(en):.2%}"]]
    rows += [["all, hidden at least", str(len(exact)), f"{hidden / len(samples):.2%}"]]
    print_table("Generated identifiers found with kind and exact span", ["kind", "lines", "found"], rows)
    print("missed forms:", dict(missed) or "none")
    return {"lines": len(exact), "exact": sum(exact), "hidden": hidden, "missed": dict(missed)}


def report_decoys() -> dict[str, object]:
    """Generated look-alikes that raise an alarm."""
    decoys = make_decoys(SEED, EACH)
    alarms = Counter(form for text, form in decoys if find_identifiers(text))
    print(f"look-alikes: {len(decoys)} lines, {alarms.total()} alarms", dict(alarms) or "")
    return {"lines": len(decoys), "alarms": dict(alarms)}


def report_documents(folder: Path, judged: frozenset[str]) -> dict[str, object]:
    """Hits in real documents, the false alarms among them, and the CPU time to find them."""
    texts = {
        str(file.relative_to(folder)): clean_text(file.read_text("utf-8"))
        for file in sorted(folder.rglob("*.md"))
    }
    started = time.process_time()
    found = {file: find_identifiers(text) for file, text in texts.items()}
    seconds = time.process_time() - started
    started = time.process_time()
    lines = sum(text.count("\n") + 1 for text in texts.values())
    floor = time.process_time() - started
    hits = [Hit(file, item, read_value(texts[file], item)) for file, items in found.items() for item in items]
    write_hits(hits)
    false = [hit for hit in hits if hit.value in judged]
    megabytes = sum(len(text.encode()) for text in texts.values()) / 1e6
    false_lines = {(hit.file, hit.redaction.start_line) for hit in false}
    false_files = {hit.file for hit in false}
    rows = [
        ["documents", str(len(texts))],
        ["lines", str(lines)],
        ["hits", str(len(hits))],
        ["documents with a hit", share({hit.file for hit in hits}, len(texts))],
        [
            "documents with a hit but e-mail",
            share({hit.file for hit in hits if hit.redaction.kind != "email"}, len(texts)),
        ],
        ["lines with a hit", share({(hit.file, hit.redaction.start_line) for hit in hits}, lines)],
        ["lines with a false alarm", share(false_lines, lines)],
        ["documents with a false alarm", share(false_files, len(texts))],
        ["MB of text for each CPU second", f"{megabytes / seconds:.1f}"],
        ["x floor: counting the lines", f"{seconds / max(floor, 1e-6):.0f}"],
    ]
    print_table(f"Hits in {folder.name}", ["", "value"], rows)
    kinds = Counter(str(hit.redaction.kind) for hit in hits)
    print("hits by kind:", dict(kinds))
    return {
        "documents": len(texts),
        "lines": lines,
        "hits": dict(kinds),
        "false_lines": len(false_lines),
        "false_documents": len(false_files),
        "megabytes": megabytes,
        "cpu_seconds": seconds,
    }


def share(some: Collection[object], total: int) -> str:
    """A count and its part of the whole."""
    return f"{len(some)} = {len(some) / total:.4%}"


def read_value(text: str, item: Redaction) -> str:
    """The hidden text of a redaction, its lines joined by spaces."""
    lines = text.split("\n")[item.start_line - 1 : item.end_line]
    lines[-1] = lines[-1][: item.end_column]
    lines[0] = lines[0][item.start_column :]
    return " ".join(lines)


def write_hits(hits: Sequence[Hit]) -> None:
    """All hits for the reader who judges them."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = [
        f"{h.redaction.kind}\t{h.redaction.reason}\t{h.file}\t{h.redaction.start_line}\t{h.value}\n"
        for h in hits
    ]
    (RESULTS / "redaction_hits.tsv").write_text("".join(rows), encoding="utf-8")


def main() -> None:
    """Measure, print, write `bench/results/redaction.json`."""
    parser = argparse.ArgumentParser(description="Recall, false alarms and speed of the identifier detector.")
    parser.add_argument("--documents", type=Path, help="folder of Markdown files")
    parser.add_argument(
        "--judged", type=Path, help="values that a reader judged to be false alarms, one a line"
    )
    options = parser.parse_args()
    judged = frozenset(options.judged.read_text("utf-8").split("\n")) if options.judged else frozenset()
    results: dict[str, object] = {"recall": report_recall(), "decoys": report_decoys()}
    if options.documents:
        results["documents"] = report_documents(options.documents, judged)
    print(f"written: bench/results/{write_json('redaction', results).name}")


if __name__ == "__main__":
    main()
