"""Adding: versions, generations, names, shared bytes."""

import hashlib
from dataclasses import replace

import pytest
import sqlalchemy as sa

from kosmos.db.tables import chunk, document_version
from kosmos.domain.chunks import ChunkType
from kosmos.errors import InvalidInput
from kosmos.tasks.adding import Outcome, Source, add_document
from kosmos.tasks.documents import read_lines
from kosmos.tasks.jobs import create_job
from kosmos.tasks.preflight import JobRequest

from .scene import Scene

ONE = "# Title\n\nFirst version.\n\n## Part\n\nMore words."
TWO = "# Title\n\nSecond version, rewritten."


async def test_a_new_document(scene: Scene) -> None:
    document, outcome = await scene.add(ONE + "\n")
    assert outcome is Outcome.ADDED
    assert (document.version, document.live_generation, document.line_count) == (1, 1, 7)
    assert (document.title, document.source, document.filetype) == ("Title", "a.md", "markdown")
    assert document.original_sha256 == hashlib.sha256((ONE + "\n").encode()).hexdigest()
    assert await scene.documents() == [document]
    chunks = await scene.chunks(document.id)
    assert [(chunk.type, chunk.start_line) for chunk in chunks] == [
        (ChunkType.HEADING, 1),
        (ChunkType.CONTENT, 3),
        (ChunkType.HEADING, 5),
        (ChunkType.CONTENT, 7),
    ]
    assert [chunk.parent_id for chunk in chunks] == [None, chunks[0].id, chunks[0].id, chunks[2].id]
    await scene.check_served(ONE)
    await scene.check_tidy()


async def test_the_same_bytes_change_nothing(scene: Scene) -> None:
    document, _ = await scene.add(ONE)
    rows = await scene.rows()
    again, outcome = await scene.add(ONE)
    assert (again, outcome) == (document, Outcome.UNCHANGED)
    assert await scene.rows() == rows
    await scene.check_tidy()


async def test_new_bytes_are_a_new_version_of_the_same_document(scene: Scene) -> None:
    document, _ = await scene.add(ONE)
    title, *old = [row.pk for row in sorted(await scene.rows(), key=lambda row: str(row.fields["text"]))]
    newer, outcome = await scene.add(TWO)
    assert outcome is Outcome.UPDATED
    assert (newer.id, newer.version, newer.live_generation) == (document.id, 2, 2)
    assert newer.created_at == document.created_at
    rows = await scene.rows()
    assert {row.pk for row in rows} & {title, *old} == {title}  # the one chunk that both versions have
    assert {row.fields["generation"] for row in rows} == {2}
    async with scene.bench.db.read() as conn:
        generations = set((await conn.execute(sa.select(chunk.c.generation))).scalars())
    assert generations == {2}
    assert await scene.found("first") == []
    assert await scene.found("rewritten") == ["Second version, rewritten."]
    await scene.check_served(TWO)
    await scene.check_tidy()


async def test_back_and_forth(scene: Scene) -> None:
    for number, text in enumerate([ONE, TWO, ONE, "", ONE], start=1):
        document, _ = await scene.add(text)
        assert (document.version, document.live_generation) == (number, number)
        await scene.check_served(text)
        await scene.check_tidy()


async def test_bytes_that_differ_only_in_line_ends_are_a_new_version_of_the_same_text(scene: Scene) -> None:
    first, _ = await scene.add(ONE)
    second, outcome = await scene.add(ONE.replace("\n", "\r\n"))
    assert outcome is Outcome.UPDATED
    assert second.canonical_sha256 == first.canonical_sha256 == first.original_sha256
    await scene.check_served(ONE)
    await scene.check_tidy()


async def test_documents_of_nothing(scene: Scene) -> None:
    for number, data in enumerate([b"", b"\n\n", b"\xef\xbb\xbf", b" "]):
        document, outcome = await scene.add(data, f"{number}.md")
        assert outcome is Outcome.ADDED
        lines = await read_lines(scene.bench, scene.owner, document.id)
        assert lines.lines == ((" ",) if data == b" " else ())
        assert document.line_count == len(lines.lines)
    await scene.check_tidy()


