"""Answers without a model and by an agent: every citation leads to its words."""

from typing import Any

import pytest

from acceptance.engines.conftest import LIBRARY
from acceptance.engines.double import ANSWER
from acceptance.engines.instance import Caller, Instance, read_events
from acceptance.engines.material import QUESTIONS


def _check_citations(owner: Caller, citations: list[dict[str, Any]]) -> None:
    """Each quote stands, to the letter, in the lines that the server gives out for it."""
    for item in citations:
        span = {"start": item["start_line"], "end": item["end_line"]}
        lines = owner.ok("GET", f"/documents/{item['document_id']}/lines", params=span)["lines"]
        assert item["quote"]
        assert item["quote"] in "\n".join(lines)


@pytest.mark.parametrize("question", list(QUESTIONS)[:3])
def test_quotes_need_no_model(instance: Instance, owner: Caller, library: str, question: str) -> None:
    asked = instance.double.calls
    answer = owner.ok("POST", "/ask", {"question": question, "space_ids": [library]})
    assert any(QUESTIONS[question][1] in item["quote"] for item in answer["citations"])
    _check_citations(owner, answer["citations"])
    assert instance.double.calls == asked


def test_the_command_answers(instance: Instance, owner: Caller) -> None:
    printed = instance.cli("ask", "叶子证书多久轮换一次？", "--space", LIBRARY)
    assert "叶子证书每九十天轮换一次" in printed["answer"]
    _check_citations(owner, printed["citations"])
    question = ("ask", "How often must the blue pump be oiled?", "--space", LIBRARY)
    spoken = instance.cli(*question, "--agent", "knowledge assistant")
    assert "every 40 days" in spoken["answer"]
    _check_citations(owner, spoken["citations"])


def test_an_agent_searches_and_tells(owner: Caller, library: str) -> None:
    session = owner.ok("POST", "/sessions", {"title": "oil"})["id"]
    form = {"question": "How often must the blue pump be oiled?", "space_ids": [library]}
    with owner.http.stream("POST", f"/sessions/{session}/runs", json=form) as response:
        events = list(read_events(response))
    kinds = [event["event"] for event in events]
    assert kinds[-1] == "run_end"
    assert {"tool_call", "tool_result", "answer_chunk", "final_answer"} <= set(kinds)
    said = "".join(event["data"]["payload"]["text"] for event in events if event["event"] == "answer_chunk")
    final = next(event["data"]["payload"] for event in events if event["event"] == "final_answer")
    assert final["answer"] == said == ANSWER
    (citation,) = final["citations"]
    assert citation["source"].endswith("pumps.md")
    _check_citations(owner, [citation])
