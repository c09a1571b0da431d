"""Encoders in this process: a model is opened when it is first needed, and runs in threads of its own."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from kosmos.encoders.lanes import Lanes
from kosmos.store.rows import Dense

# Characters that one turn of a thread works on: some 50 ms, which is how long a question may have to wait.
TURN = 2_000


class Model(Protocol):
    """A model, open, that several threads may use at once."""

    def encode(self, text: str) -> Dense:
        """The vector of a text."""


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a model before it is opened."""

    name: str
    dimension: int
    query_prompt: str = ""
    passage_prompt: str = ""


class LocalEncoder:
    """A model with threads to run it in. Nothing is padded, so a vector depends on its text alone."""

    def __init__(self, card: Card, load: Callable[[], Model], *, threads: int) -> None:
        self._card = card
        self._load = load
        self._lanes = Lanes(threads)
        self._opening = asyncio.Lock()
        self._model: Model | None = None

    @property
    def name(self) -> str:
        """Which encoder and which version of it."""
        return self._card.name

    @property
    def dimension(self) -> int:
        """How long its vectors are."""
        return self._card.dimension

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        """One row for each text, in order, float32, unit length."""
        model, prompt = await self._open(), self._card.passage_prompt
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        found = np.empty((len(rows), self.dimension), np.float32)
        turns = list(_turns(sorted(rows, key=len, reverse=True)))  # long ones first: no thread is left alone
        made = await self._lanes.each([partial(_encode, model, turn, prompt) for turn in turns])
        for turn, vectors in zip(turns, made, strict=True):
            found[[rows[text] for text in turn]] = vectors
        return found[[rows[text] for text in texts]]

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        """The same for questions, before any passages that wait."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        model = await self._open()
        made = await self._lanes.urgent(partial(_encode, model, texts, self._card.query_prompt))
        return np.array(made)

    async def close(self) -> None:
        """Let go of the threads."""
        self._lanes.close()

    async def _open(self) -> Model:
        async with self._opening:
            if self._model is None:
                self._model = await self._lanes.urgent(self._load)
        return self._model


def _encode(model: Model, texts: Sequence[str], prompt: str) -> list[Dense]:
    return [model.encode(prompt + text) for text in texts]


def _turns(texts: Sequence[str]) -> Iterator[list[str]]:
    turn: list[str] = []
    size = 0
    for text in texts:
        turn.append(text)
        size += len(text)
        if size >= TURN:
            yield turn
            turn, size = [], 0
    if turn:
        yield turn
