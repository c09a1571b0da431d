"""Questions about the shipped examples, answered through the loop with correct citations."""

import json
from pathlib import Path
from typing import Any

import pytest

from kosmos.doubles.model_server import ModelServer, Reply

from .scene import Scene
from .talks import call, final, number_of, said, search, talk_with, use_model

EXAMPLES = Path(__file__).parents[3] / "examples"
ASKED = [json.loads(line) for line in (EXAMPLES / ".questions.jsonl").read_text().split("\n") if line.strip()]
CHOSEN = [next(item for item in ASKED if item["language"] == language) for language in ("en", "zh")]


@pytest.mark.parametrize("item", CHOSEN, ids=lambda item: item["language"])
async def test_a_question_about_the_examples(scene: Scene, item: dict[str, Any]) -> None:
    text = (EXAMPLES / item["source"]).read_text().removesuffix("\n")
    await scene.add(text, item["source"])
    first, last = item["answer_lines"]

    def careful(body: dict[str, Any]) -> Reply:
        """A model that searches, reads the lines it needs, and says what they say."""
        told = str(body["messages"][-1]["content"])
        if body["messages"][-1]["role"] != "tool":
            return search(item["question"])
        if item["answer_contains"] not in " ".join(told.split()) and item["answer_contains"] not in told:
            return call("read", document=item["source"], start_line=first, end_line=last)
        number = number_of(body, item["answer_contains"])
        return Reply(content=f"{item['answer_contains']} [{number}].", reasoning="Found.")

    async with ModelServer(careful) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask(item["question"])
    answer = final(events)
    (cited,) = answer["citations"]
    lines = text.split("\n")
    assert cited["quote"] in "\n".join(lines[cited["start_line"] - 1 : cited["end_line"]])
    assert cited["start_line"] <= last
    assert cited["end_line"] >= first
    assert said(events) == answer["answer"]
    assert sum(event.type.value == "answer_chunk" for event in events) >= 1
