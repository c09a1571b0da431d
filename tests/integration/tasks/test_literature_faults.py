"""Every fallback and every failing node: the event is told, and the end can be used."""

from dataclasses import replace
from typing import Any

import pytest

from kosmos.agents.literature.intents import Intent
from kosmos.db import documents
from kosmos.domain.events import EventType
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.errors import EngineUnavailable, InvalidInput, NotFound
from kosmos.tasks import literature

from .papers import Reader, literature_talk, paper, wish
from .scene import Scene
from .talks import final, payloads, talk_with

DOWN = Reply(status=400, content="no")


def nodes(events: Any, kind: EventType = EventType.NODE_ERROR) -> list[str]:
    return [item["node"] for item in payloads(events, kind)]


async def add(scene: Scene, *pages: int) -> tuple[str, ...]:
    made = [await scene.add(paper(f"depth{at}", pages=count), f"p{at}.md") for at, count in enumerate(pages)]
    return tuple(document.id for document, _ in made)


@pytest.mark.parametrize("said", ["I do not know", '{"intent": "SING"}', DOWN], ids=["no", "wrong", "down"])
async def test_no_intent_after_three_tries_is_plain_talk(scene: Scene, said: Any) -> None:
    ids = await add(scene, 1)
    reader = Reader(intent_recognition=lambda _: said)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("Hm?", **wish(doc_ids=ids))
    assert reader.count("intent_recognition") == 3
    assert nodes(events) == ["intent_recognition"] * 3
    answer = final(events)
    assert (answer["details"]["intent"], answer["strategy"]) == ("SIMPLE_INTERACTION", "simple_interaction")
    assert answer["details"]["fallbacks"]
    assert answer["answer"]


async def test_a_valid_intent_at_the_third_try_counts(scene: Scene) -> None:
    ids = await add(scene, 1)
    says = iter(["?", "PAPER_REVIEW or LITERATURE_QA", "It is PAPER_REVIEW."])
    reader = Reader(intent_recognition=lambda _: next(says))
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        answer = await talk.answer("Hm?", **wish(doc_ids=ids))
    assert answer["details"]["intent"] == "PAPER_REVIEW"
    assert answer["details"]["fallbacks"] == []


@pytest.mark.parametrize("said", ["none", "[]", '[{"q": 1}]', DOWN], ids=["text", "empty", "odd", "down"])
async def test_without_sub_questions_the_question_itself_is_looked_up(scene: Scene, said: Any) -> None:
    ids = await add(scene, 60)
    reader = Reader(sub_question_generation=lambda _: said)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("How did the tidal gauge of Ostend deviate?", **wish(doc_ids=ids))
    assert nodes(events) == ["sub_question_generation"]
    (call,) = payloads(events, EventType.TOOL_CALL)
    assert call["arguments"]["question"] == "How did the tidal gauge of Ostend deviate?"
    answer = final(events)
    assert answer["citations"]
    assert "sub_question_generation" in answer["details"]["fallbacks"][0]


