"""How papers are gathered from: other recall servers, weak evidence, groups, the talk so far, the web."""

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from kosmos.agents.literature.intents import Intent
from kosmos.domain.events import EventType
from kosmos.doubles.guest import GuestServer, listen
from kosmos.doubles.model_server import ModelServer
from kosmos.doubles.search_server import SearchServer, WebPage
from kosmos.net import Fetcher, Policy
from kosmos.tasks.literature_wishes import RecallWish
from kosmos.tools.web_search import SearchEngine, WebSearch

from .papers import Reader, cite_first, literature_talk, paper, wish
from .scene import Scene
from .talks import final, payloads


async def add(scene: Scene, *pages: int) -> tuple[str, ...]:
    made = [await scene.add(paper(f"depth{at}", pages=count), f"p{at}.md") for at, count in enumerate(pages)]
    return tuple(document.id for document, _ in made)


def _chunk(document_id: str, name: str, content: str, lines: tuple[int, int]) -> dict[str, Any]:
    return {
        "id": f"chunk-{name}",
        "content": content,
        "document_id": document_id,
        "document_keyword": name,
        "positions": [[0, 0, 0, *lines]],
        "similarity": 0.9,
    }


async def test_another_server_recalls(scene: Scene) -> None:
    """What it finds in a document of ours is cited by our lines, anything else by its address."""
    ids = await add(scene, 60)
    asked: list[Any] = []

    async def answer(request: Request) -> JSONResponse:
        asked.append(await request.json())
        ours = _chunk(ids[0], "p0.md", "not what stands there", (9, 9))
        return JSONResponse(
            {"code": 0, "data": {"chunks": [ours, _chunk("x", "far.md", "Far away.", (1, 1))]}}
        )

    listener = listen(0)
    port = listener.getsockname()[1]
    guest = GuestServer(Starlette(routes=[Route("/r", answer, methods=["POST"])]))
    await guest.start(listener)
    policy = Policy(allow_hosts=("127.0.0.1",), ports=frozenset({port}))
    fetcher = Fetcher(policy)
    try:
        recall = RecallWish(api_url=f"http://127.0.0.1:{port}/r", top_n=4, vector_similarity_weight=0.5)

        said = "The gauge is new [1]. It is far away [2]."
        async with ModelServer(Reader(literature_qa=said)) as server:
            talk = await literature_talk(scene.using(fetcher=fetcher), server)
            found = await talk.answer("Gauge?", **wish(doc_ids=ids, recall=recall))
    finally:
        await guest.stop()
        await fetcher.close()
    assert (asked[0]["doc_ids"], asked[0]["vector_similarity_weight"]) == ([ids[0]], 0.5)
    by_url = {bool(item["url"]): item for item in found["citations"]}
    assert (by_url[False]["document_id"], by_url[False]["start_line"]) == (ids[0], 9)
    assert "not what stands there" not in by_url[False]["quote"]
    assert by_url[True]["quote"] == "Far away."


async def test_a_question_in_another_language_finds_weak_evidence(scene: Scene) -> None:
    ids = await add(scene, 60)
    asked = json.dumps([{"question": "潮汐 Ostend 的偏差", "doc_id": "D1"}])
    async with ModelServer(Reader(sub_question_generation=asked)) as server:
        talk = await literature_talk(scene, server)
        recall = RecallWish(similarity_threshold=0.99)
        answer = await talk.answer("偏差是多少？", **wish(doc_ids=ids, recall=recall))
    evidence = answer["details"]["evidence"]
    assert 0 < len(evidence) <= 3
    assert all(item["weak"] and item["score"] < 0.99 for item in evidence)
    assert answer["citations"]


@pytest.mark.parametrize("intent", [Intent.LITERATURE_SUMMARY, Intent.REVIEW_GENERATION])
async def test_summaries_that_do_not_fit_are_reported_in_groups(scene: Scene, intent: Intent) -> None:
    ids = await add(scene, *[1] * 5)
    long = "Problem: deep [1].\nResult: " + "much was found again " * 120 + "[2]."
    reader = Reader(document_condensed_summary=long)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask("All.", **wish(7000, doc_ids=ids, mode_type=intent))
    answer = final(events)
    family = "multi_doc_summary" if intent is Intent.LITERATURE_SUMMARY else "review_generation"
    groups = answer["details"]["groups"]
    assert 1 < groups < 5
    assert reader.count(f"{family}_synthesis") >= groups
    assert reader.asked[-1] == f"{family}_final_merge"
    assert server.peak <= 10
    told = payloads(events, EventType.DOC_SUMMARY_COMPLETE)
    assert sorted(item["done"] for item in told) == [1, 2, 3, 4, 5]
    (begun,) = payloads(events, EventType.DOC_SUMMARY_INIT)
    assert begun["total"] == 5
    assert (answer["answer"].count("| – |") > 0) is (intent is Intent.REVIEW_GENERATION)  # the table is made


async def test_each_stage_gets_its_part_of_the_talk(scene: Scene) -> None:
    ids = await add(scene, 1)
    reader = Reader(Intent.LITERATURE_QA)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        for number in range(5):
            await talk.ask(f"Question {number}?", **wish(doc_ids=ids))
        await talk.ask("What did I say first?", **wish(mode_type=Intent.SIMPLE_INTERACTION))

    def said(body: dict[str, Any]) -> list[str]:
        users = [str(item["content"]) for item in body["messages"][:-1] if item["role"] == "user"]
        return [text for text in users if text.startswith("Question")]

    pairs = list(zip(reader.asked, reader.bodies, strict=True))
    intents = [body for name, body in pairs if name == "intent_recognition"]
    answers = [body for name, body in pairs if name == "literature_qa"]
    assert said(intents[-1]) == ["Question 2?", "Question 3?"]
    assert said(answers[-1]) == ["Question 1?", "Question 2?", "Question 3?"]
    assert len(said(reader.bodies[-1])) == 5


async def test_numbers_go_on_through_a_session(scene: Scene) -> None:
    ids = await add(scene, 1)
    async with ModelServer(Reader(Intent.LITERATURE_QA)) as server:
        talk = await literature_talk(scene, server)
        first = await talk.answer("A?", **wish(doc_ids=ids))
        second = await talk.answer("B?", **wish(doc_ids=ids))
    (one,), (two,) = first["citations"], second["citations"]
    assert int(two["marker"]) > int(one["marker"])
    assert (one["start_line"], one["quote"]) == (two["start_line"], two["quote"])


async def test_the_web_is_asked_in_plain_talk(scene: Scene) -> None:
    page = WebPage("Tides today", "https://tides.example/today", "High water is at noon.")
    async with SearchServer([page]) as engine, ModelServer(Reader(simple_interaction=cite_first)) as server:
        host, port = engine.host.split(":")
        fetcher = Fetcher(Policy(allow_hosts=(host,), ports=frozenset({int(port)})))
        search = WebSearch(SearchEngine.TAVILY, "key", address=engine.address("tavily"))
        talk = await literature_talk(scene.using(fetcher=fetcher, web_search=search), server)
        without = await talk.answer("When is high water today, tides?", **wish())
        answer = await talk.answer("When is high water today, tides?", **wish(web_search=True))
        await fetcher.close()
    assert without["citations"] == []
    assert len(engine.requests) == 1
    assert [item["url"] for item in answer["citations"]] == ["https://tides.example/today"]