async def test_documents_with_the_same_bytes_share_them(scene: Scene) -> None:
    first, _ = await scene.add(ONE, "a.md")
    second, outcome = await scene.add(ONE, "b.md")
    assert outcome is Outcome.ADDED
    assert first.id != second.id
    assert len(await scene.blobs()) == 1
    await scene.check_tidy()
    await scene.add(TWO, "a.md")
    await scene.check_served(ONE, "b.md")
    await scene.check_served(TWO, "a.md")
    await scene.check_tidy()


async def test_a_name_that_is_refused_leaves_nothing_behind(scene: Scene) -> None:
    for name in ("a\x00.md", "bad\udcff.md", "x" * 5000 + ".md"):
        with pytest.raises(InvalidInput) as caught:
            await scene.enter("text", name)
        assert caught.value.remedy
    assert await scene.documents() == []
    await scene.check_tidy()


async def test_names_of_documents_that_are_called_alike(scene: Scene) -> None:
    async def add(origin: str, name: str) -> str:
        source = Source(origin, name, origin.encode())
        return (await add_document(scene.bench, scene.owner, scene.space_id, source)).document.source

    assert await add("file:///home/one/notes.md", "notes.md") == "notes.md"
    assert await add("file:///home/two/notes.md", "notes.md") == "two/notes.md"
    assert await add("file:///srv/two/notes.md", "notes.md") == "srv/two/notes.md"
    assert await add("file:///home/one/notes.md", "notes.md") == "notes.md"
    assert await add("file:///%E4%B8%80/%E8%AF%B4%E6%98%8E.md", "说明.md") == "说明.md"
    assert await add("file:///%E4%BA%8C/%E8%AF%B4%E6%98%8E.md", "说明.md") == "二/说明.md"


async def test_odd_front_matter_is_stored(scene: Scene) -> None:
    odd = [
        r'title: "a\0b"',
        r'title: "\ud800"',
        "n: 0x" + "f" * 5000,
        "n: !!int ''",
        "n: .nan",
        r'"\0": "\0"',
    ]
    for number, yaml in enumerate(odd):
        text = f"---\n{yaml}\n---\nbody"
        document, _ = await scene.add(text, f"{number}.md")
        assert (await scene.documents())[number].metadata == document.metadata
        await scene.check_served(text, f"{number}.md")


async def test_odd_text_is_stored(scene: Scene) -> None:
    text = "😀 𠮷 \ue000 \U0010ffff \u200d \u0378\n中文\tTab\n" + "x" * 200_000
    await scene.add("\x01\x0c" + text)
    await scene.check_served(" " + text)


@pytest.mark.parametrize("lost", ["original", "canonical"])
async def test_adding_again_heals_lost_bytes(scene: Scene, lost: str) -> None:
    """The remedy that `DataLost` gives: add the document again."""
    document, _ = await scene.add(ONE + "\n")
    sha256 = document.original_sha256 if lost == "original" else document.canonical_sha256
    assert sha256 is not None
    await scene.bench.blobs.remove(sha256)
    healed, _ = await scene.add(ONE + "\n")
    assert healed.id == document.id
    assert await scene.bench.blobs.read(sha256)
    await scene.check_served(ONE)
    await scene.check_tidy()


async def test_the_same_origin_in_two_spaces_is_two_documents(scene: Scene) -> None:
    await scene.add(ONE)
    other = replace(scene, space_id=await scene.space(scene.owner, "second"))
    _, outcome = await other.add(ONE)
    assert outcome is Outcome.ADDED
    await other.add(TWO)
    await scene.check_served(ONE)
    await other.check_served(TWO)
    assert len(await scene.blobs()) == 2


@pytest.mark.parametrize("how", ["newer", "same", "chunked"])
async def test_a_document_of_an_earlier_release(scene: Scene, how: str) -> None:
    """It has no row for its version; whatever is done to it makes one, or needs none."""
    document, _ = await scene.add(ONE)
    async with scene.bench.db.write() as conn:
        await conn.execute(document_version.delete())
    if how == "chunked":
        for kind, context in (("chunking", {"producer": "structure"}), ("indexing", {})):
            await create_job(scene.bench, scene.owner, JobRequest(kind, document.id, context))
            await scene.work()
        await scene.check_tidy()
        assert (await scene.documents())[0].live_generation == 2
    text = TWO if how == "newer" else ONE
    _, outcome = await scene.add(text)
    assert outcome is (Outcome.UPDATED if how == "newer" else Outcome.UNCHANGED)
    await scene.check_served(text)
