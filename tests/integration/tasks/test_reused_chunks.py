"""What a new version leaves as it was keeps its chunks: their ids, their summaries, their rows."""

import random

import pytest

from kosmos.db.tables import chunk
from kosmos.domain.chunks import Chunk
from kosmos.domain.jobs import Job

from .scene import Scene

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
WORDS = ["valve", "pump", "motor", "shaft", "gear", "oil", "pressure", "bearing", "filter", "sensor", "rotor"]
WORDS += ["seal", "cooling", "泵", "阀门", "轴承"]


def _sections(*names: str) -> str:
    return "\n\n".join([*(f"## {name}\n\nWords about {name} and more." for name in names), "## The end"])


async def _chunked(scene: Scene, document_id: str) -> Job:
    jobs = [job for job in await scene.jobs(document_id) if job.type == "chunking"]
    return jobs[-1]


async def _summarize(scene: Scene, chunk_id: str, summary: str) -> None:
    async with scene.bench.db.write() as conn:
        await conn.execute(chunk.update().where(chunk.c.id == chunk_id).values(summary=summary))


def _by_text(chunks: list[Chunk]) -> dict[str, Chunk]:
    return {item.raw_content.strip(): item for item in chunks}


async def test_unchanged_sections_keep_their_chunks(scene: Scene) -> None:
    document, _ = await scene.add(_sections("one", "two", "three", "four"))
    before = _by_text(await scene.chunks(document.id))
    kept = before["Words about three and more."]
    await _summarize(scene, kept.id, "What a model said of three.")

    text = _sections("one", "new", "three", "four").replace("about four", "about 4")
    newer, _ = await scene.add(text)
    after = _by_text(await scene.chunks(document.id))
    same = {found for found, item in after.items() if found in before and before[found].id == item.id}
    assert same == {
        "## one",
        "Words about one and more.",
        "## three",
        "Words about three and more.",
        "## four",
        "## The end",
    }
    assert after["Words about three and more."].summary == "What a model said of three."
    assert {item.generation for item in after.values()} == {newer.live_generation} == {2}
    fresh = {item.id for item in after.values()} - {item.id for item in before.values()}
    assert len(fresh) == 3
    assert (await _chunked(scene, document.id)).result == {"generation": 2, "chunks": 9, "reused": 6}

    rows = {row.pk: row for row in await scene.rows()}
    assert rows[kept.id].fields["summary"] == "What a model said of three."
    assert rows[kept.id].fields["generation"] == 2
    assert [found.strip() for found in await scene.found("three")] == ["Words about three and more."]
    assert (await scene.found("4 more"))[0].strip() == "Words about 4 and more."
    assert not [text for text in await scene.found("two") if "two" in text]
    await scene.check_served(text)
    await scene.check_tidy()


async def test_sections_that_move_keep_their_chunks_where_they_now_stand(scene: Scene) -> None:
    document, _ = await scene.add(_sections("one", "two", "three"))
    before = {item.id: item.raw_content.strip() for item in await scene.chunks(document.id)}
    await scene.add("A word before all.\n\n" + _sections("three", "one", "two"))
    after = await scene.chunks(document.id)
    assert {item.id: item.raw_content.strip() for item in after[1:]} == before
    assert [item.position for item in after] == list(range(8))
    assert [item.start_line for item in after] == [1, 3, 5, 7, 9, 11, 13, 15]
    hits = await scene.found("two")
    assert hits[0].strip() == "Words about two and more."
    await scene.check_tidy()


async def test_the_same_words_under_another_heading_are_another_chunk(scene: Scene) -> None:
    document, _ = await scene.add("# A\n\nSame words.")
    (_, words) = await scene.chunks(document.id)
    await scene.add("# B\n\nSame words.")
    (_, other) = await scene.chunks(document.id)
    assert words.id != other.id
    await scene.check_tidy()


async def test_a_chunk_comes_back_as_another_one(scene: Scene) -> None:
    """Its row, its summary: whatever was known of it went with the version that had it last."""
    one, two = _sections("one", "two"), _sections("one")
    document, _ = await scene.add(one)
    before = [item.id for item in await scene.chunks(document.id)]
    for text in (two, one, two, one):
        await scene.add(text)
        await scene.check_served(text)
        await scene.check_tidy()
    after = [item.id for item in await scene.chunks(document.id)]
    assert (after[:2], after[-1]) == (before[:2], before[-1])
    assert not set(after[2:4]) & set(before[2:4])


def _handbook(lines: int) -> list[str]:
    """A document of headings, paragraphs of a few lines, lists and tables, as handbooks are written."""
    rng = random.Random(7)
    made: list[str] = []
    while len(made) < lines:
        if len(made) % 60 < 6:
            made += [f"## Section {len(made)}: {' '.join(rng.sample(WORDS, 3))}", ""]
        kind = rng.randrange(4)
        count = rng.randrange(3, 9)
        start = {0: "- ", 1: "| "}.get(kind, "")
        end = " | 1 |" if kind == 1 else ""
        made += [f"{start}{' '.join(rng.choices(WORDS, k=rng.randrange(8, 16)))}{end}" for _ in range(count)]
        made.append("")
    return made[:lines]


def _edited(lines: list[str], at: list[int]) -> str:
    changed = list(lines)
    for number in at:
        changed[number] = f"{changed[number]} and this was edited at {number}"
    return "\n".join(changed).rstrip("\n")


@SQLITE
@pytest.mark.parametrize("how", ["together", "scattered"])
async def test_one_percent_of_the_lines_edited(scene: Scene, how: str) -> None:
    """Edits that stand together cost a few chunks; scattered ones no more than the chunk of each."""
    lines = _handbook(5000)
    document, _ = await scene.add("\n".join(lines).rstrip("\n"))
    words = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    start, step = (len(words) // 2, 1) if how == "together" else (0, len(words) // 50)
    edited = _edited(lines, words[start::step][:50])
    await scene.add(edited)
    result = (await _chunked(scene, document.id)).result or {}
    again = result["chunks"] - result["reused"]
    assert result["chunks"] > 150
    assert 0 < again <= (0.05 * result["chunks"] if how == "together" else 50)
    await scene.check_served(edited)
    await scene.check_tidy()
