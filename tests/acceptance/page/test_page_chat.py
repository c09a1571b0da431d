"""Talking with a model: thinking, steps, sources, stopping, summaries that fill in one by one, old talks."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Route, expect

from acceptance.page.browsing import Visit, visit
from acceptance.page.conftest import Host


def _ask(person: Visit, question: str) -> None:
    person.at(".composer textarea").fill(question)
    person.page.keyboard.press("Enter")


def test_an_answer_of_a_model(modelled: Host, browser: Browser) -> None:
    with visit(browser, modelled.url) as person:
        person.page.goto(modelled.link())
        expect(person.page.locator("tbody .tag.ready")).to_have_count(1)
        person.way("chat")
        person.page.locator("select[name=agent] option").first.wait_for(state="attached")
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
        person.page.locator(f'select[name=agent] option[value="{agent}"]').wait_for(state="attached")
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
        (
            "doc_summary_init",
            {"documents": [{"document_id": "d1", "title": "One"}, {"document_id": "d2", "title": "Two"}]},
        ),
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
        person.page.locator("select[name=agent] option").first.wait_for(state="attached")
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
