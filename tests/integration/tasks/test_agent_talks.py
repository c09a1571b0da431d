"""Talks: long ones, thoughtful ones, with models and search engines of their own, and without any model."""

import re
from dataclasses import replace
from typing import Any

import pytest

from kosmos.agents.wire import tokens_of
from kosmos.domain.accounts import Scope
from kosmos.domain.events import EventType
from kosmos.domain.sessions import MessageType
from kosmos.doubles.model_server import ModelServer, Reply, fingerprint
from kosmos.doubles.search_server import SearchServer, WebPage
from kosmos.errors import InvalidInput
from kosmos.net import Fetcher, Policy
from kosmos.sessions.budget import Budget
from kosmos.tasks import runs, sessions
from kosmos.tasks.run_models import ModelWish
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.sessions import NewSession
from kosmos.tools.web_search import SearchEngine, WebSearch

from .scene import Scene
from .talks import (
    PUMP,
    Talk,
    answering,
    as_text,
    call,
    final,
    number_of,
    own_model,
    payloads,
    said,
    search,
    talk_with,
    tool_texts,
    use_model,
)

WINDOW = 4000


def _summary(prompt: str) -> str:
    """A summary as a careful reader writes it by the headings of the prompt."""
    earlier = re.search(r"First message: (.*)", prompt.split("<data")[1])
    first = re.search(r"\[user\]\n(.*)", prompt)
    kept = earlier or first
    assert kept is not None
    return f"First message: {kept[1]}\nUser: counts things.\nFacts: many were counted [3].\nOpen: nothing."


def _counting(body: dict[str, Any]) -> Reply:
    text = "\n".join(str(item["content"]) for item in body["messages"])
    if "older part of a talk" in text:
        return Reply(content=_summary(text))
    if "What did I say first?" in str(body["messages"][-1]["content"]):
        found = re.search(r"First message: (.*)", text)
        return Reply(content=f"You said: {found[1] if found else 'I do not know'}")
    return Reply(content="我记下了。" * 6)


async def test_a_talk_of_300_messages_stays_within_its_budget(scene: Scene) -> None:
    async with ModelServer(_counting) as server:
        await use_model(scene, server, max_context_tokens=WINDOW)
        talk = await talk_with(scene, allowed_tools=[])
        await talk.ask("My name is Ada and my lucky number is 4711.")
        for number in range(149):
            await talk.ask(f"第 {number} 件事：仓库里的红色箱子有 {number} 个，请记住它们的数目和位置。")
        last = await talk.answer("What did I say first?")
        assert last["answer"] == "You said: My name is Ada and my lucky number is 4711."
        budget = Budget(WINDOW)
        for request in server.requests:
            assert sum(tokens_of(message) for message in request.body["messages"]) <= budget.prompt
    messages = await talk.messages()
    summaries = [item for item in messages if item.type is MessageType.COMPRESSION]
    active = [item for item in summaries if not item.compressed]
    assert len(summaries) >= 3
    assert len(active) == 1
    talked = [item for item in messages if item.type is not MessageType.COMPRESSION]
    assert len(talked) == 302
    assert talked[0].compressed
    assert talked[0].content.startswith("My name is Ada")
    assert not talked[-1].compressed
    assert [item.compressed for item in talked] == sorted((item.compressed for item in talked), reverse=True)
    session = await sessions.get_session(scene.bench, scene.owner, talk.session.id)
    assert session.message_count == len(messages)
    assert session.total_token_count == sum(item.token_count for item in messages)


