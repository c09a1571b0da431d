"""A whole evaluation over a small set: measures, comparison, tuning, and what is kept of it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kosmos.doubles.memory_store import MemoryStore
from kosmos.doubles.word_encoder import WordEncoder
from kosmos.eval.results import last_report, plain_name
from kosmos.eval.retrieval_metrics import HIT, METRICS, NDCG
from kosmos.eval.retrieval_run import Measured, Plan, run_evaluation
from kosmos.eval.retrieval_sets import Asked, Entry, RetrievalSet
from kosmos.retrieval.routes import ROUTES
from kosmos.retrieval.tuning import RRF, Tuning

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TOPICS = ["pump", "valve", "motor", "泵", "阀门", "电机", "filter", "gauge"]
CORPUS = tuple(
    Entry(f"d{number}", f"About {topic}", f"# {topic}\n\nThe {topic} 每{number}天 needs care and oil.")
    for number, topic in enumerate(TOPICS)
)
QUESTIONS = tuple(
    Asked(f"q{number}", topic, {f"d{number}": 1.0}, "zh" if topic > "z" else "en")
    for number, topic in enumerate(TOPICS)
)
SET = RetrievalSet("tiny set", QUESTIONS, CORPUS)


def _plan(folder: Path, tuning: Tuning | None = None, **changes: object) -> Plan:
    plan = Plan(SET, None, tuning or Tuning(), folder)
    return replace(plan, **changes)  # type: ignore[arg-type]


async def _run(plan: Plan, now: datetime = NOW) -> Measured:
    return await run_evaluation(plan, MemoryStore(), WordEncoder(128), now=now, on_step=lambda *_: None)


async def test_measures_by_language_and_what_is_kept(tmp_path: Path) -> None:
    measured = await _run(_plan(tmp_path))
    assert measured.report.questions == 8
    assert measured.report.overall[HIT].value == 1.0
    assert set(measured.report.languages) == {"zh", "en"}
    assert set(measured.report.overall) == set(METRICS)
    assert (measured.since_last, measured.difference, measured.tuned) == (None, None, None)
    (kept,) = tmp_path.iterdir()  # noqa: ASYNC240
    body = json.loads(kept.read_text())
    assert (body["name"], body["encoder"]) == ("tiny set", "words/128")
    assert len(body["report"]["each"]) == 8


async def test_the_next_run_is_compared_with_the_last(tmp_path: Path) -> None:
    await _run(_plan(tmp_path, Tuning().without(ROUTES[:3])))
    second = await _run(_plan(tmp_path), NOW + timedelta(seconds=1))
    assert second.since_last is not None
    assert second.since_last[NDCG].value >= 0
    third = await _run(_plan(tmp_path), NOW + timedelta(seconds=2))
    assert third.since_last is not None
    assert {change.value for change in third.since_last.values()} == {0.0}
    (tmp_path / f"{plain_name('tiny set')}-20990101T000000000000.json").write_text("{broken")
    last = last_report(tmp_path, "tiny set")
    assert last is not None
    assert dict(last.each) == dict(third.report.each)
    assert last_report(tmp_path, "tiny") is None


async def test_two_ways_are_compared_on_the_same_questions(tmp_path: Path) -> None:
    blind = Tuning().without(ROUTES)
    measured = await _run(_plan(tmp_path, other=blind))
    assert measured.difference is not None
    assert measured.difference[NDCG].value == pytest.approx(measured.report.overall[NDCG].value)
    assert measured.difference[HIT].worse == 0
    ranks = await _run(_plan(tmp_path, other=replace(Tuning(), fusion=RRF)))
    assert ranks.other_report is not None
    assert ranks.other is not None
    assert ranks.other["fusion"] == RRF


async def test_tuning_finds_what_was_switched_off(tmp_path: Path) -> None:
    """With the title alone half of the answers cannot be told apart; the text routes must come back."""
    poor = Tuning(same={"title_sparse": 0.0, "summary_vector": 0.001}, other={"summary_vector": 0.001})
    measured = await _run(_plan(tmp_path, poor, tune=True))
    assert measured.tuned is not None
    assert measured.tuned.sought.overall[NDCG].value >= measured.report.overall[NDCG].value
    assert set(measured.tuned.sought.each).isdisjoint(measured.tuned.checked.each)
    assert set(measured.tuned.sought.each) | set(measured.tuned.checked.each) == {q.id for q in QUESTIONS}


async def test_the_documents_of_the_set_are_gone_afterwards(tmp_path: Path) -> None:
    store = MemoryStore()
    await run_evaluation(_plan(tmp_path), store, None, now=NOW, on_step=lambda *_: None)
    assert await store.collections() == []
    store.broken = set(ROUTES)
    with pytest.raises(Exception, match="out of order"):
        await run_evaluation(_plan(tmp_path), store, None, now=NOW, on_step=lambda *_: None)
    assert await store.collections() == []


async def test_documents_are_known_by_the_end_of_their_source(tmp_path: Path) -> None:
    corpus = (Entry("docs/en/a/pump.md", "Pump", "Oil it."), Entry("docs/en/b.md", "B", "Nothing."))
    asked = (Asked("1", "oil the pump", {"a/pump.md": 1.0}, "en"),)
    measured = await _run(_plan(tmp_path, given=RetrievalSet("s", asked, corpus)))
    assert measured.report.overall[HIT].value == 1.0
