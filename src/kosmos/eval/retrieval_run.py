"""One run of an evaluation: questions are asked, ways of ranking compared, results kept."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kosmos.encoders.contract import Encoder
from kosmos.eval.results import keep_result, last_report
from kosmos.eval.retrieval import Gleaned, OnStep, Report, compare_reports, evaluate, glean
from kosmos.eval.retrieval_corpus import store_corpus
from kosmos.eval.retrieval_metrics import Difference
from kosmos.eval.retrieval_sets import RetrievalSet
from kosmos.eval.retrieval_tuning import Tuned, tune
from kosmos.retrieval.filling import fill_collection
from kosmos.retrieval.gathering import Shelf
from kosmos.retrieval.routes import ROUTES
from kosmos.retrieval.tuning import Tuning
from kosmos.store.contract import Store


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. Without a `collection` the set brings its own documents.

    `other` is a second way of ranking to compare with; results are kept in `folder`.
    """

    given: RetrievalSet
    collection: str | None
    tuning: Tuning
    folder: Path
    other: Tuning | None = None
    tune: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run found out, in the form in which it is kept."""

    name: str
    at: str
    encoder: str
    tuning: Mapping[str, Any]
    report: Report
    since_last: Mapping[str, Difference] | None = None
    other: Mapping[str, Any] | None = None
    other_report: Report | None = None
    difference: Mapping[str, Difference] | None = None
    tuned: Tuned | None = None


async def run_evaluation(
    plan: Plan, store: Store, encoder: Encoder | None, *, now: datetime, on_step: OnStep
) -> Measured:
    """Measure, compare with the other way and the last run, tune if wanted, and keep the result."""
    if plan.collection is not None:
        gleaned = await _ask(plan, store, Shelf(plan.collection, encoder), on_step)
    else:
        gleaned = await _ask_corpus(plan, store, encoder, on_step)
    report = evaluate(gleaned, plan.tuning)
    other = evaluate(gleaned, plan.other) if plan.other is not None else None
    last = last_report(plan.folder, plan.given.name)
    measured = Measured(
        name=plan.given.name,
        at=now.isoformat(),
        encoder=encoder.name if encoder is not None else "",
        tuning=plan.tuning.as_settings(),
        report=report,
        since_last=compare_reports(report, last) if last is not None else None,
        other=plan.other.as_settings() if plan.other is not None else None,
        other_report=other,
        difference=compare_reports(report, other) if other is not None else None,
        tuned=tune(gleaned, plan.tuning) if plan.tune else None,
    )
    keep_result(plan.folder, plan.given.name, asdict(measured), now)
    return measured


async def _ask(plan: Plan, store: Store, shelf: Shelf, on_step: OnStep) -> list[Gleaned]:
    """Routes that are switched off are asked too where they may be switched on."""
    wide = plan.tuning
    if plan.tune or plan.other is not None:
        weights = {route: max(0.001, wide.same.get(route, 0.0)) for route in ROUTES}
        wide = wide.with_routes(weights)
    return await glean(store, shelf, plan.given.questions, tuning=wide, on_step=on_step)


async def _ask_corpus(plan: Plan, store: Store, encoder: Encoder | None, on_step: OnStep) -> list[Gleaned]:
    """The documents of the set in a collection that is gone afterwards."""
    corpus = plan.given.corpus or ()
    digest = hashlib.sha256("\n".join(entry.id for entry in corpus).encode(errors="replace")).hexdigest()
    collection = f"eval_{digest[:24]}"
    await store.drop(collection)
    try:
        await store_corpus(store, collection, corpus, on_step=on_step)
        if encoder is not None:
            await fill_collection(store, collection, encoder, on_step=on_step)
        return await _ask(plan, store, Shelf(collection, encoder), on_step)
    finally:
        await store.drop(collection)
