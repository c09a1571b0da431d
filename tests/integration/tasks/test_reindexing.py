"""Rebuilding the index: nothing live is missing afterwards, nothing dead is left, nothing young touched."""

import pytest

from kosmos.domain.ids import new_id
from kosmos.errors import NotFound
from kosmos.retrieval.indexing import collection_of
from kosmos.store.rows import IndexRow
from kosmos.tasks.asking import search
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest

from .scene import Scene

TEXT = "# 标题\n\n证书每九十天轮换一次。\n\n# Battery\n\nThe battery lasts two years.\n"


async def test_a_lost_index_comes_back(scene: Scene) -> None:
    await scene.add(TEXT)
    await scene.bench.store.drop(collection_of(scene.space_id))
    assert await search(scene.bench, scene.owner, "battery") == []
    result = await scene.reindex()
    assert result["rows"] == await scene.bench.store.count(collection_of(scene.space_id)) > 0
    hits = await search(scene.bench, scene.owner, "证书轮换")
    assert "证书每九十天" in hits[0].text


async def test_dead_rows_go_and_young_ones_stay(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    collection = collection_of(scene.space_id)
    whole = {row.pk for row in await scene.bench.store.scan(collection)}
    old = f"00000000-0000-7{new_id()[15:]}"
    await scene.bench.store.upsert(
        collection,
        [
            IndexRow("dead", {"document_id": document.id, "generation": 1}),
            IndexRow("coming", {"document_id": document.id, "generation": 2}),
            IndexRow("young", {"document_id": new_id(), "generation": 1}),
            IndexRow("orphan", {"document_id": old, "generation": 1}),
        ],
    )
    await scene.reindex()
    left = {row.pk for row in await scene.bench.store.scan(collection)}
    assert left == whole | {"coming", "young"}


async def test_a_stranger_may_not(scene: Scene) -> None:
    stranger = await scene.person("eve")
    with pytest.raises(NotFound):
        await create_job(scene.bench, stranger, JobRequest("reindexing", space_id=scene.space_id))
