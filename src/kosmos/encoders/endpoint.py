"""Vectors from an OpenAI-compatible endpoint: in batches, tried again when it stumbles, and checked."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kosmos.domain.credentials import Credential
from kosmos.domain.jobs import Spent
from kosmos.encoders.spending import tell_spending
from kosmos.encoders.vectors import unit
from kosmos.errors import ProviderBusy, ProviderRejected, ProviderUnavailable
from kosmos.llm.client import client_for, named_errors
from kosmos.store.rows import Dense

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)
Sleep = Callable[[float], Awaitable[None]]
MAX_CHARACTERS = 24_000  # of one text; providers refuse longer ones
BATCH_TEXTS = 64
BATCH_CHARACTERS = 100_000
DELAYS = (0.5, 2.0, 8.0)
LONGEST_WAIT = 20.0  # a provider that asks for more is left to the job, which can pause
# Options of a credential that are ours; all others go to the provider with the request.
OWN_OPTIONS = frozenset({"max_concurrency", "prompt_price", "query_prompt", "passage_prompt", "batch_texts"})


class EndpointEncoder:
    """The encoder behind an EMBEDDING credential."""

    def __init__(
        self,
        credential: Credential,
        key: str | None,
        *,
        seconds: float,
        dimension: int = 0,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._credential = credential
        self._key = key
        self._seconds = seconds
        self._dimension = int(credential.options.get("dimensions") or dimension)
        self._sleep = sleep
        self._turns = asyncio.Semaphore(_whole(credential, "max_concurrency", 2))

    @property
    def name(self) -> str:
        """The model and where it is served: the same name elsewhere may be another model."""
        return endpoint_name(self._credential)

    @property
    def dimension(self) -> int:
        """How long its vectors are; 0 until the endpoint has said so."""
        return self._dimension

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        """One row for each text, in order, float32, unit length."""
        return await self._encode(texts, str(self._credential.options.get("passage_prompt", "")))

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        """The same for questions, introduced as the credential's option `query_prompt` says."""
        return await self._encode(texts, str(self._credential.options.get("query_prompt", "")))

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _encode(self, texts: Sequence[str], prompt: str) -> Dense:
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        # An empty text is refused by most providers; a blank is not, and means as little.
        sent = [(prompt + text)[:MAX_CHARACTERS] or " " for text in rows]
        batches = _batches(sent, _whole(self._credential, "batch_texts", BATCH_TEXTS))
        if not batches:
            return np.empty((0, self._dimension), np.float32)
        async with client_for(self._credential, self._key, self._seconds) as client:
            tasks = [asyncio.create_task(self._patiently(client, batch)) for batch in batches]
            try:
                made = await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        found = np.concatenate(made)
        return found[[rows[text] for text in texts]]

    async def _patiently(self, client: "openai.AsyncOpenAI", batch: list[str]) -> Dense:
        """Ask again when the provider stumbles, but not for long."""
        for delay in (*DELAYS, None):
            try:
                async with self._turns:
                    return await self._ask(client, batch)
            except ProviderUnavailable as error:
                wait = error.retry_after if isinstance(error, ProviderBusy) else None
                if delay is None or (wait or 0) > LONGEST_WAIT:
                    raise
                log.info("%s; asking again", error.message)
                await self._sleep(wait or delay)
        raise ProviderUnavailable  # the last attempt has either answered or raised

    async def _ask(self, client: "openai.AsyncOpenAI", batch: list[str]) -> Dense:
        options = {key: value for key, value in self._credential.options.items() if key not in OWN_OPTIONS}
        async with named_errors(self._credential), asyncio.timeout(self._seconds):
            answer = await client.embeddings.create(
                **{**options, "model": self._credential.model, "input": batch}
            )
            vectors = [item.embedding for item in _in_order(answer.data)]
            tokens = int(getattr(answer.usage, "prompt_tokens", 0) or 0)
        tell_spending(Spent(prompt_tokens=tokens, cost=tokens * _price(self._credential) / 1e6))
        return self._check(vectors, len(batch))

    def _check(self, vectors: list[Any], count: int) -> Dense:
        if len(vectors) != count:
            raise self._refuse(f"gave {len(vectors)} vectors for {count} texts")
        lengths = sorted({len(vector) for vector in vectors})
        if len(lengths) != 1 or lengths[0] == 0:
            raise self._refuse(f"gave vectors of different lengths: {', '.join(map(str, lengths))}")
        if self._dimension and lengths[0] != self._dimension:
            raise self._refuse(f"gave vectors of {lengths[0]} numbers, not {self._dimension} as before")
        try:
            found = np.array(vectors, np.float32)
        except (TypeError, ValueError):
            raise self._refuse("gave vectors that are not made of numbers") from None
        if not np.isfinite(found).all():
            raise self._refuse("gave vectors with numbers that are none (NaN or infinite)")
        self._dimension = lengths[0]
        return unit(found)

    def _refuse(self, what: str) -> ProviderRejected:
        who = f"{self._credential.name} ({self._credential.model})"
        return ProviderRejected(
            f"{who} {what}.", remedy=f"Check it with: kosmos credentials test {self._credential.name}"
        )


def endpoint_name(credential: Credential) -> str:
    """Which encoder a credential stands for."""
    told = f"{credential.base_url} {credential.model} {credential.options.get('dimensions', '')}"
    prompt = credential.options.get("passage_prompt", "")
    return f"{credential.model[:80]}@{hashlib.sha256(f'{told} {prompt}'.encode()).hexdigest()[:12]}"


def _in_order(data: Sequence[Any]) -> list[Any]:
    """By the numbers that the provider gives, if it gives any."""
    numbers = [item.index for item in data]
    if len(set(numbers)) <= 1:  # it does not count
        return list(data)
    if sorted(numbers) != list(range(len(data))):
        raise ValueError("the vectors are numbered wrongly")
    return sorted(data, key=lambda item: int(item.index))


def _batches(texts: Sequence[str], most: int) -> list[list[str]]:
    batches: list[list[str]] = []
    room = 0
    for text in texts:
        if not batches or len(batches[-1]) == most or len(text) > room:
            batches.append([])
            room = BATCH_CHARACTERS
        batches[-1].append(text)
        room -= len(text)
    return batches


def _whole(credential: Credential, option: str, usual: int) -> int:
    value = credential.options.get(option)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else usual


def _price(credential: Credential) -> float:
    value = credential.options.get("prompt_price")
    return float(value) if isinstance(value, int | float) and value >= 0 else 0.0
