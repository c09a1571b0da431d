"""Reranking: a model reads question and passages together and says how well each fits, from 0 to 1."""

import asyncio
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kosmos.domain.credentials import Credential
from kosmos.errors import ProviderUnavailable
from kosmos.llm.chat import complete
from kosmos.llm.client import client_for
from kosmos.prompts import load_prompt

PASSAGE_CHARS = 4000
JUDGED_CHARS = 1500
_OBJECT = re.compile(r"\{[^{}]*\}")


class Reranker(Protocol):
    """Anything that scores passages for a question."""

    @property
    def name(self) -> str:
        """Which one."""

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """One number for each passage, in their order."""


async def rerank_by_endpoint(
    credential: Credential, key: str | None, query: str, passages: Sequence[str], *, seconds: float
) -> list[float]:
    """Scores of a `/rerank` endpoint, as Cohere, Jina, vLLM and llama.cpp serve it."""
    body = {
        "model": credential.model,
        "query": query,
        "documents": [passage[:PASSAGE_CHARS] or " " for passage in passages],
        "top_n": len(passages),
    }
    async with client_for(credential, key, seconds) as client, asyncio.timeout(seconds):
        answer = await client.post("/rerank", body=body, cast_to=object)
    return read_scores(answer, len(passages), credential.name)


def read_scores(answer: object, count: int, name: str) -> list[float]:
    """The scores in the order of the passages; ProviderUnavailable unless there is one for each."""
    listed = answer.get("results", answer.get("data")) if isinstance(answer, Mapping) else answer
    scores: dict[int, float] = {}
    for item in listed if isinstance(listed, list) else ():
        index, score = _entry(item)
        if index is not None and score is not None and 0 <= index < count:
            scores[index] = score
    if len(scores) != count:
        raise ProviderUnavailable(
            f"{name} scored {len(scores)} of {count} passages.",
            remedy=f"Check it with: kosmos credentials test {name}",
        )
    return [scores[index] for index in range(count)]


async def rerank_by_model(
    credential: Credential, key: str | None, query: str, passages: Sequence[str], *, seconds: float
) -> list[float]:
    """Scores that a chat model gives; passages it passes over have 0."""
    shown = "\n\n".join(
        f"Passage {number}:\n{passage[:JUDGED_CHARS]}" for number, passage in enumerate(passages, start=1)
    )
    prompt = load_prompt("score_evidence").render(question=query, passages=shown)
    messages = [{"role": "user", "content": prompt}]
    answer = await complete(credential, key, messages, seconds=seconds, options={"temperature": 0})
    return read_judgement(answer.text, len(passages), credential.name)


def read_judgement(text: str, count: int, name: str) -> list[float]:
    """The scores of a model's answer, from 0 to 1; ProviderUnavailable when it holds none."""
    for found in reversed(_OBJECT.findall(text)):
        try:
            given = json.loads(found)
        except (ValueError, RecursionError):
            continue
        scores = {str(key): _finite(value) for key, value in given.items()}
        if any(scores.get(str(number)) is not None for number in range(1, count + 1)):
            return [min(10.0, max(0.0, scores.get(str(n)) or 0.0)) / 10 for n in range(1, count + 1)]
    raise ProviderUnavailable(f"{name} did not say how well the passages fit.", remedy="Try another model.")


def _entry(item: object) -> tuple[int | None, float | None]:
    if not isinstance(item, Mapping):
        return None, None
    index = item.get("index")
    score = _finite(item.get("relevance_score", item.get("score")))
    return (index if isinstance(index, int) and not isinstance(index, bool) else None), score


def _finite(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None
