"""Pages, questions and scores for `bench/peers.py`. Does nothing when run."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote


@dataclass(frozen=True)
class Question:
    """A question, the way it is put, and the pages that answer it."""

    way: str
    text: str
    relevant: tuple[str, ...]


def read_questions(file: Path, fields: Sequence[str]) -> list[Question]:
    """One question for each of the fields of each line, where it has them."""
    found = []
    for line in file.read_text(encoding="utf-8").split("\n"):
        if not line.strip():
            continue
        item = json.loads(line)
        relevant = tuple(item["relevant"])
        found += [Question(field, item[field], relevant) for field in fields if field in item]
    return found


def choose_pages(folder: Path, questions: Iterable[Question], every: int) -> list[str]:
    """Every so-manieth page, and all that answer a question, by their names below the folder."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.md"))]
    answers = {name for question in questions for name in question.relevant}
    return sorted({*names[::every], *answers.intersection(names)})


def answerable(questions: Iterable[Question], pages: Iterable[str]) -> list[Question]:
    """Questions with at least one of their pages among those that are there."""
    there = set(pages)
    return [question for question in questions if there.intersection(question.relevant)]


def copy_pages(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy pages, each under its own name."""
    for name in names:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, place)


def page_name(found: str, folder: Path) -> str:
    """The name of a page as questions have it: systems call it by path, by address, or as it was added."""
    path = unquote(found.removeprefix("file://")) if found.startswith("file://") else found
    return path.removeprefix(f"{folder.as_posix()}/").removeprefix(f"{folder.name}/")


def first_pages(found: Sequence[str], count: int) -> list[str]:
    """The first pages of a list of pieces, each page at the place of its best piece."""
    return list(dict.fromkeys(found))[:count]


def score(asked: Sequence[Question], found: Sequence[Sequence[str]], count: int = 5) -> dict[str, float]:
    """The share of questions with an answering page among the first pages, by way and of all (`all`)."""
    hits: dict[str, list[bool]] = {"all": []}
    for question, names in zip(asked, found, strict=True):
        hit = bool(set(first_pages(names, count)) & set(question.relevant))
        hits["all"].append(hit)
        hits.setdefault(question.way, []).append(hit)
    return {way: sum(each) / len(each) for way, each in hits.items() if each}


def ratio(value: float, floor: float) -> str:
    """How many times the floor, in two digits that count."""
    return f"{value / floor:.2g}" if floor > 0 else "-"


def leanest(values: Mapping[str, float], *, without: Iterable[str] = ()) -> float:
    """The least of the values, some names left out; 0 when none is left."""
    left = [value for name, value in values.items() if name not in set(without)]
    return min(left, default=0.0)
