"""What the indexer sends and gets back, in real tokens: `python bench/indexer_tokens.py FOLDER…`.

Each folder is a row: so many of its Markdown files, chosen at random, laid out and asked about as in a job.
A double gives as many summaries as asked for, as long as the prompt allows. Counted with the o200k
vocabulary of `tiktoken`, which loads its table when it is first used.
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import print_table, write_json

from kosmos.chunking.indexer import can_run_at_once, index_text
from kosmos.chunking.indexer_ladder import Reply
from kosmos.chunking.indexer_prompt import SUMMARY, Question
from kosmos.chunking.indexer_sheet import lay_out
from kosmos.chunking.redaction import find_redactions
from kosmos.domain.tokens import estimate_tokens
from kosmos.doubles.pointing import see
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import canonicalize

FULL_LINES, FULL_TOKENS = 150, 4500
_NUMBER = re.compile(r"^\d+\|", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]


class Scale:
    """Answers questions and weighs them: all of them, and those about full batches."""

    def __init__(self, vocabulary: Any) -> None:
        self._vocabulary = vocabulary
        self.all: Counter[str] = Counter()
        self.full: Counter[str] = Counter()

    def answer(self, question: Question) -> Reply:
        """Units where asked, each with a summary of ordinary length."""
        content = str(question.messages[1]["content"])
        seen = see(content)
        spare = [line for line in seen.lines if line not in seen.wanted]
        more = spare[:: max(1, len(spare) // max(1, seen.count))][: seen.count - len(seen.wanted)]
        lines = sorted([*seen.wanted, *more])
        units = [{"line": line, "summary": _summary(seen.lines[line])} for line in lines]
        self._weigh(question, content, [Told(SUMMARY, {"units": units})])
        return Reply([Told(SUMMARY, {"units": units})])

    def _weigh(self, question: Question, content: str, calls: Sequence[Told]) -> None:
        body = content.split("\n<<<\n", 1)[1].rsplit("\n>>>\n", 1)[0]
        text = _NUMBER.sub("", body)
        sent = [*(str(message["content"]) for message in question.messages), _dump(question.tools)]
        row = {
            "batches": 1,
            "text": self._count(text),
            "numbers": self._count(body) - self._count(text),
            "sent": sum(map(self._count, sent)),
            "given": sum(self._count(f"{call.name} {_dump(call.arguments)}") + 6 for call in calls),
        }
        self.all.update(row)
        if len(_NUMBER.findall(body)) >= FULL_LINES or estimate_tokens(text) >= FULL_TOKENS:
            self.full.update(row)

    def _count(self, text: str) -> int:
        return len(self._vocabulary.encode(text, disallowed_special=()))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _summary(text: str) -> str:
    words = re.sub(r"[\s`*_|#>\[\]()]+", " ", text).split() or ["nothing"]
    said = " ".join(words[:15])
    return said[:25] if re.search("[\u3400-\u9fff]", said) else said


def weigh(folder: Path, most: int, vocabulary: Any) -> Scale:
    """Index so many files of a folder."""
    scale = Scale(vocabulary)
    files = sorted(folder.rglob("*.md"))
    random.Random(1).shuffle(files)
    for file in files[:most]:
        found = canonicalize(file.read_bytes(), file.name)
        if found.text:
            hidden = find_redactions(found.text)
            sheet = lay_out(found.text, parse_blocks(found.text), title=found.title, redactions=hidden)
            index_text(sheet, scale.answer, tails=not can_run_at_once(sheet))
    return scale


def row_of(folder: Path, scale: Scale) -> list[str]:
    """What the report says about a folder."""

    def percent(part: float, whole: float) -> str:
        return f"{100 * part / whole:.1f}%" if whole else "-"

    full, every = scale.full, scale.all
    return [
        folder.name,
        f"{every['batches']} ({full['batches']})",
        percent(full["sent"] - full["text"], full["text"]),
        percent(full["numbers"], full["text"]),
        percent(every["given"], every["sent"]),
        percent(full["given"], full["sent"]),
    ]


def main() -> None:
    """Measure, print, write `bench/results/indexer_tokens.json`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--texts", type=int, default=250)
    options = parser.parse_args()
    if not options.folders:
        print("indexer_tokens: not measured, no folder was named")
        return
    try:
        import tiktoken
    except ImportError:
        print("indexer_tokens: not measured, it needs: pip install tiktoken")
        return
    vocabulary = tiktoken.get_encoding("o200k_base")
    scales = {folder: weigh(folder, options.texts, vocabulary) for folder in options.folders}
    columns = ["texts", "batches (full)", "overhead of full", "numbers", "output, all", "output, full"]
    print_table("Tokens of the indexer", columns, [row_of(folder, scale) for folder, scale in scales.items()])
    plain = {str(folder): {"all": scale.all, "full": scale.full} for folder, scale in scales.items()}
    print(f"written: bench/results/{write_json('indexer_tokens', plain).name}")


if __name__ == "__main__":
    main()
