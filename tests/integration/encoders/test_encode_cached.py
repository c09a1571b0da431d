"""The same text is never encoded twice, on both databases."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
import sqlalchemy as sa

from kosmos.db import Database
from kosmos.db.embeddings import delete_vectors, known_dimension, put_vectors
from kosmos.db.tables import embedding
from kosmos.doubles.encoders import embed
from kosmos.encoders import cached
from kosmos.encoders.cached import encode_cached, text_hash
from kosmos.store.rows import Dense

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(self, name: str = "counting", dimension: int = 6, *, tells: bool = True) -> None:
        self.name = name
        self.dimension = dimension if tells else 0
        self.asked: list[str] = []
        self._length = dimension

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        self.asked += texts
        self.dimension = self._length
        return np.array([embed(self.name + text, self._length) for text in texts], np.float32)

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        raise AssertionError("questions are not kept")

    async def close(self) -> None:
        pass


async def test_each_text_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "BATCH", 3)
    encoder = Counting()
    texts = ["a", "b", "a", "油泵", "", "\ud800", "b", "c"]
    first = await encode_cached(db, encoder, texts)
    assert encoder.asked == ["a", "b", "油泵", "", "\ud800", "c"]
    assert np.array_equal(first, np.array([embed("counting" + text, 6) for text in texts], np.float32))
    again = Counting()
    second = await encode_cached(db, again, [*reversed(texts), "new"])
    assert again.asked == ["new"]
    assert np.array_equal(second[:-1], first[::-1])
    assert second.dtype == np.float32


async def test_encoders_do_not_mix(db: Database) -> None:
    one, other = Counting("one"), Counting("other", 4)
    await encode_cached(db, one, ["a"])
    found = await encode_cached(db, other, ["a"])
    assert (one.asked, other.asked, found.shape) == (["a"], ["a"], (1, 4))
    async with db.write() as conn:
        assert [await known_dimension(conn, name) for name in ("one", "other", "none")] == [6, 4, 0]
        assert await delete_vectors(conn, "one") == 1
        assert await conn.scalar(sa.select(sa.func.count()).select_from(embedding)) == 1


async def test_what_was_made_before_a_failure_is_kept(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "BATCH", 2)

    class Failing(Counting):
        async def encode_passages(self, texts: Sequence[str]) -> Dense:
            if "c" in texts:
                raise ConnectionError
            return await super().encode_passages(texts)

    with pytest.raises(ConnectionError):
        await encode_cached(db, Failing(), ["a", "b", "c", "d"])
    encoder = Counting()
    await encode_cached(db, encoder, ["a", "b", "c", "d"])
    assert encoder.asked == ["c", "d"]


async def test_a_vector_of_another_length_is_of_no_use(db: Database) -> None:
    async with db.write() as conn:
        await put_vectors(conn, "counting", {text_hash("a"): bytes(8)}, NOW)
    encoder = Counting()
    assert (await encode_cached(db, encoder, ["a"])).shape == (1, 6)
    assert encoder.asked == ["a"]


async def test_nothing_and_an_endpoint_that_has_said_nothing_yet(db: Database) -> None:
    assert (await encode_cached(db, Counting(), [])).shape == (0, 6)
    await encode_cached(db, Counting(), ["a"])
    silent = Counting(tells=False)
    assert (await encode_cached(db, silent, ["a"])).shape == (1, 6)
    assert silent.asked == []


async def test_the_first_one_stays(db: Database) -> None:
    async with db.write() as conn:
        await put_vectors(conn, "e", {"0" * 64: b"abcd", "1" * 64: b"efgh"}, NOW)
        await put_vectors(conn, "e", {"0" * 64: b"ijkl"}, NOW)
        await put_vectors(conn, "e", {}, NOW)
        rows = (await conn.execute(sa.select(embedding.c.vector).order_by(embedding.c.text_sha256))).all()
    assert [row.vector for row in rows] == [b"abcd", b"efgh"]
