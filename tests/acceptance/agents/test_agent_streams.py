"""Streams of runs: whoever loses the connection, or the server, gets every event exactly once."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx2

from acceptance.agents.server import Server, prepare, read_events, serving
from kosmos.doubles.model_server import ModelServer, Reply

SLOW = Reply(content="".join(f"word{n} " for n in range(120)), pace=0.02)
Events = list[dict[str, Any]]


async def begin(http: httpx2.AsyncClient, session: str, most: int) -> tuple[str, Events]:
    """Ask, read so many events, and hang up."""
    seen: Events = []
    path = f"/api/v1/sessions/{session}/runs"
    async with http.stream("POST", path, json={"question": "Tell me."}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        run = response.headers["kosmos-run-id"]
        async for event in read_events(response):
            seen.append(event)
            if len(seen) == most:
                break
    return run, seen


async def go_on(http: httpx2.AsyncClient, session: str, run: str, seen: Events, most: int = 0) -> None:
    """Go on behind the last event seen."""
    path = f"/api/v1/sessions/{session}/runs/{run}/events"
    async with http.stream("GET", path, headers={"last-event-id": seen[-1]["id"]}) as response:
        response.raise_for_status()
        async for event in read_events(response):
            seen.append(event)
            if len(seen) == most:
                return


def check_once(seen: Events) -> None:
    assert [int(event["id"]) for event in seen] == list(range(1, len(seen) + 1))
    assert [event["data"]["sequence"] for event in seen] == [int(event["id"]) for event in seen]


def said(seen: Events) -> str:
    return "".join(event["data"]["payload"]["text"] for event in seen if event["event"] == "answer_chunk")


async def test_a_client_that_hangs_up_goes_on_where_it_was(tmp_path: Path) -> None:
    async with ModelServer([SLOW]) as double, serving(tmp_path) as server, server.client() as http:
        session = await prepare(http, double)
        run, seen = await begin(http, session, 8)
        await go_on(http, session, run, seen, most=20)
        await go_on(http, session, run, seen)
        check_once(seen)
        assert seen[-1]["event"] == "run_end"
        assert said(seen).strip() == SLOW.content.strip()
        again: Events = []
        path = f"/api/v1/sessions/{session}/runs/{run}/events"
        async with http.stream("GET", path) as response:
            again = [event async for event in read_events(response)]
        assert again == seen


async def test_a_client_goes_on_after_the_server_was_killed(tmp_path: Path) -> None:
    script = [SLOW, Reply(content="Here again.", repeat=True)]
    async with ModelServer(script) as double, serving(tmp_path) as server:
        async with server.client() as http:
            session = await prepare(http, double)
            run, seen = await begin(http, session, 12)
        server.end(signal.SIGKILL)
        await server.start()
        async with server.client() as http:
            await go_on(http, session, run, seen)
            check_once(seen)
            assert seen[-1]["event"] == "run_end"
            assert seen[-1]["data"]["payload"]["status"] == "INTERRUPTED"
            found = (await http.get(f"/api/v1/sessions/{session}/runs/{run}")).json()
            assert found["status"] == "INTERRUPTED"
            messages = (await http.get(f"/api/v1/sessions/{session}/messages")).json()["items"]
            assert messages[-1]["content"].strip() == said(seen).strip() != ""
            path = f"/api/v1/sessions/{session}/runs"
            answer = await http.post(path, json={"question": "And?", "stream": False})
            assert answer.json()["answer"] == "Here again."


async def test_a_server_that_is_asked_to_end_stores_what_was_said(tmp_path: Path) -> None:
    async with ModelServer([SLOW]) as double, serving(tmp_path) as server:
        async with server.client() as http:
            session = await prepare(http, double)
            run, seen = await begin(http, session, 12)
        await asyncio.to_thread(server.end, signal.SIGTERM)
        await server.start()
        async with server.client() as http:
            await go_on(http, session, run, seen)
            check_once(seen)
            assert seen[-1]["data"]["payload"]["status"] == "INTERRUPTED"


async def test_stop_and_show_thinking(tmp_path: Path) -> None:
    thinking = Reply(reasoning="Hm. " * 20, content="Yes.")
    script = [SLOW, thinking, thinking]
    async with ModelServer(script) as double, serving(tmp_path) as server, server.client() as http:
        session = await prepare(http, double)
        path = f"/api/v1/sessions/{session}/runs"
        run, seen = await begin(http, session, 6)
        busy = await http.post(path, json={"question": "Now?"})
        assert busy.status_code == 409
        stopped = await http.post(f"{path}/{run}/stop")
        assert stopped.json()["status"] == "STOPPED"
        await go_on(http, session, run, seen)
        check_once(seen)
        for shown in (True, False):
            form = {"question": "Yes?", "show_thinking": shown}
            async with http.stream("POST", path, json=form) as response:
                kinds = {event["event"] async for event in read_events(response)}
            assert ("thought_chunk" in kinds) is shown
            assert "final_answer" in kinds


async def test_a_run_of_one_server_is_followed_on_another(tmp_path: Path) -> None:
    async with ModelServer([SLOW]) as double, serving(tmp_path) as server, server.client() as http:
        session = await prepare(http, double)
        run, seen = await begin(http, session, 5)
        second = await Server(tmp_path).start()
        try:
            async with second.client() as other:
                await go_on(other, session, run, seen)
        finally:
            second.end()
        check_once(seen)
        assert seen[-1]["data"]["payload"]["status"] == "COMPLETED"
