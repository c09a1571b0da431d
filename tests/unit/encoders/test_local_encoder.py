"""Encoders in this process: each text once, in order, with what introduces it."""

import asyncio
import hashlib
import threading

import numpy as np
import pytest

from kosmos.encoders.local import Card, LocalEncoder
from kosmos.encoders.vectors import unit
from kosmos.errors import ConfigError
from kosmos.store.rows import Dense

CARD = Card("fake", 4, query_prompt="Q: ", passage_prompt="P: ")


class Fake:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.threads: set[str] = set()

    def encode(self, text: str) -> Dense:
        self.asked.append(text)
        self.threads.add(threading.current_thread().name)
        raw = np.frombuffer(hashlib.sha256(text.encode()).digest()[:4], np.uint8)
        return unit(raw.astype(np.float32) + 1)


async def test_each_text_once_and_every_row_in_its_place() -> None:
    fake = Fake()
    encoder = LocalEncoder(CARD, lambda: fake, threads=2)
    texts = [f"text {number % 7} " + "x" * (number % 7) * 300 for number in range(40)]
    found = await encoder.encode_passages(texts)
    assert found.shape == (40, 4)
    assert found.dtype == np.float32
    assert sorted(fake.asked) == sorted({f"P: {text}" for text in texts})
    for text, row in zip(texts, found, strict=True):
        assert np.array_equal(row, Fake().encode(f"P: {text}"))
    assert len(fake.asked[0]) == max(map(len, fake.asked))
    assert threading.current_thread().name not in fake.threads
    assert len(fake.threads) <= 2
    await encoder.close()


async def test_questions_are_introduced_their_own_way() -> None:
    fake = Fake()
    encoder = LocalEncoder(CARD, lambda: fake, threads=1)
    found = await encoder.encode_queries(["a", "b"])
    assert fake.asked == ["Q: a", "Q: b"]
    assert found.shape == (2, 4)
    assert (await encoder.encode_queries([])).shape == (0, 4)
    assert (await encoder.encode_passages([])).shape == (0, 4)
    await encoder.close()


async def test_the_model_is_opened_once_and_late() -> None:
    opened: list[Fake] = []

    def load() -> Fake:
        opened.append(Fake())
        return opened[-1]

    encoder = LocalEncoder(CARD, load, threads=2)
    assert (encoder.name, encoder.dimension, opened) == ("fake", 4, [])
    await asyncio.gather(*(encoder.encode_queries([str(number)]) for number in range(5)))
    assert len(opened) == 1
    await encoder.close()


async def test_a_model_that_cannot_be_opened_is_tried_again() -> None:
    tries: list[int] = []

    def load() -> Fake:
        tries.append(1)
        raise ConfigError("not there")

    encoder = LocalEncoder(CARD, load, threads=1)
    for _ in range(2):
        with pytest.raises(ConfigError, match="not there"):
            await encoder.encode_passages(["a"])
    assert len(tries) == 2
    await encoder.close()


def test_unit_length() -> None:
    found = unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    assert found.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 0.0]]
