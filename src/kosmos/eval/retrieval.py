"""How well a collection answers questions. Routes are asked once; each way of ranking is measured on that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.eval.retrieval_metrics import METRICS, Difference, Mean, compare, mean_of, measure
from kosmos.eval.retrieval_sets import Asked
from kosmos.retrieval.evidence import one_per_document, rank
from kosmos.retrieval.gathering import Gathered, Shelf
from kosmos.retrieval.search import Wanted, search_shelves
from kosmos.retrieval.tuning import Tuning
from kosmos.store.contract import Store

DEEP = 100  # documents that are looked at for a question
OnStep = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Gleaned:
    """A question and what all routes found for it."""

    asked: Asked
    gathered: Gathered


@dataclass(frozen=True, slots=True)
class Report:
    """Means over all questions and by language; `each` holds the measures question by question."""

    questions: int
    overall: Mapping[str, Mean]
    languages: Mapping[str, Mapping[str, Mean]]
    each: Mapping[str, Mapping[str, float]]
    warnings: tuple[str, ...] = ()


async def glean(
    store: Store, shelf: Shelf, questions: Sequence[Asked], *, tuning: Tuning, on_step: OnStep
) -> list[Gleaned]:
    """Ask every route once for each question."""
    gleaned = []
    for done, asked in enumerate(questions, start=1):
        wanted = Wanted(asked.text[:10_000], k=DEEP)
        outcome = await search_shelves(store, [shelf], wanted, tuning=tuning)
        gleaned.append(Gleaned(asked, outcome.gathered))
        on_step(done, len(questions), asked.text[:60])
    return gleaned


def evaluate(gleaned: Sequence[Gleaned], tuning: Tuning) -> Report:
    """The measures of one way of ranking."""
    each = {item.asked.id: _measure(item, tuning) for item in gleaned}
    spoken: dict[str, list[str]] = {}
    for item in gleaned:
        spoken.setdefault(item.asked.language, []).append(item.asked.id)
    warnings = dict.fromkeys(warning for item in gleaned for warning in item.gathered.warnings)
    return Report(
        questions=len(each),
        overall=_means(list(each.values())),
        languages={code: _means([each[key] for key in ids]) for code, ids in sorted(spoken.items())},
        each=each,
        warnings=tuple(warnings),
    )


def compare_reports(one: Report, other: Report) -> dict[str, Difference]:
    """By how much one way of ranking beats another, on the questions that both have."""
    both = [key for key in one.each if key in other.each]
    return {
        name: compare([one.each[key][name] for key in both], [other.each[key][name] for key in both])
        for name in METRICS
    }


def _means(measured: Sequence[Mapping[str, float]]) -> dict[str, Mean]:
    return {name: mean_of([values[name] for values in measured]) for name in METRICS}


def _measure(item: Gleaned, tuning: Tuning) -> dict[str, float]:
    gathered = item.gathered
    ranked = rank(gathered.lists, gathered.rows, tuning, language=gathered.language)
    found = [best for best, _ in one_per_document(ranked)[:DEEP]]
    names = [_named(gathered.rows[best.chunk_id], item.asked.relevant) for best in found]
    return measure(names, item.asked.relevant)


def _named(fields: Mapping[str, Any], relevant: Mapping[str, float]) -> str:
    """A document by the name that the question knows it by: its id, its source, or the end of its source."""
    identity, source = str(fields.get("document_id", "")), str(fields.get("source", ""))
    if identity in relevant:
        return identity
    ends = (name for name in relevant if source == name or source.endswith(f"/{name}"))
    return next(ends, source)
