"""What is hidden stays hidden wherever readers look; the verbatim text is for owners, and it is whole."""

import hashlib
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

from kosmos.chunking.coverage import join_chunks
from kosmos.db import chunks as chunk_table
from kosmos.db.chunks import Layer
from kosmos.db.tables import chunk
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.redactions import dump_redactions, load_redactions, redact_range
from kosmos.errors import Forbidden, InvalidInput, NotFound
from kosmos.tasks.asking import ask, search
from kosmos.tasks.documents import get_document, read_lines
from kosmos.tasks.downloading import open_original
from kosmos.tasks.grep import Wanted, grep_documents
from kosmos.tasks.overview import list_chunks, view_document
from kosmos.tasks.reading import Place, read_place
from kosmos.tasks.rechunking import rechunk
from kosmos.tasks.verifying import verify_space

from .paged import PagedConverter
from .pointers import set_space
from .scene import Scene

SECRETS = ["jane.doe@corp.example.org", "13812345678", "11010519491231002X", "hunter2hunter2X9"]
TEXT = f"""---
author: {SECRETS[0]}
---
# Ask {SECRETS[0]} about pumps

Call {SECRETS[1]} when the blue pump leaks. 身份证号 {SECRETS[2]} 属于值班人。

## Access

The password: {SECRETS[3]}

- plain words about valves"""


@pytest.fixture
async def people(scene: Scene) -> dict[str, Principal]:
    """Members of the space, one of each role."""
    found = {"owner": scene.owner}
    for role in (Role.VIEWER, Role.EDITOR):
        found[role.value] = await scene.person(role.value)
        await scene.invite(role.value, role)
    return found


def _clean(value: object) -> None:
    """Nothing that is hidden can be seen in what was given out."""
    shown = repr(value)
    assert not [secret for secret in SECRETS if secret in shown], shown


async def _seen(scene: Scene, who: Principal, document_id: str) -> list[object]:
    """Everything that a reader can get at."""
    bench = scene.bench
    queries = ["pump leaks", "password access", "ask about pumps", *SECRETS]
    return [
        await get_document(bench, who, document_id),
        (await read_place(bench, who, document_id, Place())).lines,
        (await read_lines(bench, who, document_id)).lines,
        [replace(item, redaction=None) for item in await list_chunks(bench, who, document_id)],
        await view_document(bench, who, document_id),
        [await search(bench, who, query) for query in queries],
        [await ask(bench, who, f"What about {query}?") for query in queries],
        (await grep_documents(bench, who, Wanted(".", context=2))).matches,
        [row.fields for row in await scene.rows()],
    ]


async def test_nobody_sees_what_is_hidden_by_the_way(scene: Scene, people: dict[str, Principal]) -> None:
    document, _ = await scene.add(TEXT)
    for who in people.values():
        _clean(await _seen(scene, who, document.id))
    assert document.title == "Ask ⟦email⟧ about pumps"
    await scene.reindex()
    _clean([row.fields for row in await scene.rows()])
    for secret in SECRETS:
        found = await grep_documents(scene.bench, people["viewer"], Wanted(secret, fixed=True))
        assert found.matches == ()
        with pytest.raises(NotFound) as caught:
            await read_place(scene.bench, people["viewer"], document.id, Place(heading=secret))
        _clean(caught.value.remedy)
    # The index, too, has no term of it: what is searched for with a secret is found by other words only.
    assert await search(scene.bench, people["viewer"], "13812345678") == []


async def test_the_verbatim_text_is_whole_and_for_owners(scene: Scene, people: dict[str, Principal]) -> None:
    document, _ = await scene.add(TEXT)
    live = await scene.chunks(document.id)
    assert join_chunks(live) == TEXT
    assert hashlib.sha256(TEXT.encode()).hexdigest() == document.canonical_sha256
    assert (await verify_space(scene.bench, people["viewer"], scene.space_id)).verified == 1
    bench, owner = scene.bench, scene.owner
    lines = (await read_place(bench, owner, document.id, Place(), verbatim=True)).lines
    assert "\n".join(lines) == TEXT
    shown = await list_chunks(bench, owner, document.id, verbatim=True)
    assert join_chunks(shown) == TEXT
    wanted = Wanted(SECRETS[1], document_id=document.id, verbatim=True)
    assert [match.line for match in (await grep_documents(bench, owner, wanted)).matches] == [6]
    in_space = replace(wanted, document_id=None, space_ids=[scene.space_id])
    assert len((await grep_documents(bench, owner, in_space)).matches) == 1
    assert (await open_original(bench, owner, document.id)).size == len(TEXT.encode())
    with pytest.raises(InvalidInput, match="named places"):
        await grep_documents(bench, owner, replace(wanted, document_id=None))
    reading = replace(owner, scope=Scope.READ)
    for who in (people["viewer"], people["editor"], reading):
        refused: list[Awaitable[Any]] = [
            read_place(bench, who, document.id, Place(), verbatim=True),
            list_chunks(bench, who, document.id, verbatim=True),
            grep_documents(bench, who, wanted),
            grep_documents(bench, who, in_space),
            open_original(bench, who, document.id),
        ]
        for attempt in refused:
            with pytest.raises(Forbidden) as caught:
                await attempt
            assert caught.value.remedy


async def test_a_file_without_secrets_is_for_readers(scene: Scene, people: dict[str, Principal]) -> None:
    document, _ = await scene.add("# Pumps\n\nThey are blue.")
    assert (await open_original(scene.bench, people["viewer"], document.id)).size > 0