async def test_compression_is_told_and_keeps_its_sources(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")
    numbers: list[int] = []

    def decide(body: dict[str, Any]) -> Reply:
        text = as_text(body)
        if "older part of a talk" in text:
            return Reply(content=f"Facts: the pump is oiled every 40 days [{numbers[0]}].")
        if "Summary of our talk" in text:
            return Reply(content=f"Every 40 days [{numbers[0]}].")
        if body["messages"][-1]["role"] != "tool":
            return search()
        numbers.append(number_of(body, "oiled"))
        return Reply(content=f"Every 40 days [{numbers[-1]}]. " + "字" * 3300)

    async with ModelServer(decide) as server:
        await use_model(scene, server, max_context_tokens=WINDOW)
        talk = await talk_with(scene, chat_options={"retrieve": "free"})
        await talk.ask("How often?")
        events = await talk.ask("And again?")
    (told,) = payloads(events, EventType.SESSION_COMPRESSED)
    assert told["messages"] >= 3
    assert final(events)["citations"][0]["quote"] == "The blue pump must be oiled every 40 days."


async def test_compression_without_an_answer_still_goes_on(scene: Scene) -> None:
    def decide(body: dict[str, Any]) -> Reply:
        if "older part of a talk" in as_text(body):
            return Reply(status=400)
        return Reply(content="字" * 1500)

    async with ModelServer(decide) as server:
        await use_model(scene, server, max_context_tokens=WINDOW)
        talk = await talk_with(scene, allowed_tools=[])
        for number in range(4):
            events = await talk.ask(f"question {number}")
        assert payloads(events, EventType.NODE_ERROR)
    summary = next(item for item in await talk.messages() if item.type is MessageType.COMPRESSION)
    assert summary.content.startswith("- question 0")
    assert summary.metadata["by_model"] is False


async def test_thinking_is_told_apart(scene: Scene) -> None:
    script = [search(), Reply(content="<think>Hm, 40 days?</think>Every 40 days.")]
    async with ModelServer(script) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often?")
    kinds = [event.type.value for event in events]
    start, end = kinds.index("thinking_start"), kinds.index("thinking_end")
    assert "".join(event.payload["text"] for event in events[start + 1 : end]) == "Hm, 40 days?"
    assert said(events) == final(events)["answer"] == "Every 40 days."
    assert (await talk.messages())[-1].content == "Every 40 days."


async def test_without_a_model_the_same_events_bring_quotes(scene: Scene) -> None:
    document, _ = await scene.add(PUMP, "pump.md")
    talk = await talk_with(scene)
    events = await talk.ask("How often must the blue pump be oiled?")
    answer = final(events)
    assert answer["strategy"] == "extractive"
    assert said(events) == answer["answer"]
    (item, *_) = answer["citations"]
    assert item["quote"] == "The blue pump must be oiled every 40 days."
    assert (item["document_id"], item["version"]) == (document.id, document.version)
    again = await talk.answer("叶子证书多久轮换一次？")
    assert again["answer"].startswith("摘自原文")
    assert int(again["citations"][0]["marker"]) > int(item["marker"])
    nothing = await talk.answer("Who won the cup in 1962?")
    assert nothing["citations"] == []


async def test_the_first_question_gives_the_title(scene: Scene) -> None:
    def decide(body: dict[str, Any]) -> Reply:
        if "Give a title" in as_text(body):
            return Reply(content="“Oil of the pump”\n")
        return Reply(content="Every 40 days.", delay=0.3)

    async with ModelServer(decide) as server:
        await use_model(scene, server)
        made = await talk_with(scene, allowed_tools=[])
        new = NewSession(agent=made.agent.id)
        talk = Talk(scene, made.agent, await sessions.create_session(scene.bench, scene.owner, new))
        events = await talk.ask("How often is the pump oiled?")
    assert payloads(events, EventType.SESSION_TITLE) == [{"title": "Oil of the pump"}]
    session = await sessions.get_session(scene.bench, scene.owner, talk.session.id)
    assert session.title == "Oil of the pump"


async def test_a_request_may_bring_its_own_model(scene: Scene) -> None:
    async with ModelServer([Reply(content="Mine.", repeat=True)]) as server:
        talk = await talk_with(scene, allowed_tools=[])
        wish = own_model(server, openai_api_key="sk-mine", max_context_tokens=9000)
        assert (await talk.answer("Who?", model=wish))["answer"] == "Mine."
        assert server.requests[0].headers["authorization"] == fingerprint("Bearer sk-mine")
        assert server.requests[0].body["model"] == "scripted"
        with pytest.raises(InvalidInput):
            await talk.start("Who?", model=replace(wish, max_context_tokens=5))
        with pytest.raises(InvalidInput):
            await talk.start("Who?", model=ModelWish(openai_api_base=server.base_url))
        # Who may not store credentials may not send the server to private addresses either.
        limited = replace(scene.owner, scope=Scope.WRITE)
        run = await runs.start_run(scene.bench, limited, talk.session.id, RunWish("Who?", wish))
        events = await talk.follow(run.id)
        assert events[-1].payload["status"] == "FAILED"
        assert len(server.requests) == 1


async def test_an_agent_may_name_its_model(scene: Scene) -> None:
    async with ModelServer([Reply(content="Yes.", repeat=True)]) as server:
        await use_model(scene, server)
        talk = await talk_with(scene, allowed_tools=[], model="qwen3:8b", chat_options={"temperature": 0.5})
        await talk.ask("Who?")
        assert server.requests[0].body["model"] == "qwen3:8b"
        assert server.requests[0].body["temperature"] == 0.5
        named = await talk_with(scene, name="n", allowed_tools=[], model="double")
        await named.ask("Who?")
        assert server.requests[1].body["model"] == "scripted"


PAGES = [
    WebPage("泵的新闻", "https://news.example/泵", "新型号的泵 2026 年 3 月上市。价格未定。"),
    WebPage("Pump news", "https://news.example/pump", "The new pump ships in March 2026."),
]


@pytest.mark.parametrize("engine", ["tavily", "bocha"])
async def test_the_web_is_searched_and_cited(scene: Scene, engine: str) -> None:
    def write(body: dict[str, Any]) -> Reply:
        if body["messages"][-1]["role"] != "tool":
            return call("web_search", query="泵 pump")
        return Reply(content=f"新型号 2026 年 3 月上市[{number_of(body, '新型号')}]。")

    async with (
        SearchServer(PAGES) as web,
        ModelServer(write) as server,
        Fetcher(Policy(allow_hosts=(web.host,))) as fetcher,
    ):
        await use_model(scene, server)
        config = WebSearch(SearchEngine(engine), "key", address=web.address(engine))
        talk = await talk_with(scene, chat_options={"retrieve": "free"})
        talk.scene = scene.using(fetcher=fetcher, web_search=config)
        answer = await talk.answer("新的泵什么时候上市？")
        asked = web.requests[0].body
        assert asked["query"] == "泵 pump"
        assert asked["max_results" if engine == "tavily" else "count"] == 5
        (item,) = answer["citations"]
        assert (item["url"], item["document_id"], item["start_line"]) == ("https://news.example/泵", "", 0)
        assert item["quote"] == "新型号的泵 2026 年 3 月上市。"
        wrong = replace(config, api_key="wrong")
        talk.scene = scene.using(fetcher=fetcher, web_search=wrong)
        await talk.ask("新的泵什么时候上市？？")
    assert f"{engine} refused the key" in as_text(server.requests[-1].body)


async def test_the_web_search_goes_the_guarded_way(scene: Scene) -> None:
    async with (
        SearchServer(PAGES) as web,
        ModelServer([call("web_search", query="x"), Reply(content="-")]) as server,
    ):
        await use_model(scene, server)
        config = WebSearch(SearchEngine.TAVILY, "key", address=web.address("tavily"))
        talk = await talk_with(scene, chat_options={"retrieve": "free"})
        talk.scene = scene.using(web_search=config)
        await talk.ask("new pump?")
        assert web.requests == []
    assert "may not be fetched" in tool_texts(server.requests[-1].body)


async def test_questions_in_both_languages_are_answered_in_theirs(scene: Scene) -> None:
    await scene.add(PUMP, "pump.md")
    async with ModelServer(answering(lambda body: "ok")) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        await talk.ask("泵多久加一次油？")
        assert "Answer in Chinese" in str(server.requests[-1].body["messages"][-1]["content"])
        await talk.ask("How often is the pump oiled?")
        assert "Answer in English" in str(server.requests[-1].body["messages"][-1]["content"])