async def test_steps_that_fail_for_ever_are_left(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await add(scene, 60)

    async def broken(*_: object) -> list[object]:
        raise EngineUnavailable("The index is on fire.")

    monkeypatch.setattr(literature.LiteratureDesk, "_ask", broken)
    asked = '[{"question": "a"}, {"question": "b"}]'
    reader = Reader(sub_question_generation=asked)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("How deep?", **wish(doc_ids=ids))
    assert len(payloads(events, EventType.TOOL_CALL)) == 6  # three steps, the answer included, times two
    assert nodes(events) == ["execution", "execution"]
    assert all(not item["ok"] for item in payloads(events, EventType.TOOL_RESULT))
    answer = final(events)
    assert "on fire" in answer["answer"]
    assert "literature_qa" not in reader.asked
    assert "execution" in answer["details"]["fallbacks"][0]


async def test_a_step_that_fails_once_is_tried_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await add(scene, 60)
    usual, failed = literature.LiteratureDesk._ask, list[str]()

    async def shaky(self: Any, tool: Any, question: str) -> Any:
        if question == "gauge of Ostend" and not failed:
            failed.append(question)
            raise EngineUnavailable("Not now.")
        return await usual(self, tool, question)

    monkeypatch.setattr(literature.LiteratureDesk, "_ask", shaky)
    asked = '[{"question": "gauge of Ostend"}, {"question": "mean deviation"}]'
    async with ModelServer(Reader(sub_question_generation=asked)) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("How deep?", **wish(doc_ids=ids))
    assert nodes(events) == []
    assert [item["ok"] for item in payloads(events, EventType.TOOL_RESULT)] == [False, True, True]
    assert final(events)["citations"]


async def test_a_document_without_text_ends_with_a_message(scene: Scene) -> None:
    ids = await add(scene, 1)
    async with scene.bench.db.read() as conn:
        document = await documents.get_document(conn, ids[0])
    assert document is not None
    assert document.canonical_sha256 is not None
    await scene.bench.blobs.remove(document.canonical_sha256)
    async with ModelServer(Reader()) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("这篇论文讲了什么？", **wish(doc_ids=ids))
    assert nodes(events) == ["request_init"]
    assert final(events)["answer"].startswith("无法处理这些文档")


@pytest.mark.parametrize("failing", [1, 3])
async def test_summaries_that_fail_are_left_out(scene: Scene, failing: int) -> None:
    ids = await add(scene, 1, 1, 1)

    def choosy(body: dict[str, Any]) -> Reply:
        bad = [f"depth{at}" for at in range(failing)]
        return DOWN if any(word in str(body) for word in bad) else Reply(content="Result: fine.")

    reader = Reader(document_condensed_summary=choosy)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("Survey.", **wish(doc_ids=ids, mode_type=Intent.LITERATURE_SUMMARY))
    assert len(payloads(events, EventType.DOC_SUMMARY_ERROR)) == failing
    progress = [
        item["progress"]
        for event in (EventType.DOC_SUMMARY_ERROR, EventType.DOC_SUMMARY_COMPLETE)
        for item in payloads(events, event)
    ]
    assert max(progress) == 1.0
    answer = final(events)
    assert answer["details"]["summaries"] == 3 - failing
    assert (reader.count("multi_doc_summary") == 1) is (failing < 3)
    assert answer["answer"].startswith("The documents could not be worked on") is (failing == 3)


async def test_what_was_gathered_stands_where_the_answer_fails(scene: Scene) -> None:
    ids = await add(scene, 1, 1)
    reader = Reader(multi_doc_summary=lambda _: DOWN, literature_qa=lambda _: DOWN)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("All.", **wish(doc_ids=ids, mode_type=Intent.LITERATURE_SUMMARY))
        assert nodes(events) == ["answer_generation"]
        summed = final(events)
        asked = await talk.answer("Gauge of Ostend?", **wish(doc_ids=ids, mode_type=Intent.LITERATURE_QA))
    for answer in (summed, asked):
        assert answer["answer"].startswith("The model could not write the answer")
        assert answer["citations"]


async def test_a_whole_paper_without_an_answer_is_an_error(scene: Scene) -> None:
    ids = await add(scene, 1)
    async with ModelServer(Reader(literature_qa=lambda _: DOWN)) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("Why?", **wish(doc_ids=ids))
    assert nodes(events) == ["answer_generation"]
    (error,) = payloads(events, EventType.ERROR)
    assert error["message"]
    assert events[-1].payload["status"] == "FAILED"


async def test_a_group_that_fails_is_left_out(scene: Scene) -> None:
    ids = await add(scene, *[1] * 6)
    long = "Problem: deep. [1]\n" + "Result: " + "much was found " * 250

    def report(body: dict[str, Any]) -> Reply:
        return DOWN if "depth0 " in str(body) else Reply(content="Report: all well.")

    reader = Reader(document_condensed_summary=long, multi_doc_summary_synthesis=report)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        more = wish(8000, doc_ids=ids, mode_type=Intent.LITERATURE_SUMMARY)
        events = await talk.ask("All.", **more)
    groups = final(events)["details"]["groups"]
    assert groups > 1
    assert reader.count("multi_doc_summary_synthesis") == groups
    assert nodes(events) == ["answer_generation"]
    assert reader.asked[-1] == "multi_doc_summary_final_merge"
    assert final(events)["answer"]


async def test_web_search_in_plain_talk(scene: Scene) -> None:
    reader = Reader()
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("News?", **wish(web_search=True))
    assert nodes(events) == ["web_search"]
    assert final(events)["answer"]
    assert reader.asked == ["simple_interaction"]


async def test_an_agent_of_another_workflow_takes_no_documents(scene: Scene) -> None:
    ids = await add(scene, 1)
    talk = await talk_with(scene, name="loop")
    with pytest.raises(InvalidInput, match="workflow"):
        await talk.ask("?", **wish(doc_ids=ids))
    stranger = await scene.person("zoe")
    other = await talk_with(replace(scene, owner=stranger), workflow="literature", name="z")
    with pytest.raises(NotFound):
        await other.ask("?", **wish(doc_ids=ids))
