"""Another encoder for a space: its vectors are made beside the old ones, and never mix with them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from kosmos.db import space_encoders as table
from kosmos.doubles.encoders import embed
from kosmos.encoders.contract import Encoder
from kosmos.encoders.shelf import EncoderShelf
from kosmos.errors import ConfigError, InvalidInput, ProviderUnavailable
from kosmos.retrieval.indexing import collection_of, dense_texts
from kosmos.retrieval.routes import DENSE, TEXT_DENSE
from kosmos.retrieval.search import Wanted
from kosmos.store.rows import Dense
from kosmos.tasks import asking
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest

from .scene import Crash, Scene

TEXTS = {f"{number}.md": f"# Pump {number}\n\nThe pump 泵 number {number} is blue.\n" for number in range(6)}


class Named:
    """An encoder whose vectors tell its name; it may fail, or stop the machine, at a text."""

    def __init__(self, name: str, dimension: int = 8, *, fault: BaseException | None = None) -> None:
        self.name, self.dimension = name, dimension
        self.fault, self.asked = fault, 0

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        if self.fault is not None and self.asked > 4:
            fault, self.fault = self.fault, None
            raise fault
        self.asked += len(texts)
        return np.array([embed(self.name + text, self.dimension) for text in texts], np.float32)

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        return np.array([embed(self.name + text, self.dimension) for text in texts], np.float32)

    async def close(self) -> None:
        pass


@pytest.fixture
async def filled(scene: Scene) -> Scene:
    """A space with the vectors of `old`."""
    known = {"new": Named("new"), "wide": Named("wide", 16)}

    async def open_known(setting: str) -> Encoder | None:
        if setting not in known:
            raise ConfigError(f"There is no encoder {setting}.")
        return known[setting]

    full = scene.using(encoder=Named("old"), encoder_setting="old", encoders=EncoderShelf(open_known))
    for name, text in TEXTS.items():
        await full.add(text, name)
    return full


async def _check(scene: Scene, name: str, dimension: int = 8) -> None:
    rows = await scene.bench.store.scan(collection_of(scene.space_id))
    assert rows
    for row in rows:
        texts = dense_texts(row.fields)
        assert row.dense.keys() == texts.keys()
        for route, vector in row.dense.items():
            np.testing.assert_allclose(vector, embed(name + texts[route], dimension), atol=1e-6)
    async with scene.bench.db.read() as conn:
        chosen = await table.get_encoder(conn, scene.space_id)
    assert chosen is not None
    assert chosen.name == name


async def test_what_was_added_has_vectors_of_the_encoder_of_the_instance(filled: Scene) -> None:
    await _check(filled, "old")


@pytest.mark.parametrize(("name", "dimension"), [("new", 8), ("wide", 16)])
async def test_after_the_change_all_vectors_are_new(filled: Scene, name: str, dimension: int) -> None:
    result = await filled.reindex(encoder=name)
    rows = await filled.bench.store.count(collection_of(filled.space_id))
    assert result == {"encoder": name, "vectors": rows}
    await _check(filled, name, dimension)
    await filled.add("# Later\n\nA document that comes later.\n", "later.md")
    await _check(filled, name, dimension)
    found = await asking.find(filled.bench, filled.owner, Wanted("blue pump"))
    assert not found.warnings
    assert TEXT_DENSE in {route for hit in found.hits for route in hit.routes}


@pytest.mark.parametrize("fault", [ProviderUnavailable("down"), Crash()])
async def test_search_goes_on_with_the_old_ones_until_all_are_made(
    filled: Scene, fault: BaseException
) -> None:
    new = Named("faulty", fault=fault)

    async def open_new(_setting: str) -> Encoder | None:
        return new

    scene = filled.using(encoders=EncoderShelf(open_new))
    request = JobRequest("reencoding", space_id=scene.space_id, context={"encoder": "faulty"})
    await create_job(scene.bench, scene.owner, request)
    with suppress(Crash):
        await scene.work(1)
    await _check(scene, "old")
    before = new.asked
    scene.later(3600)
    await scene.work()
    await _check(scene, "faulty")
    assert new.asked <= before + 2 * len(TEXTS) * 2  # what was made before is not made again
    assert before > 0


async def test_none_takes_the_vectors_away(filled: Scene) -> None:
    assert await filled.reindex(encoder="none") == {"encoder": None, "vectors": 0}
    stats = await filled.bench.store.stats(collection_of(filled.space_id))
    assert not any(stats.filled.get(route) for route in DENSE)
    await filled.add("# Later\n\nA document that comes later.\n", "later.md")
    assert not any((await filled.bench.store.stats(collection_of(filled.space_id))).filled.values())


async def test_an_encoder_that_is_gone_leaves_the_words(filled: Scene) -> None:
    other = filled.using(encoder=Named("new"), encoder_setting="new")
    found = await asking.find(other.bench, other.owner, Wanted("blue pump"))
    assert found.hits
    assert any("Searched by words only: There is no encoder old." in text for text in found.warnings)
    changed = filled.using(
        encoder=None, encoders=EncoderShelf(lambda _setting: _give(Named("old, second edition")))
    )
    found = await asking.find(changed.bench, changed.owner, Wanted("blue pump"))
    assert any("were made by old" in text for text in found.warnings)


async def _give(encoder: Encoder) -> Encoder | None:
    return encoder


@pytest.mark.parametrize("setting", ["", "/etc", "~/models", None, 3, "x" * 300])
async def test_folders_of_the_machine_are_not_given_by_just_anybody(filled: Scene, setting: object) -> None:
    request = JobRequest("reencoding", space_id=filled.space_id, context={"encoder": setting})
    with pytest.raises(InvalidInput):
        await create_job(filled.bench, filled.owner, request)


async def test_reindexing_keeps_vectors(filled: Scene) -> None:
    encoder = Named("old", fault=AssertionError("nothing is encoded again"))
    encoder.asked = 100
    await replace(filled, bench=replace(filled.bench, encoder=encoder)).reindex()
    await _check(filled, "old")
