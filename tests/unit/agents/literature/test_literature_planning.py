"""Intents, strategies, sub-questions and plans, without any model."""

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.literature.contract import Evidence, Paper
from kosmos.agents.literature.intents import Intent, read_intent
from kosmos.agents.literature.limits import MOST_SUB_QUESTIONS, available_tokens, room_for
from kosmos.agents.literature.plans import (
    Step,
    StepKind,
    SubQuestion,
    execute_plan,
    make_plan,
    read_sub_questions,
)
from kosmos.agents.literature.strategies import DocumentMode, Strategy, choose_strategy, judge_mode
from kosmos.domain.papers import PaperFacts
from kosmos.errors import EngineUnavailable

ONE = Paper("id-1", "a.md", PaperFacts())


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        ('{"intent": "PAPER_REVIEW", "reason": "x"}', Intent.PAPER_REVIEW),
        ('```json\n{"intent": " literature_qa "}\n```', Intent.LITERATURE_QA),
        ("I think it is REVIEW_GENERATION.", Intent.REVIEW_GENERATION),
        ('{"intent": "DANCE"}', None),
        ("PAPER_REVIEW or LITERATURE_QA", None),
        ('{"intent": null}', None),
        ("", None),
    ],
)
def test_what_a_model_says_is_read_as_an_intent(said: str, intent: Intent | None) -> None:
    found = read_intent(said)
    assert (found.intent if found else None) is intent


@settings(deadline=None)
@given(st.text(max_size=200))
def test_nothing_that_a_model_says_breaks_the_reading(said: str) -> None:
    read_intent(said)
    assert len(read_sub_questions(said, {})) <= MOST_SUB_QUESTIONS


@pytest.mark.parametrize(
    ("window", "session", "query", "left"),
    [(128_000, 1000, 500, 116_500), (10_000, 0, 0, 0), (10_001, 0, 0, 1), (8000, 0, 10, 0)],
)
def test_available_tokens(window: int, session: int, query: int, left: int) -> None:
    assert available_tokens(window, session, query) == left
    assert room_for(left, window) >= window // 3


@pytest.mark.parametrize(
    ("count", "tokens", "mode"),
    [
        (0, 0, DocumentMode.NONE),
        (1, 699, DocumentMode.SINGLE_SMALL),
        (1, 700, DocumentMode.SINGLE_LARGE),
        (2, 0, DocumentMode.MULTI),
    ],
)
def test_document_modes(count: int, tokens: int, mode: DocumentMode) -> None:
    assert judge_mode(count, tokens, available=1000, threshold=0.7) is mode


def test_a_strategy_says_why() -> None:
    for intent in Intent:
        for mode, count in ((DocumentMode.SINGLE_LARGE, 1), (DocumentMode.MULTI, 3)):
            chosen = choose_strategy(intent, mode, count)
            assert chosen.reason
            assert (chosen.strategy is Strategy.SIMPLE_INTERACTION) is (intent is Intent.SIMPLE_INTERACTION)


def test_sub_questions_name_their_papers() -> None:
    first = '{"question": " What  loss? ", "doc_id": "D1"}'
    said = f'Here: [{first}, "Which data?", {{"question": "x", "doc_id": "D9"}}]'
    assert read_sub_questions(said, {"D1": ONE}) == [
        SubQuestion("What loss?", ONE),
        SubQuestion("Which data?"),
        SubQuestion("x"),
    ]
    assert read_sub_questions(json.dumps(["same", "same", {"question": 3}]), {}) == [SubQuestion("same")]


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_steps_are_tried_twice_the_length_of_the_plan_at_most(failures: list[int]) -> None:
    """Each step fails so often before it succeeds; what succeeds stays, and the loop always ends."""
    plan = make_plan(SubQuestion(str(at)) for at in range(len(failures)))
    left = dict(enumerate(failures, start=1))
    running, peak = 0, 0

    async def recall(step: Step) -> Sequence[Evidence]:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        left[step.number] -= 1
        if left[step.number] >= 0:
            raise EngineUnavailable("no")
        return []

    done = asyncio.run(execute_plan(plan, recall))
    assert plan[-1].kind is StepKind.ANSWER
    assert done.tried <= 2 * len(plan)
    assert peak == len(failures)  # the first time all run beside each other
    assert set(done.found) | set(done.failed) == set(range(1, len(failures) + 1))
    assert not set(done.found) & set(done.failed)
    assert done.forced is bool(done.failed)
    if sum(failures) + len(failures) <= 2 * len(plan):
        assert not done.forced
