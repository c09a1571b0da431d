"""The proof of what was said: every stored quote stands in the lines it names; what is gone is no fault."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from kosmos.db.tables_agents import chat_message, event
from kosmos.tasks import verifying_answers
from kosmos.tasks.documents import remove_document
from kosmos.tasks.verifying import Verification
from kosmos.tasks.verifying_answers import verify_answers

from .scene import Scene
from .talks import PUMP, talk_with

QUESTIONS = ("How often must the blue pump be oiled?", "叶子证书多久轮换一次？", "What does alarm 17 mean?")


async def _told(scene: Scene) -> str:
    """Three answers by quotes; the id of the document that they cite."""
    document, _ = await scene.add(PUMP, "pump.md")
    talk = await talk_with(scene)
    for question in QUESTIONS:
        assert (await talk.answer(question))["citations"]
    return document.id


async def _change(
    scene: Scene, table: sa.Table, column: str, change: Callable[[dict[str, Any]], None]
) -> None:
    """Change the first stored citation by hand."""
    async with scene.bench.db.write() as conn:
        for row in (await conn.execute(sa.select(table))).mappings():
            body = row[column]
            if body.get("citations"):
                change(body["citations"][0])
                same = sa.and_(*(key == row[key.name] for key in table.primary_key.columns))
                await conn.execute(table.update().where(same).values({column: body}))
                return
    raise AssertionError("nothing is cited")


async def test_true_quotes_are_counted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await verify_answers(scene.bench) == Verification()
    await _told(scene)
    found = await verify_answers(scene.bench)
    assert found.citations >= 2 * len(QUESTIONS)  # in the messages, and in the events
    assert (found.gone, found.faults) == (0, ())
    monkeypatch.setattr(verifying_answers, "PAGE", 1)
    assert await verify_answers(scene.bench) == found
    assert await verify_answers(scene.bench, owner_id=scene.owner.user.id) == found
    assert await verify_answers(scene.bench, space_ids=[scene.space_id]) == found
    assert await verify_answers(scene.bench, owner_id="somebody else") == Verification()
    assert await verify_answers(scene.bench, space_ids=["another"]) == Verification()


BREAKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "another word": lambda item: item.update(quote=f"{item['quote']} not"),
    "other lines": lambda item: item.update(start_line=1, end_line=1),
    "no such lines": lambda item: item.update(start_line=900, end_line=901),
    "backwards": lambda item: item.update(start_line=item["end_line"] + 1),
    "no words": lambda item: item.update(quote=""),
    "no number": lambda item: item.update(start_line="x"),
}


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize(("table", "column"), [(chat_message, "metadata"), (event, "payload")], ids=str)
async def test_a_false_quote_is_found(scene: Scene, name: str, table: sa.Table, column: str) -> None:
    document = await _told(scene)
    before = await verify_answers(scene.bench)
    await _change(scene, table, column, BREAKS[name])
    found = await verify_answers(scene.bench)
    (fault,) = found.faults
    assert (fault.document_id, fault.check) == (document, "citation")
    assert fault.remedy
    assert found.citations == before.citations


async def test_what_was_replaced_or_removed_is_gone(scene: Scene) -> None:
    document = await _told(scene)
    before = await verify_answers(scene.bench)
    await scene.add(PUMP.replace("blue", "violet"), "pump.md")
    replaced = await verify_answers(scene.bench)
    assert (replaced.citations, replaced.gone, replaced.faults) == (0, before.citations, ())
    await remove_document(scene.bench, scene.owner, document)
    assert await verify_answers(scene.bench) == replaced


async def test_what_the_web_said_and_what_is_no_citation_is_passed_over(scene: Scene) -> None:
    await _told(scene)
    before = await verify_answers(scene.bench)
    await _change(scene, chat_message, "metadata", lambda item: item.update(url="https://example.org/"))
    assert (await verify_answers(scene.bench)).citations == before.citations - 1
    for odd in ("none", [1, None], {"a": 1}):
        async with scene.bench.db.write() as conn:
            await conn.execute(chat_message.update().values(metadata={"citations": odd}))
        assert (await verify_answers(scene.bench)).faults == ()
