"""Dense vectors follow the rows: batch by batch, killed anywhere, never paid twice."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from kosmos.db import chunks
from kosmos.db import jobs as table
from kosmos.db.tables import chunk as chunk_table
from kosmos.domain.chunks import Chunk, ChunkType
from kosmos.domain.documents import Document
from kosmos.domain.jobs import Job, Spent
from kosmos.domain.redactions import dump_redactions, redact_range
from kosmos.doubles.encoders import embed
from kosmos.encoders.spending import tell_spending
from kosmos.errors import LeaseLost, ProviderUnavailable
from kosmos.jobs.run import Run
from kosmos.jobs.worker import LEASE
from kosmos.retrieval.indexing import passages
from kosmos.store.rows import Dense
from kosmos.tasks import filling
from kosmos.tasks.filling import SUMMARY_ROUTE, TEXT_ROUTE, encode_document, fill_vectors
from kosmos.tasks.jobs import cancel_job, create_job
from kosmos.tasks.preflight import JobRequest
from kosmos.tasks.showing import shown_chunk

from .fuses import Fuse, Fused
from .scene import Crash, Scene

PARTS = 20
TEXT = "---\nowner: ada\n---\n\n" + "\n".join(
    f"# Part {part}\n\nThe pump 泵 number {part} is blue.<!-- hidden -->\n" for part in range(PARTS)
).rstrip("\n")


class MemoryStore:
    """As much of a store as filling needs: rows that are there take vectors."""

    def __init__(self, pks: Sequence[str]) -> None:
        self.rows: dict[str, dict[str, Dense]] = {pk: {} for pk in pks}
        self.dimensions: dict[str, int] = {}
        self.calls = 0

    async def ensure(self, collection: str, dense: Mapping[str, int] | None = None) -> None:
        for route, dimension in (dense or {}).items():
            assert self.dimensions.setdefault(route, dimension) == dimension

    async def fill(self, collection: str, vectors: Mapping[str, Mapping[str, Dense]]) -> int:
        self.calls += 1
        there = [pk for pk in vectors if pk in self.rows]
        for pk in there:
            self.rows[pk] |= vectors[pk]
        return len(there)


class Counting:
    """An encoder that remembers what it was asked, and may fail once."""

    dimension = 4

    def __init__(self, name: str = "counting", fail_at: int | None = None) -> None:
        self.name = name
        self.asked: list[str] = []
        self._fail_at = fail_at

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        if self._fail_at is not None and len(self.asked) >= self._fail_at:
            self._fail_at = None
            raise ProviderUnavailable("The endpoint is down.")
        self.asked += texts
        tell_spending(Spent(prompt_tokens=len(texts)))
        return np.array([embed(self.name + text, 4) for text in texts], np.float32)

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        raise AssertionError("these are passages")

    async def close(self) -> None:
        pass


class Task:
    """A document in the index, a job that fills its vectors, and where they go."""

    def __init__(self, scene: Scene, document: Document, found: list[Chunk], job: Job) -> None:
        self.scene, self.document, self.job = scene, document, job
        self.texts = passages(document, found)
        self.store: Any = MemoryStore([chunk.id for chunk in found])

    async def run(self) -> Run:
        """Claim the job, as a worker does after the one before it is gone."""
        now = self.scene.bench.clock()
        async with self.scene.bench.db.write() as conn:
            taken = await table.take(conn, [self.job.id], worker="w", now=now, until=now)
        (claimed,) = taken
        return Run(claimed, db=self.scene.bench.db, clock=self.scene.bench.clock, lease=LEASE)

    async def fill(self, encoder: Counting, run: Run | None = None) -> int:
        bench = replace(self.scene.bench, store=self.store)
        result = await fill_vectors(bench, run or await self.run(), self.document, encoder)
        assert result is not None
        return result

    def check(self, name: str = "counting") -> None:
        """Every row that has a text has its vector, and the right one."""
        inner = getattr(self.store, "_inner", self.store)
        for pk, vectors in inner.rows.items():
            texts = self.texts.get(pk, {})
            assert vectors.keys() == texts.keys()
            for route, vector in vectors.items():
                np.testing.assert_allclose(vector, embed(name + texts[route], 4), atol=1e-6)


@pytest.fixture
async def task(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setattr(filling, "CHUNKS_PER_BATCH", 7)
    document, _ = await scene.add(TEXT)
    async with scene.bench.db.read() as conn:
        found = await chunks.live_chunks(conn, document.id)
    made = await create_job(scene.bench, scene.owner, JobRequest("indexing", document.id))
    return Task(scene, document, found, made.job)


async def test_every_row_gets_its_vectors_and_the_job_its_bill(task: Task) -> None:
    encoder, run = Counting(), await task.run()
    result = await task.fill(encoder, run)
    task.check()
    assert result == len(task.texts)
    assert task.store.dimensions == {TEXT_ROUTE: 4, SUMMARY_ROUTE: 4}
    assert run.progress["current_vectors"] == run.progress["total_vectors"] == len(task.texts)
    assert run.job.spent.prompt_tokens + run.unbooked().prompt_tokens == len(encoder.asked)
    assert len(encoder.asked) == len(set(encoder.asked))


async def test_what_is_encoded(task: Task) -> None:
    texts = list(task.texts.values())
    bodies = [item[TEXT_ROUTE] for item in texts]
    assert not any("owner: ada" in body or "hidden" in body for body in bodies)
    (body,) = [body for body in bodies if "number 3 " in body]
    assert body.startswith(f"{task.document.title} Part 3\n")
    assert body.rstrip().endswith("The pump 泵 number 3 is blue.")
    assert any("Part 3: " in item[SUMMARY_ROUTE] for item in texts)


async def test_what_is_hidden_is_not_encoded(task: Task) -> None:
    hidden = dump_redactions([redact_range(5, 5, kind="private", reason="", source="person")])
    chunk = Chunk(
        id="c",
        space_id="s",
        document_id="d",
        generation=1,
        parent_id=None,
        type=ChunkType.CONTENT,
        level=-1,
        start_line=4,
        end_line=6,
        raw_content="open\nsecret word\nopen again",
        summary=" ",
        redaction=hidden,
        token_count=3,
        position=0,
        from_split=False,
        merged=False,
        metadata={},
    )
    shown = [shown_chunk(chunk)]
    found = passages(replace(task.document, title="T"), shown, {"c": "A picture of a pump."})
    assert found["c"][TEXT_ROUTE] == "T\nopen\n⟦private⟧\nopen again\nA picture of a pump."


async def test_after_a_failure_it_goes_on_where_it_was(task: Task) -> None:
    encoder = Counting(fail_at=10)
    with pytest.raises(ProviderUnavailable):
        await task.fill(encoder)
    done = task.store.calls
    assert done >= 1
    result = await task.fill(encoder)
    task.check()
    assert result < len(task.texts)  # only what was left
    assert len(encoder.asked) == len(set(encoder.asked))


@pytest.mark.parametrize("steps", range(0, 12, 3))
async def test_killed_anywhere_it_ends_with_every_vector(task: Task, steps: int) -> None:
    encoder = Counting()
    task.store = Fused(task.store, Fuse(steps), "fill")
    with pytest.raises(Crash):
        await task.fill(encoder)
    task.store = task.store._inner
    await task.fill(encoder)
    task.check()
    assert len(encoder.asked) == len(set(encoder.asked))  # what was made is kept, recorded or not


async def test_another_encoder_begins_anew(task: Task) -> None:
    run = await task.run()
    await task.fill(Counting(), run)
    other = Counting("other")
    await task.fill(other, run)
    task.check("other")
    again = await task.fill(other, run)
    assert again == 0


async def test_a_cancelled_job_writes_nothing_more(task: Task) -> None:
    run = await task.run()

    class Cancelling(Counting):
        async def encode_passages(self, texts: Sequence[str]) -> Dense:
            if len(self.asked) > 10:
                await cancel_job(task.scene.bench, task.scene.owner, task.job.id)
            return await super().encode_passages(texts)

    with pytest.raises(LeaseLost):
        await task.fill(Cancelling(), run)
    assert task.store.calls == 2


async def test_a_newer_version_ends_it(task: Task) -> None:
    class Replacing(Counting):
        async def encode_passages(self, texts: Sequence[str]) -> Dense:
            if not self.asked:
                async with task.scene.bench.db.write() as conn:
                    await conn.execute(sa.text("UPDATE document SET live_generation = live_generation + 1"))
            return await super().encode_passages(texts)

    await task.fill(Replacing())
    assert task.store.calls == 1


async def test_without_an_encoder_nothing_happens(task: Task) -> None:
    bench = replace(task.scene.bench, store=task.store, encoder=None)
    result = await encode_document(bench, await task.run())
    assert result == {"vectors": 0, "encoder": None}
    assert task.store.calls == 0


async def test_a_document_without_words_is_done_at_once(task: Task) -> None:
    async with task.scene.bench.db.write() as conn:
        await conn.execute(chunk_table.delete())
    assert await task.fill(Counting()) == 0
