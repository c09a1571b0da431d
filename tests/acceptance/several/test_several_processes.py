"""Several API processes behind a proxy: it does not matter which of them a request reaches."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from acceptance.agents.server import prepare, read_events
from acceptance.agents.test_agent_streams import Events, begin, check_once, go_on, said
from acceptance.several.nodes import Node, Site, site
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall

SLOW = Reply(content="".join(f"word{n} " for n in range(60)), pace=0.02)
ENDLESS = Reply(content="so on " * 40, pace=0.05, truncate_after=25, hang=True)
SHORT = Reply(content="Here again.")
HELLO = b"# Hello\n\nThe blue pump must be oiled every 40 days.\n"
Mortal = tuple[str, Callable[[], None], Callable[[], None]]
CUT_OFF = "timeout graceful shutdown exceeded"


async def test_runs_and_streams_survive_the_other_process(tmp_path: Path, postgres_url: str) -> None:
    script = [SLOW, ENDLESS, ENDLESS, SHORT]
    async with ModelServer(script) as double, site(tmp_path, postgres_url) as here, here.client() as http:
        session = await prepare(http, double)
        await seen_on_both(here, session)
        await cut_and_gone_on(here, http, session)
        await stopped_from_the_other(here, session)
        await worked_on_by_the_other(here, http)
        await left_in_mid_stream(here, session)
        async with here.two.client() as two:
            form = {"question": "And?", "stream": False}
            answer = await two.post(f"/api/v1/sessions/{session}/runs", json=form)
            assert answer.json()["answer"] == "Here again."


async def test_a_redis_between_them_may_die(tmp_path: Path, postgres_url: str, mortal_redis: Mortal) -> None:
    script = [SLOW, ENDLESS, SLOW, ENDLESS]
    url, kill, _ = mortal_redis
    async with (
        ModelServer(script) as double,
        site(tmp_path, postgres_url, url) as here,
        here.client() as http,
    ):
        session = await prepare(http, double)
        await cut_and_gone_on(here, http, session)
        await stopped_from_the_other(here, session)
        kill()
        await cut_and_gone_on(here, http, session)
        await stopped_from_the_other(here, session)
        for node in (here.one, here.two):
            assert node.log.count("processes cannot wake each other") == 1
            assert [line for line in node.log.split("\n") if '"level": "ERROR"' in line] == []


async def seen_on_both(here: Site, session: str) -> None:
    for node in (here.one, here.two):
        async with node.client() as http:
            (await http.get(f"/api/v1/sessions/{session}")).raise_for_status()


async def cut_and_gone_on(here: Site, http: httpx2.AsyncClient, session: str) -> None:
    """Asked at one, cut, gone on with at the other, cut, gone on with at the first; then all of it again."""
    here.proxy.went.clear()
    run, seen = await begin(http, session, 8)
    await go_on(http, session, run, seen, most=14)
    await go_on(http, session, run, seen)
    first, second, third = here.proxy.went
    assert first == third != second
    check_once(seen)
    assert seen[-1]["data"]["payload"]["status"] == "COMPLETED"
    assert said(seen).strip() == SLOW.content.strip()
    async with here.two.client() as two:
        assert await everything(two, session, run) == seen


async def everything(http: httpx2.AsyncClient, session: str, run: str) -> Events:
    async with http.stream("GET", f"/api/v1/sessions/{session}/runs/{run}/events") as response:
        return [event async for event in read_events(response)]


async def stopped_from_the_other(here: Site, session: str) -> None:
    """Goes on at one; is stopped at two, where somebody follows it."""
    async with here.one.client() as one, here.two.client() as two:
        run, seen = await begin(one, session, 6)
        following = asyncio.create_task(go_on(two, session, run, seen))
        (await two.post(f"/api/v1/sessions/{session}/runs/{run}/stop")).raise_for_status()
        async with asyncio.timeout(30):
            await following
        check_once(seen)
        assert seen[-1]["data"]["payload"]["status"] == "STOPPED"


async def worked_on_by_the_other(here: Site, http: httpx2.AsyncClient) -> None:
    """A document given to one is worked on by two; its jobs are followed at both."""
    space = (await http.get("/api/v1/spaces")).json()["items"][0]["id"]
    async with here.one.client() as one, here.two.client() as two:
        files = {"file": ("hello.md", HELLO, "text/markdown")}
        sent = await one.post(f"/api/v1/spaces/{space}/documents", files=files)
        sent.raise_for_status()
        jobs = (await one.get("/api/v1/jobs")).json()["items"]
        told = await asyncio.gather(*(story(at, job["id"]) for at in (one, two) for job in jobs))
    assert len(jobs) > 0
    assert told[: len(jobs)] == told[len(jobs) :]
    assert {story[-1] for story in told} == {"completed"}


async def story(http: httpx2.AsyncClient, job: str) -> list[str]:
    async with asyncio.timeout(60), http.stream("GET", f"/api/v1/jobs/{job}/events") as response:
        return [event["event"] async for event in read_events(response)]


async def left_in_mid_stream(here: Site, session: str) -> None:
    """A server that is asked to end lets its streams go; they go on elsewhere and hear how the run ended."""
    async with here.one.client() as one, here.two.client() as two:
        run, seen = await begin(one, session, 6)
        following = asyncio.create_task(go_on(one, session, run, seen))
        jobs = asyncio.create_task(open_for_long(one))
        await jobs
        await asyncio.to_thread(here.one.end, signal.SIGTERM)
        await following  # without an error: it was ended, not cut
        await go_on(two, session, run, seen)
    check_once(seen)
    assert seen[-1]["data"]["payload"]["status"] == "INTERRUPTED"
    assert CUT_OFF not in here.one.log


async def open_for_long(http: httpx2.AsyncClient) -> None:
    """Open the stream of all jobs and leave it open."""
    response = await http.send(http.build_request("GET", "/api/v1/jobs/events"), stream=True)
    async for event in read_events(response):
        assert event["event"] == "open"
        return


async def test_what_a_killed_process_did_is_ended_or_goes_on(tmp_path: Path, postgres_url: str) -> None:
    """Loops end as interrupted at whoever follows them; the graph goes on there."""
    hung = asyncio.Event()
    async with ModelServer(mind(hung)) as double, site(tmp_path, postgres_url) as here:
        async with here.one.client() as http:
            looping = await prepare(http, double)
            made = await http.post(
                "/api/v1/agents", json={"name": "op", "workflow": "react", "allowed_tools": []}
            )
            session = await http.post("/api/v1/sessions", json={"agent": made.json()["id"], "title": "t"})
            graphing = str(session.raise_for_status().json()["id"])
            plain, told = await begin(http, looping, 6)
            graph, noted = await begin(http, graphing, 1)
            async with asyncio.timeout(60):
                await hung.wait()
        async with here.two.client() as two:
            follows = asyncio.gather(go_on(two, looping, plain, told), go_on(two, graphing, graph, noted))
            await asyncio.sleep(0.1)
            here.one.end(signal.SIGKILL)
            async with asyncio.timeout(60):
                await follows
            check_once(told)
            check_once(noted)
            assert told[-1]["data"]["payload"]["status"] == "INTERRUPTED"
            assert noted[-1]["data"]["payload"]["status"] == "COMPLETED"
            assert "Nothing is wrong." in said(noted)
        async with here.client() as http:  # the proxy passes over the one that is gone
            form = {"question": "And?", "stream": False}
            answer = await http.post(f"/api/v1/sessions/{looping}/runs", json=form)
            assert answer.json()["answer"] == "Here again."
        await taken_over(here.two, double)


async def taken_over(node: Node, double: ModelServer) -> None:
    """The process that took the graph asked the model only for what was missing."""
    names = [_form(one.body) for one in double.requests if one.body and one.body.get("tools")]
    assert names.count("problem_analysis") == 1
    assert '"level": "ERROR"' not in node.log


def mind(hung: asyncio.Event) -> Any:
    """A model that stalls at its first plan, so that the graph has a checkpoint and is not through."""
    analysis = {
        "reasoning": "r",
        "target_operation": "DIAGNOSIS",
        "technical_summary": "t",
        "risk_level": "LOW",
    }
    plan = {"reasoning": "r", "action": "DIRECT_ANSWER", "final_answer": None}

    def decide(body: dict[str, Any]) -> Reply:
        name = _form(body)
        if name == "problem_analysis":
            return Reply(tool_calls=(ToolCall(name, analysis),))
        if name == "execution_plan":
            if not hung.is_set():
                hung.set()
                return Reply(hang=True)
            return Reply(tool_calls=(ToolCall(name, plan),))
        if "And?" in str(body["messages"]):
            return SHORT
        return Reply(content="Nothing is wrong.") if hung.is_set() else ENDLESS

    return decide


def _form(body: dict[str, Any]) -> str:
    return str(body["tools"][0]["function"]["name"]) if body.get("tools") else ""
