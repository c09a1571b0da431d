"""Sub-questions, the plan that is made of them, and its execution."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kosmos.agents.literature.contract import Evidence, Paper
from kosmos.agents.literature.limits import MOST_SUB_QUESTIONS

LONGEST_QUESTION = 1000
_LIST = re.compile(r"\[.*\]", re.DOTALL)


class StepKind(StrEnum):
    """What a step does."""

    RECALL = "recall"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """Something to look for, in one paper or in all."""

    question: str
    paper: Paper | None = None

    def plain(self) -> dict[str, Any]:
        """As it is told."""
        return {"question": self.question, "doc_id": self.paper.document_id if self.paper else None}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    number: int
    kind: StepKind
    question: str = ""
    paper: Paper | None = None


@dataclass(slots=True)
class Executed:
    """What the steps brought; `forced` says that the loop had to be left."""

    found: dict[int, Sequence[Evidence]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    tried: int = 0
    forced: bool = False


def read_sub_questions(text: str, papers: Mapping[str, Paper]) -> list[SubQuestion]:
    """The sub-questions that a model wrote; none when it wrote nothing that can be read.

    `papers` are by the label that the model was given for each.
    """
    found = _LIST.search(text)
    try:
        items = json.loads(found[0]) if found else []
    except (ValueError, RecursionError):
        return []
    made = [_sub_question(item, papers) for item in items] if isinstance(items, list) else []
    return list(dict.fromkeys(item for item in made if item is not None))[:MOST_SUB_QUESTIONS]


def _sub_question(item: Any, papers: Mapping[str, Paper]) -> SubQuestion | None:
    if isinstance(item, str):
        item = {"question": item}
    if not isinstance(item, dict) or not isinstance(item.get("question"), str):
        return None
    question = " ".join(item["question"].split())[:LONGEST_QUESTION]
    return SubQuestion(question, papers.get(str(item.get("doc_id") or ""))) if question else None


def make_plan(questions: Iterable[SubQuestion]) -> list[Step]:
    """A recall step for each sub-question, and then the answer."""
    steps = [
        Step(number, StepKind.RECALL, item.question, item.paper)
        for number, item in enumerate(questions, start=1)
    ]
    return [*steps, Step(len(steps) + 1, StepKind.ANSWER)]


Recall = Callable[[Step], Awaitable[Sequence[Evidence]]]


async def execute_plan(plan: Sequence[Step], recall: Recall) -> Executed:
    """Run recall steps that follow each other at once; one that fails is tried again within the limit."""
    result, waiting, most = Executed(), list(plan), 2 * len(plan)
    while waiting and waiting[0].kind is StepKind.RECALL:
        batch = _consecutive(waiting)[: most - result.tried]
        if not batch:
            result.forced = True
            break
        result.tried += len(batch)
        outcomes = await asyncio.gather(*(recall(step) for step in batch), return_exceptions=True)
        again = _note(result, batch, outcomes)
        waiting = [*again, *waiting[len(batch) :]]
    return result


def _consecutive(waiting: Sequence[Step]) -> list[Step]:
    until = next((at for at, step in enumerate(waiting) if step.kind is not StepKind.RECALL), len(waiting))
    return list(waiting[:until])


def _note(result: Executed, batch: Sequence[Step], outcomes: Sequence[Any]) -> list[Step]:
    """Record what came of a batch; the steps that are to be tried again."""
    again = []
    for step, outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, Exception):
            result.failed[step.number] = str(outcome)
            again.append(step)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            result.found[step.number] = outcome
            result.failed.pop(step.number, None)
    return again
