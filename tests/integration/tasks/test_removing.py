"""Removing takes everything that belongs to a thing and nothing that others need."""

import asyncio
from dataclasses import replace

import pytest

from kosmos.domain.accounts import Role
from kosmos.errors import Forbidden, NotFound
from kosmos.retrieval.indexing import collection_of
from kosmos.tasks import keeping
from kosmos.tasks.documents import get_document, list_documents, remove_document, remove_space
from kosmos.tasks.keeping import collect_garbage, release_blobs

from .scene import Scene

SHARED = "# Shared\n\nwords of two"
OWN = "# Own\n\nwords of one"


async def test_a_document_goes_with_its_rows_and_unshared_bytes(scene: Scene) -> None:
    gone, _ = await scene.add(OWN + "\n", "own.md")
    shared, _ = await scene.add(SHARED + "\n", "one.md")
    await scene.add(SHARED + "\n", "two.md")
    assert len(await scene.blobs()) == 4
    await remove_document(scene.bench, scene.owner, gone.id)
    assert len(await scene.blobs()) == 2
    await remove_document(scene.bench, scene.owner, shared.id)
    assert len(await scene.blobs()) == 2
    await scene.check_served(SHARED, "two.md")
    assert await scene.found("one") == []
    await scene.check_tidy()
    with pytest.raises(NotFound):
        await get_document(scene.bench, scene.owner, gone.id)
    with pytest.raises(NotFound):
        await remove_document(scene.bench, scene.owner, gone.id)


async def test_the_original_of_one_may_be_the_canonical_text_of_another(scene: Scene) -> None:
    crlf, _ = await scene.add(OWN.replace("\n", "\r\n"), "crlf.md")
    await scene.add(OWN, "lf.md")
    await remove_document(scene.bench, scene.owner, crlf.id)
    await scene.check_served(OWN, "lf.md")
    await scene.check_tidy()


async def test_a_space_goes_with_everything_in_it(scene: Scene) -> None:
    other = replace(scene, space_id=await scene.space(scene.owner, "other"))
    for number in range(5):
        await other.add(f"only here {number}", f"{number}.md")
    await other.add(SHARED, "shared.md")
    await scene.add(SHARED, "shared.md")
    await remove_space(scene.bench, scene.owner, other.space_id)
    assert collection_of(other.space_id) not in await scene.bench.store.collections()
    assert await other.documents() == []
    with pytest.raises(NotFound):
        await list_documents(scene.bench, scene.owner, other.space_id)
    await scene.check_served(SHARED, "shared.md")
    await scene.check_tidy()


async def test_an_empty_space_can_be_removed(scene: Scene) -> None:
    other = await scene.space(scene.owner, "other")
    await remove_space(scene.bench, scene.owner, other)
    with pytest.raises(NotFound):
        await remove_space(scene.bench, scene.owner, other)


async def test_who_may_remove(scene: Scene) -> None:
    document, _ = await scene.add(OWN)
    bob = await scene.person("bob")
    for attempt in (
        remove_document(scene.bench, bob, document.id),
        remove_space(scene.bench, bob, scene.space_id),
    ):
        with pytest.raises(NotFound):
            await attempt
    await scene.invite("bob", Role.VIEWER)
    with pytest.raises(Forbidden):
        await remove_document(scene.bench, bob, document.id)
    await scene.invite("bob", Role.EDITOR)
    with pytest.raises(Forbidden):
        await remove_space(scene.bench, bob, scene.space_id)
    await scene.check_served(OWN)
    await remove_document(scene.bench, bob, document.id)
    assert await scene.documents() == []
    await scene.check_tidy()


async def test_garbage_is_what_nobody_refers_to(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "BATCH", 8)
    await scene.add(OWN + "\n", "own.md")
    needed = await scene.blobs()
    assert await collect_garbage(scene.bench) == 0
    orphans = set(await asyncio.gather(*(scene.bench.blobs.put(b"%d" % number) for number in range(21))))
    assert await scene.blobs() == needed | orphans
    assert await collect_garbage(scene.bench) == 21
    assert await collect_garbage(scene.bench) == 0
    await scene.check_served(OWN, "own.md")
    await scene.check_tidy()


async def test_releasing_bytes_that_are_needed_or_unknown(scene: Scene) -> None:
    document, _ = await scene.add(OWN)
    assert await release_blobs(scene.bench, [document.original_sha256]) == 0
    await release_blobs(scene.bench, ["0" * 64])
    await scene.check_served(OWN)
    await scene.check_tidy()
