"""Lines, searches and answers, for those who may have them."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kosmos.db.chunks import insert_chunks
from kosmos.domain.accounts import Role, Scope
from kosmos.errors import DataLost, Forbidden, InvalidInput, NotFound
from kosmos.retrieval.indexing import collection_of
from kosmos.tasks import documents
from kosmos.tasks.asking import ask, search
from kosmos.tasks.documents import find_document, list_documents, read_lines

from .scene import Scene

TEXT = """---
title: Manual
---
# Manual

Backups run nightly.
They are kept thirty days.

## 安装

请先停止数据库服务。然后运行脚本。"""
LINES = TEXT.split("\n")


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.integers(-2, len(LINES) + 3), end=st.none() | st.integers(-2, len(LINES) + 3))
async def test_any_range_of_lines(scene: Scene, start: int, end: int | None) -> None:
    document, _ = await scene.add(TEXT + "\n")
    last = len(LINES) if end is None else end
    if start < 1 or last < start - 1:
        with pytest.raises(InvalidInput) as caught:
            await read_lines(scene.bench, scene.owner, document.id, start=start, end=end)
        assert caught.value.remedy
    else:
        found = await read_lines(scene.bench, scene.owner, document.id, start=start, end=end)
        assert found.lines == tuple(line for at, line in enumerate(LINES, 1) if start <= at <= last)
        assert (found.start_line, found.document.id) == (start, document.id)


async def test_at_most_so_many_lines_at_a_time(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_LINES", 50)
    document, _ = await scene.add("\n".join(str(number) for number in range(1, 151)))
    assert document.line_count == 150
    found = await read_lines(scene.bench, scene.owner, document.id, start=11)
    assert (found.lines[0], found.lines[-1], len(found.lines)) == ("11", "60", 50)


async def test_lost_bytes_are_reported(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    await scene.bench.blobs.remove(document.original_sha256)
    with pytest.raises(DataLost) as caught:
        await read_lines(scene.bench, scene.owner, document.id)
    assert caught.value.remedy


async def test_documents_are_found_by_name_or_id(scene: Scene) -> None:
    document, _ = await scene.add(TEXT, "docs/manual.md")
    for name, space in ((document.id, None), ("docs/manual.md", None), ("docs/manual.md", scene.space_id)):
        assert await find_document(scene.bench, scene.owner, name, space=space) == document
    for name in ("manual.md", "", "docs/manual.md\x01"):
        with pytest.raises(NotFound) as caught:
            await find_document(scene.bench, scene.owner, name)
        assert caught.value.remedy


async def test_every_citation_checks_out_against_the_lines(scene: Scene) -> None:
    await scene.add("# Noise\n\nNothing of interest here.", "noise.md")
    document, _ = await scene.add(TEXT.replace("\n", "\r\n") + "\r\n")
    for question in ("How long are backups kept?", "运行脚本之前要做什么？", "数据库"):
        answer = await ask(scene.bench, scene.owner, question)
        assert answer.citations
        for citation in answer.citations:
            assert citation.document_id == document.id
            start, end = citation.start_line, citation.end_line
            found = await read_lines(scene.bench, scene.owner, citation.document_id, start=start, end=end)
            assert citation.quote in "\n".join(found.lines)
            assert f"[{citation.marker}]" in answer.answer


async def test_what_is_not_in_the_documents_is_not_answered(scene: Scene) -> None:
    await scene.add(TEXT)
    for question, plain in (
        ("Where is Atlantis?", "Nothing"),
        ("亚特兰蒂斯", "没有找到"),
        ("title: Manual?", ""),
    ):
        answer = await ask(scene.bench, scene.owner, question)
        assert answer.answer.startswith(plain)
        assert all("title:" not in citation.quote for citation in answer.citations)


async def test_a_hit_is_an_exact_range_of_lines(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    hits = await search(scene.bench, scene.owner, "backups")
    assert [(hit.document_id, hit.start_line, hit.end_line) for hit in hits] == [(document.id, 6, 8)]
    assert hits[0].text == "\n".join(LINES[5:8])
    assert (hits[0].title, hits[0].source) == ("Manual", "a.md")
    assert hits[0].routes["sparse_vector"].rank == 1


async def test_k_hits_at_most_and_best_first(scene: Scene) -> None:
    for number in range(15):
        await scene.add(f"# {number}\n\n" + "whale " * (1 + number % 5) + "and more words", f"{number}.md")
    every = await search(scene.bench, scene.owner, "whale", k=1000)
    assert len(every) == 15
    assert [hit.score for hit in every] == sorted((hit.score for hit in every), reverse=True)
    for k in (1, 7, 15):
        assert await search(scene.bench, scene.owner, "whale", k=k) == every[:k]


async def test_limits_of_a_search(scene: Scene) -> None:
    for query, k in (("x" * 2**20, 10), ("x", 0), ("x", 100_000)):
        with pytest.raises(InvalidInput):
            await search(scene.bench, scene.owner, query, k=k)


async def test_only_spaces_that_the_caller_may_see_are_searched(scene: Scene) -> None:
    bob = await scene.person("bob")
    mine = replace(scene, owner=bob, space_id=await scene.space(bob, "bobs"))
    await scene.add("# Ada\n\nsecret whales of ada")
    await mine.add("# Bob\n\nsecret whales of bob")
    assert await scene.found("whales") == ["secret whales of ada"]
    assert await mine.found("whales") == ["secret whales of bob"]
    for who, space_id in ((bob, scene.space_id), (scene.owner, mine.space_id)):
        with pytest.raises(NotFound):
            await search(scene.bench, who, "whales", space_ids=[space_id])
        with pytest.raises(NotFound):
            await ask(scene.bench, who, "whales", space_ids=[space_id])
        with pytest.raises(NotFound):
            await list_documents(scene.bench, who, space_id)
    await scene.invite("bob", Role.VIEWER)
    assert sorted(await mine.found("whales")) == ["secret whales of ada", "secret whales of bob"]
    (hit,) = await search(scene.bench, bob, "whales", space_ids=[scene.space_id])
    assert hit.text == "secret whales of ada"
    assert await search(scene.bench, bob, "whales", space_ids=[]) == []


async def test_lines_only_for_those_who_may_read(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    bob = await scene.person("bob")
    for attempt in (
        read_lines(scene.bench, bob, document.id),
        find_document(scene.bench, bob, document.id),
        find_document(scene.bench, bob, "a.md", space=scene.space_id),
    ):
        with pytest.raises(NotFound):
            await attempt
    await scene.invite("bob", Role.VIEWER)
    reader = replace(bob, scope=Scope.READ)
    assert (await read_lines(scene.bench, reader, document.id)).lines == tuple(LINES)


async def test_only_the_live_generation_is_shown(scene: Scene) -> None:
    """A generation that is being built has chunks and rows before it is live."""
    document, _ = await scene.add("# Head\n\nlive whales")
    (row,) = [row for row in await scene.rows() if row.fields["node_type"] == "content"]
    coming = [
        replace(chunk, id=f"coming-{chunk.position}", parent_id=None, generation=2)
        for chunk in await scene.chunks(document.id)
    ]
    async with scene.bench.db.write() as conn:
        await insert_chunks(conn, coming, scene.bench.clock())
    await scene.bench.store.upsert(collection_of(scene.space_id), [replace(row, pk="coming-1")])
    (hit,) = await search(scene.bench, scene.owner, "whales")
    assert hit.chunk_id == row.pk
    assert len(await scene.chunks(document.id)) == 2


async def test_a_row_in_a_foreign_index_is_not_shown(scene: Scene) -> None:
    """Even if rows of one space came into the index of another, their chunks stay where they belong."""
    bob = await scene.person("bob")
    mine = replace(scene, owner=bob, space_id=await scene.space(bob, "bobs"))
    await scene.add("# Ada\n\nsecret whales of ada")
    await mine.add("# Bob\n\nnothing")
    await scene.bench.store.upsert(collection_of(mine.space_id), await scene.rows())
    assert await mine.found("whales") == []


async def test_a_viewer_may_not_add(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> None:
    from kosmos.tasks.folders import add_paths

    bob = await scene.person("bob")
    await scene.invite("bob", Role.VIEWER)
    folder = tmp_path_factory.mktemp("docs")
    (folder / "a.md").write_text("words")
    with pytest.raises(Forbidden):
        await add_paths(scene.bench, bob, scene.space_id, [folder], on_step=lambda *_: None)
    reader = replace(scene.owner, scope=Scope.READ)
    with pytest.raises(Forbidden):
        await add_paths(scene.bench, reader, "default", [folder], on_step=lambda *_: None)
    assert await scene.documents() == []
