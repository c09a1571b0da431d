"""Questions with the documents that answer them: BEIR folders and simple JSONL files."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kosmos.errors import InvalidInput
from kosmos.retrieval.languages import language_of

MAX_LINE = 10_000_000
_FORM = 'Each line is an object as {"question": "…", "relevant": ["docs/guide.md"]}.'


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and how relevant each document is that counts as an answer."""

    id: str
    text: str
    relevant: Mapping[str, float]
    language: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a set that brings its own."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Questions; `corpus` is None when they are about documents of a space."""

    name: str
    questions: tuple[Asked, ...]
    corpus: tuple[Entry, ...] | None = None


def read_set(path: Path, *, fields: Sequence[str] = (), split: str = "test") -> RetrievalSet:
    """The set in a folder of the BEIR layout or in a JSONL file, whose questions stand in these fields."""
    try:
        found = _read_folder(path, split) if path.is_dir() else _read_file(path, fields)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", remedy=_FORM) from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.", remedy=_FORM) from None
    if not found.questions:
        raise InvalidInput(f"{path} holds no question with a relevant document.", remedy=_FORM)
    return found


def _read_file(path: Path, fields: Sequence[str]) -> RetrievalSet:
    asked: list[Asked] = []
    for number, item in _lines(path):
        relevant = _relevant(item.get("relevant", item.get("gold")), path, number)
        named = fields or [name for name in ("question", "query", "text") if name in item][:1]
        for field in named:
            text = item.get(field)
            if not isinstance(text, str) or not text.strip():
                raise _bad(path, number, f"has no text in {field!r}")
            own = str(item.get("_id", item.get("id", number)))
            identity = own if len(named) == 1 else f"{own}/{field}"
            language = item.get("language")
            asked.append(
                Asked(identity, text, relevant, language if language in ("zh", "en") else language_of(text))
            )
        if not named:
            raise _bad(path, number, "has no question")
    return RetrievalSet(path.stem, tuple(asked))


def _read_folder(folder: Path, split: str) -> RetrievalSet:
    relevant: dict[str, dict[str, float]] = {}
    with (folder / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), start=1):
            if number == 1 and row[-1:] == ["score"]:
                continue
            if len(row) != 3 or not _is_number(row[2]):
                raise _bad(folder / "qrels", number, "is not query, document and score")
            if float(row[2]) > 0:
                relevant.setdefault(row[0], {})[row[1]] = float(row[2])
    queries = {
        str(item.get("_id")): str(item.get("text", "")) for _, item in _lines(folder / "queries.jsonl")
    }
    asked = [
        Asked(key, queries[key], answers, language_of(queries[key]))
        for key, answers in relevant.items()
        if queries.get(key, "").strip()
    ]
    corpus = [
        Entry(str(item.get("_id")), str(item.get("title") or ""), str(item.get("text") or ""))
        for _, item in _lines(folder / "corpus.jsonl")
    ]
    return RetrievalSet(folder.name, tuple(asked), tuple(corpus))


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                item = json.loads(line) if len(line) <= MAX_LINE else None
            except (ValueError, RecursionError):
                item = None
            if not isinstance(item, dict):
                raise _bad(path, number, "is no JSON object")
            yield number, item


def _relevant(given: object, path: Path, number: int) -> dict[str, float]:
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        given = dict.fromkeys(given, 1.0)
    if not isinstance(given, dict) or not given or not all(_is_number(str(g)) for g in given.values()):
        raise _bad(path, number, "does not say which documents are relevant")
    return {str(name): float(grade) for name, grade in given.items()}


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < 1e9
    except ValueError:
        return False


def _bad(path: Path, number: int, what: str) -> InvalidInput:
    return InvalidInput(f"Line {number} of {path} {what}.", remedy=_FORM)
