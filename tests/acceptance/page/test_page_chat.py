"""Talking with a model: thinking, steps, sources, stopping, summaries that fill in one by one, old talks."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from acceptance.agents.server import free_port
from acceptance.page.browsing import Visit, visit
from acceptance.page.conftest import Host

TEXT = "# Valves\n\nThe red valve opens at dawn and closes at noon.\n"
ANSWER = "It **opens at dawn** [1]."


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model that searches, thinks, and answers."""
    search = {"tool_calls": [{"name": "search", "arguments": {"query": "red valve"}}], "reasoning": "Let me look."}
    script = {
        "replies": [
            {**search, "when": {"anywhere": "When does the red valve open?"}},
            {"content": ANSWER, "when": {"anywhere": "<data"}},
            {"content": "word " * 400, "pace": 0.05, "when": {"anywhere": "Go on for ever"}, "repeat": True},
        ],
        "default": {"content": "Valves"},
    }
    path = tmp_path_factory.mktemp("double") / "script.json"
    path.write_text(json.dumps(script))
    port = free_port()
    command = [sys.executable, "-m", "kosmos", "model-double", str(path), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory, double: str) -> Iterator[Host]:
    """A server with a model."""
    made = Host(tmp_path_factory.mktemp("chat") / "home", free_port())
    made.start()
    with made.client() as http:
        form = {"name": "m", "type": "LLM", "base_url": double, "model": "m", "is_default": True}
        http.post("/api/v1/credentials", json=form).raise_for_status()
        space = http.get("/api/v1/spaces").json()["items"][0]["id"]
        http.post(f"/api/v1/spaces/{space}/documents", params={"filename": "valves.md"}, content=TEXT.encode())
    yield made
    made.end()


def _ask(person: Visit, question: str) -> None:
    person.at(".composer textarea").fill(question)
    person.page.keyboard.press("Enter")


def test_an_answer_of_a_model(modelled: Host, browser: Browser) -> None:
    with visit(browser, modelled.url) as person:
        person.page.goto(modelled.link())
        expect(person.page.locator("tbody .tag.ready")).to_have_count(1)
        person.way("chat")
        person.at("select[name=agent] option")
        assert person.page.locator(".mode").count() == 0
        _ask(person, "When does the red valve open?")
        person.at(".sources li")
        assert person.at(".answer strong").inner_text() == "opens at dawn"
        thinking = person.page.locator("details.thinking")
        assert thinking.get_attribute("open") is None
        assert "Let me look." in (thinking.text_content() or "")
        person.at("details.timeline > summary").click()
        assert "red valve" in person.at(".steps .tool").inner_text()
        person.shoot("model")
        person.page.reload()
        assert person.at(".answer strong").inner_text() == "opens at dawn"
        person.at("details.past > summary").click()
        person.at("details.past .steps .tool")
        person.at(".answer a.cite").click()
        assert "dawn" in person.at(".line mark").inner_text()
        assert person.complaints == []


def test_stopping_and_coming_back(modelled: Host, browser: Browser) -> None:
    with visit(browser, modelled.url) as person:
        person.page.goto(modelled.link())
        person.at(".drop")
        agent = _agent(modelled)
        person.go(f"chat?agent={agent}")
        person.at(f'select[name=agent] option[value="{agent}"]')
        _ask(person, "Go on for ever")
        person.at(".under-way .answer p", "word")
        person.way("jobs")  # the run goes on without anybody who looks
        person.at(".long-list")
        person.way("chat")
        person.at(".sessions a").click()
        person.at(".under-way .answer p", "word")
        person.page.locator(".under-way button", has_text="Stop").click()
        person.at(".tag.failed", "stopped")
        assert person.page.locator(".under-way").count() == 0


def _agent(host: Host) -> str:
    with host.client() as http:
        form = {"name": "teller", "allowed_tools": []}
        made: str = http.post("/api/v1/agents", json=form).raise_for_status().json()["id"]
        return made


def test_summaries_compression_and_errors_are_told(modelled: Host, browser: Browser) -> None:
    events: list[tuple[str, dict[str, Any]]] = [
        ("run_start", {"strategy": "literature"}),
        ("session_compressed", {"messages": 12, "kept": 4, "tokens": 300}),
        ("doc_summary_init", {"documents": [{"document_id": "d1", "title": "One"}, {"document_id": "d2", "title": "Two"}]}),
        ("doc_summary_start", {"document_id": "d1"}),
        ("doc_summary_chunk", {"document_id": "d1", "text": "First "}),
        ("doc_summary_chunk", {"document_id": "d1", "text": "paper."}),
        ("doc_summary_complete", {"document_id": "d1", "summary": "First paper."}),
        ("doc_summary_error", {"document_id": "d2", "error": "unreadable"}),
        ("node_error", {"node": "llm", "error": "it broke"}),
        ("answer_chunk", {"text": "Half a", "step": 1}),
        ("answer_retracted", {"step": 1, "reason": "a tool is called"}),
        ("error", {"message": "No provider answers.", "remedy": "Try later."}),
        ("run_end", {"status": "FAILED", "usage": {}}),
    ]

    def stream(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        body = "".join(
            f"id: {at}\nevent: {kind}\ndata: {json.dumps({'payload': payload})}\n\n"
            for at, (kind, payload) in enumerate(events, start=1)
        )
        route.fulfill(headers={"content-type": "text/event-stream", "kosmos-run-id": "r"}, body=body)

    with visit(browser, modelled.url) as person:
        person.page.goto(modelled.link())
        person.at(".drop")
        person.page.route("**/runs", stream)
        person.way("chat")
        person.at("select[name=agent] option")
        _ask(person, "Compare the papers")
        assert person.at(".paper.done p").inner_text() == "First paper."
        assert "unreadable" in person.at(".paper.failed").inner_text()
        assert "Try later." in person.at(".run-foot .box.bad").inner_text()
        person.at("details.timeline > summary").click()
        assert "12" in person.at(".steps li", "folded").inner_text()
        person.at(".steps li.failed", "it broke")
        expect(person.page.locator(".answer")).to_have_text("")
        person.shoot("papers")


def test_where_artefacts_go() -> None:
    ignored = Path(__file__).parents[3] / ".gitignore"
    assert "/artefacts/" in ignored.read_text()
