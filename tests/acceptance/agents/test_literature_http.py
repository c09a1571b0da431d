"""Papers over HTTP: the fields of a request, the events of a run, a server killed in the middle."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx2

from acceptance.agents.server import read_events, serving
from kosmos.accounts.spaces import list_spaces
from kosmos.app import open_app
from kosmos.config import load_settings
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.tasks.adding import Source, add_document
from kosmos.workers import drain

Body = dict[str, Any]


def paper(number: int) -> str:
    """A short paper."""
    return (
        f"# Channel {number}\n\nMara Lindqvist\n\n2021, doi:10.5555/c.{number}\n\n## Abstract\n\n"
        f"We measure channel {number}.\n\n## Results\n\nChannel {number} is {number}.5 m deep.\n\n"
        "## References\n\n[1] A. Referee. Zebras. 1999."
    )


async def fill(home: Path, count: int) -> list[str]:
    """A home with so many papers, ready to be read."""
    async with open_app(load_settings(home=home, encoder="none")) as app:
        who = await app.local_user()
        async with app.bench.db.read() as conn:
            (view,) = await list_spaces(conn, who)
        ids = []
        for number in range(count):
            source = Source(f"file:///x/{number}.md", f"{number}.md", paper(number).encode())
            ids.append((await add_document(app.bench, who, view.space.id, source)).document.id)
        await drain(app, 2)
    return ids


def says(body: Body) -> str:
    """What the double answers to each prompt, known by how it begins."""
    text = str(body["messages"][-1]["content"])
    if text.startswith("You sort requests"):
        return '{"intent": "LITERATURE_QA", "reason": "a figure is asked for"}'
    if text.startswith("You prepare the search"):
        return '[{"question": "how deep is the channel", "doc_id": "D1"}]'
    if text.startswith("Condense a paper"):
        return "Problem: depth [1].\nResult: it is deep [2]."
    return "It is deep [1]."


def reader(body: Body) -> Reply:
    return Reply(content=says(body), reasoning="Hm.")


async def session_of(http: httpx2.AsyncClient, double: ModelServer, **metadata: Any) -> str:
    """A session with the assistant that comes with Kosmos."""
    form = {"name": "double", "type": "LLM", "base_url": double.base_url, "model": "m", "is_default": True}
    await http.post("/api/v1/credentials", json=form)
    new = {"agent": "literature assistant", "title": "t", "metadata": metadata}
    return str((await http.post("/api/v1/sessions", json=new)).raise_for_status().json()["id"])


async def test_the_fields_of_a_request(tmp_path: Path) -> None:
    ids = await fill(tmp_path, 3)
    async with ModelServer(reader) as double, serving(tmp_path) as server, server.client() as http:
        path = f"/api/v1/sessions/{await session_of(http, double)}/runs"
        form = {"question": "How deep?", "doc_ids": ids, "show_thinking": False, "recall_top_n": 3}
        async with http.stream("POST", path, json=form) as response:
            events = [event async for event in read_events(response)]
        kinds = {event["event"] for event in events}
        assert {"node_complete", "tool_call", "tool_result", "citation", "final_answer", "run_end"} <= kinds
        assert not kinds & {"thought_chunk", "thinking_start"}
        (answer,) = [event["data"]["payload"] for event in events if event["event"] == "final_answer"]
        assert (answer["strategy"], answer["details"]["intent"]) == ("chunk_recall", "LITERATURE_QA")
        form = {"question": "All.", "doc_ids": ids, "mode_type": "REVIEW_GENERATION", "stream": False}
        survey = (await http.post(path, json=form)).raise_for_status().json()
        assert (survey["strategy"], survey["details"]["summaries"]) == ("multi_doc_summary", 3)
        assert "doi.org/10.5555/c.2" in survey["answer"]
        given = {
            "question": "Sum it up.",
            "content": paper(7),
            "mode_type": "LITERATURE_SUMMARY",
            "stream": False,
        }
        assert (await http.post(path, json=given)).json()["strategy"] == "full_content"
        for wrong, status in (
            ({"mode_type": "SING"}, 422),
            ({"doc_ids": ["nothing"]}, 404),
            ({"doc_ids": ids[:1], "content": "x"}, 422),
            ({"direct_content_threshold": 2}, 422),
        ):
            refused = await http.post(path, json={"question": "?", **wrong})
            assert refused.status_code == status, (wrong, refused.text)
        kept = f"/api/v1/sessions/{await session_of(http, double, doc_ids=ids[:1])}/runs"
        about = (await http.post(kept, json={"question": "How deep?", "stream": False})).json()
        assert (about["details"]["doc_count"], about["strategy"]) == (1, "full_content")


async def test_what_was_finished_before_a_kill_is_not_paid_again(tmp_path: Path) -> None:
    ids = await fill(tmp_path, 24)

    def slow(body: Body) -> Reply:
        return Reply(content=says(body), delay=0.4)

    async with ModelServer(slow) as double, serving(tmp_path) as server:
        form = {"question": "All.", "doc_ids": ids, "mode_type": "LITERATURE_SUMMARY"}
        async with server.client() as http:
            session = await session_of(http, double)
            done = await _until_done(http, f"/api/v1/sessions/{session}/runs", form, most=8)
        server.end(signal.SIGKILL)
        before = len(double.requests)
        await server.start()
        async with server.client() as http:
            path = f"/api/v1/sessions/{await session_of(http, double)}/runs"
            answer = (await http.post(path, json={**form, "stream": False})).raise_for_status().json()
        assert double.peak <= 10
        asked = [_about(request.body) for request in double.requests[before:]]
    assert answer["details"]["summaries"] == 24
    assert answer["details"]["cached_summaries"] >= len(done)
    assert len(done) >= 8
    assert not done & set(asked)


async def _until_done(http: httpx2.AsyncClient, path: str, form: Body, most: int) -> set[str]:
    """Ask, and return with the titles of the first papers that are summarised."""
    done: set[str] = set()
    async with http.stream("POST", path, json=form) as response:
        async for event in read_events(response):
            if event["event"] == "doc_summary_complete":
                done.add(event["data"]["payload"]["title"])
            if len(done) >= most:
                break
    return done


def _about(body: Body) -> str:
    """The title of the paper that a prompt is about, where it is about one."""
    text = json.dumps(body["messages"][-1]["content"], ensure_ascii=False)
    return text.split("The paper:")[-1].split(" · ")[0].split("\\n")[-1] if "The paper:" in text else ""