async def test_a_file_that_nobody_has_looked_at_yet_is_for_owners(
    scene: Scene, people: dict[str, Principal]
) -> None:
    added = await scene.enter(TEXT)
    with pytest.raises(Forbidden):
        await open_original(scene.bench, people["viewer"], added.document.id)
    await set_space(scene, {"redaction": "off"})
    assert (await open_original(scene.bench, people["viewer"], added.document.id)).size > 0


async def test_quotes_stand_in_what_readers_see(scene: Scene, people: dict[str, Principal]) -> None:
    await scene.add(TEXT)
    answer = await ask(scene.bench, people["viewer"], "Who is called when the blue pump leaks?")
    assert any("⟦phone⟧" in citation.quote for citation in answer.citations)
    for citation in answer.citations:
        place = Place(start=citation.start_line, end=citation.end_line)
        reading = await read_place(scene.bench, people["viewer"], citation.document_id, place)
        assert citation.quote in "\n".join(reading.lines)


async def test_the_space_says_what_is_hidden(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    for setting, seen in ((["phone"], {0, 2, 3}), ("off", {0, 1, 2, 3}), ("on", set[int]())):
        await set_space(scene, {"redaction": setting})
        await rechunk(scene.bench, scene.owner, document.id, {})
        await scene.work()
        shown = repr(await _seen(scene, scene.owner, document.id))
        assert {number for number, secret in enumerate(SECRETS) if secret in shown} == seen
        assert (await verify_space(scene.bench, scene.owner, scene.space_id)).faults == ()
        await scene.check_served(TEXT)
    await scene.check_tidy()


async def test_what_repeats_over_pages_is_hidden(scene: Scene) -> None:
    """Running lines that a converter has left in; the first stays."""
    paged = scene.using(converter=PagedConverter())
    pages = [f"Acme Pumps Handbook\n\nWords of page {n} about valve {n * 7}.\n\n- {n} -" for n in range(1, 6)]
    document, _ = await paged.add("\f".join(pages), "a.pdf")
    shown = (await read_place(scene.bench, scene.owner, document.id, Place())).lines
    assert shown.count("Acme Pumps Handbook") == 1
    assert [line for line in shown if line.startswith("- ")] == [f"- {n} -" for n in range(1, 6)]
    assert sum("Acme" in row.fields["text"] for row in await scene.rows()) == 1
    assert (await verify_space(scene.bench, scene.owner, scene.space_id)).faults == ()


async def _hide(scene: Scene, document_id: str, line: int) -> None:
    """Let the chunk of a line hide it, as a model would."""
    (there,) = [item for item in await scene.chunks(document_id) if item.start_line <= line <= item.end_line]
    item = redact_range(line, line, kind="private", reason="an illness", source="model")
    layer = dump_redactions([*load_redactions(there.redaction), item])
    async with scene.bench.db.write() as conn:
        await conn.execute(chunk.update().where(chunk.c.id == there.id).values(redaction=layer))


async def test_what_a_model_has_hidden_stays_hidden_in_later_versions(scene: Scene) -> None:
    """By structure, which has no model; where the line now stands, and however the chunks are cut."""
    text = "# Duty\n\nJane is ill this week.\n\nThe pump runs."
    document, _ = await scene.add(text)
    await _hide(scene, document.id, 3)
    newer = "# News\n\nA line more.\n\n# Duty\n\nThe pump runs.\n\nJane is ill this week.\n\nThe end."
    await scene.add(newer)
    shown = (await read_place(scene.bench, scene.owner, document.id, Place())).lines
    assert shown == (
        "# News",
        "",
        "A line more.",
        "",
        "# Duty",
        "",
        "The pump runs.",
        "",
        "⟦private⟧",
        "",
        "The end.",
    )
    assert not [item for item in await scene.chunks(document.id) if "ill" in item.summary]
    assert not [row for row in await scene.rows() if "ill" in row.fields["text"]]
    await scene.check_served(newer)


async def test_an_old_summary_does_not_tell_what_is_hidden_now(scene: Scene) -> None:
    await set_space(scene, {"redaction": "off"})
    document, _ = await scene.add(f"# A\n\nCall {SECRETS[1]} now.\n\n# B\n\nWords stay.")
    (_, told, _, kept) = await scene.chunks(document.id)
    async with scene.bench.db.write() as conn:
        for item, summary in ((told, f"Whom to call: {SECRETS[1]}"), (kept, "What a model said.")):
            await conn.execute(chunk.update().where(chunk.c.id == item.id).values(summary=summary))
    await set_space(scene, {"redaction": "on"})
    await rechunk(scene.bench, scene.owner, document.id, {})
    await scene.work()
    (_, told, _, kept) = await scene.chunks(document.id)
    assert (told.summary, kept.summary) == ("Call ⟦phone⟧ now.", "What a model said.")


async def test_a_version_that_comes_between_shows_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of one version under the layer of another would show what the first one hides."""
    document, _ = await scene.add(TEXT)
    await scene.add(TEXT, "same.md")  # so that the bytes stay when the first document no longer needs them
    inner, switched = chunk_table.live_layers, False

    async def switch(conn: Any, ids: Any) -> dict[str, Layer]:
        nonlocal switched
        if not switched:
            switched = True
            await scene.add("Nothing to hide.")
        return await inner(conn, ids)

    for look in (
        lambda: read_place(scene.bench, scene.owner, document.id, Place()),
        lambda: grep_documents(scene.bench, scene.owner, Wanted(".")),
    ):
        await scene.add(TEXT)
        switched = False
        with monkeypatch.context() as patch:
            patch.setattr(chunk_table, "live_layers", switch)
            _clean(await look())
        assert switched
