"""The proof finds whatever is broken, names it and says what to do; what is whole passes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kosmos.db.tables import chunk
from kosmos.domain.documents import Document
from kosmos.domain.ids import new_id
from kosmos.errors import NotFound
from kosmos.retrieval.indexing import collection_of
from kosmos.store.filters import And, Eq
from kosmos.store.rows import IndexRow
from kosmos.tasks import verifying
from kosmos.tasks.rechunking import rechunk
from kosmos.tasks.verifying import Verification, verify_space

from .scene import HookedStore, Scene

TEXT = "# Pumps\n\nThe blue pump. Call 13812345678.\n\n## Valves\n\n<!-- note -->\nThe red valve 阀门。"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks again does not wait."""
    monkeypatch.setattr(verifying, "WAIT_SECONDS", 0)


async def _verify(scene: Scene, **options: Any) -> Verification:
    return await verify_space(scene.bench, scene.owner, scene.space_id, **options)


def _checks(found: Verification) -> set[str]:
    return {fault.check for fault in found.faults}


async def test_what_is_whole_is_verified(scene: Scene) -> None:
    assert await _verify(scene) == Verification()
    for number, text in enumerate([TEXT, "", "one line", "\n\n\n", "x" * 30_000, "<!-- only a comment -->"]):
        await scene.add(text, f"{number}.md")
    await scene.enter("not yet worked on", "later.md")
    assert await _verify(scene) == Verification(documents=6, verified=6, waiting=1)


async def test_page_by_page(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "AT_ONCE", 2)
    for number in range(5):
        await scene.add(f"{TEXT} {number}", f"{number}.md")
    after, pages = "", []
    while True:
        page = await _verify(scene, after=after, limit=2)
        pages.append(page.verified)
        if page.next is None:
            break
        after = page.next
    assert pages == [2, 2, 1]


Break = Callable[[Scene, Document], Awaitable[None]]


def _chunk_with(position: int, **values: Any) -> Break:
    async def act(scene: Scene, document: Document) -> None:
        async with scene.bench.db.write() as conn:
            here = sa.and_(chunk.c.document_id == document.id, chunk.c.position == position)
            await conn.execute(chunk.update().where(here).values(**values))

    return act


async def _lose_chunk(scene: Scene, document: Document) -> None:
    async with scene.bench.db.write() as conn:
        await conn.execute(chunk.delete().where(chunk.c.document_id == document.id, chunk.c.position == 3))


async def _lose_text(scene: Scene, document: Document) -> None:
    await scene.bench.blobs.remove(document.canonical_sha256 or "")


async def _change_text(scene: Scene, document: Document) -> None:
    path = scene.bench.blobs._path(document.canonical_sha256)  # type: ignore[attr-defined]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes() + b"x")


async def _lose_row(scene: Scene, document: Document) -> None:
    where = And((Eq("level", 1), Eq("document_id", document.id)))
    await scene.bench.store.delete(collection_of(document.space_id), where)


async def _row(scene: Scene, document: Document) -> IndexRow:
    return next(row for row in await scene.rows() if row.fields["document_id"] == document.id)


async def _change_row(scene: Scene, document: Document) -> None:
    row = await _row(scene, document)
    changed = replace(row, fields={**row.fields, "text": "Call 13812345678."})
    await scene.bench.store.upsert(collection_of(document.space_id), [changed])


async def _add_row(scene: Scene, document: Document) -> None:
    row = await _row(scene, document)
    await scene.bench.store.upsert(collection_of(document.space_id), [IndexRow(new_id(), row.fields)])


@pytest.mark.parametrize(
    ("break_it", "checks", "words"),
    [
        (
            _chunk_with(1, raw_content="The blue pump."),
            {"fidelity", "tree", "index"},
            "the text is not that of",
        ),
        (_chunk_with(3, start_line=6), {"tree"}, "filed twice"),
        (_chunk_with(3, end_line=70), {"tree"}, "no range of this text"),
        (_chunk_with(2, level=1), {"tree"}, "cannot stand below"),
        (_chunk_with(3, parent_id=new_id()), {"tree"}, "not among the chunks before it"),
        (_chunk_with(1, summary="Lies."), {"index"}, "another text or summary of lines 3-4"),
        (_chunk_with(1, redaction={"redactions": [{}]}), {"redaction", "index"}, "cannot be read"),
        (_chunk_with(1, redaction=None), {"index"}, "another text or summary"),
        (_lose_chunk, {"fidelity", "tree", "index"}, "nothing is filed"),
        (_lose_text, {"text"}, "missing"),
        (_change_text, {"text"}, "damaged"),
        (_lose_row, {"index"}, "lines 1-2 are not in the index"),
        (_change_row, {"index"}, "another text"),
        (_add_row, {"index"}, "1 rows of chunks that are gone"),
    ],
)
async def test_whatever_is_broken_is_found(
    scene: Scene, break_it: Break, checks: set[str], words: str
) -> None:
    document, _ = await scene.add(TEXT)
    await scene.add(f"{TEXT} Another one.", "whole.md")
    await break_it(scene, document)
    found = await _verify(scene)
    assert (found.documents, found.verified) == (2, 1)
    assert {fault.document_id for fault in found.faults} == {document.id}
    assert _checks(found) == checks
    assert any(words in fault.message for fault in found.faults), found.faults
    assert all(fault.remedy for fault in found.faults)


async def test_the_remedies_help(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    await _chunk_with(1, raw_content="The blue pump.", level=5)(scene, document)
    await _add_row(scene, document)
    await rechunk(scene.bench, scene.owner, document.id, {})
    await scene.work()
    await scene.reindex()
    assert await _verify(scene) == Verification(documents=1, verified=1)


async def test_rows_of_documents_that_are_gone(scene: Scene) -> None:
    await scene.add(TEXT)
    fields = {"document_id": new_id(), "generation": 1, "text": "", "summary": ""}
    await scene.bench.store.upsert(collection_of(scene.space_id), [IndexRow(new_id(), fields)])
    scene.later(timedelta(days=365 * 9).total_seconds())  # what is young may be on its way
    found = await _verify(scene)
    assert (found.documents, found.verified, len(found.faults)) == (1, 1, 1)
    assert "1 rows of documents that are gone" in found.faults[0].message


async def test_what_is_being_worked_on_is_looked_at_again(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    late = scene.using(store=HookedStore(scene.bench.store))
    seen: list[Verification] = []

    async def look() -> None:  # the rows of the next version are there, and it is not live yet
        seen.append(await _verify(scene))

    late.bench.store.after_upsert = look  # type: ignore[attr-defined]
    await rechunk(scene.bench, scene.owner, document.id, {})
    await late.work()
    assert seen == [Verification(documents=1, verified=1)]
    assert await _verify(scene) == Verification(documents=1, verified=1)


async def test_strangers_learn_nothing(scene: Scene) -> None:
    await scene.add(TEXT)
    with pytest.raises(NotFound):
        await verify_space(scene.bench, await scene.person("eve"), scene.space_id)
