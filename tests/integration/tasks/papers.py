"""Small papers, and a scripted reader that knows which prompt of the workflow it was given."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from kosmos.agents.literature.intents import Intent
from kosmos.domain.sessions import Run
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.prompts import load_prompt, prompt_names
from kosmos.tasks.literature_wishes import LiteratureWish
from kosmos.tasks.run_models import ModelWish

from .scene import Scene
from .talks import Talk, talk_with, use_model

Body = dict[str, Any]
WINDOW = 20_000
NAMES = (
    "intent_recognition",
    "sub_question_generation",
    "simple_interaction",
    "single_doc_summary",
    "multi_doc_summary",
    "multi_doc_summary_synthesis",
    "multi_doc_summary_final_merge",
    "review_generation",
    "review_generation_synthesis",
    "review_generation_final_merge",
    "paper_review",
    "literature_qa",
    "document_condensed_summary",
)
_BEGINS = {
    load_prompt(name).text.split("{{", 1)[0][:400]: name.rsplit("_", 1)[0]
    for name in prompt_names()
    if name.rsplit("_", 1)[0] in NAMES
}


def paper(topic: str, *, pages: int = 1, year: int = 2021) -> str:
    """A paper about something, so many pages long."""
    body = "\n\n".join(
        f"On page {page} the {topic} was measured {page * 7} times with the tidal gauge of Ostend, and the "
        f"mean deviation of the {topic} fell to {page}.5 millimetres. " + "The setup stayed the same. " * 40
        for page in range(1, pages + 1)
    )
    return f"""# The {topic} of tidal channels

Mara Lindqvist, Chen Wei

Published {year}, doi:10.5555/{topic}.{year}

## Abstract

We measure the {topic} of tidal channels with a new gauge.

## Results

{body}

## References

[1] A. Referee. The zebra catalogue of {topic}. Journal of Lists, 1999.
[2] B. Referee. More about zebras. 2001."""


def prompt_of(body: Body) -> str:
    """Which prompt of the workflow a request is made of."""
    text = str(body["messages"][-1]["content"])
    found = [name for begin, name in _BEGINS.items() if begin in text]
    assert len(found) == 1, text[:200]
    return found[0]


def shown_numbers(body: Body) -> list[int]:
    """The numbers in what a model was given."""
    return [int(number) for number in re.findall(r"\[(\d+)\]", str(body["messages"][-1]["content"]))]


def condensed(body: Body) -> str:
    """A summary that keeps to its form and cites what it was given."""
    number = re.search(r"^\[(\d+)\]$", str(body["messages"][-1]["content"]), re.MULTILINE)
    mark = f"[{number[1]}]" if number else ""
    return "\n".join(
        f"{label}: the {label.lower()} of tidal channels {mark}."
        for label in ("Problem", "Method", "Data", "Result", "Limits")
    )


def cite_first(body: Body) -> str:
    """An answer that rests on the last number given."""
    numbers = [one for one in shown_numbers(body) if one not in (2, 5, 12)] or shown_numbers(body)
    return f"The gauge of tidal channels was new [{numbers[-1]}]." if numbers else "Nothing."


class Reader:
    """A scripted model. `says` takes the place of usual answers; `asked` are the prompts so far."""

    def __init__(
        self, intent: Intent = Intent.LITERATURE_QA, **says: Callable[[Body], Reply | str] | str
    ) -> None:
        self.intent = intent
        self.says = says
        self.asked: list[str] = []
        self.bodies: list[Body] = []

    def __call__(self, body: Body) -> Reply:
        name = prompt_of(body)
        self.asked.append(name)
        self.bodies.append(body)
        given = self.says.get(name)
        said = given(body) if callable(given) else given if given is not None else self._usual(name, body)
        return said if isinstance(said, Reply) else Reply(content=said)

    def _usual(self, name: str, body: Body) -> str:
        if name == "intent_recognition":
            return json.dumps({"intent": self.intent.value, "reason": "the script says so"})
        if name == "sub_question_generation":
            return json.dumps([{"question": "deviation of the tidal gauge of Ostend", "doc_id": "D1"}])
        if name == "document_condensed_summary":
            return condensed(body)
        if name.endswith("_synthesis"):
            marks = [one for one in shown_numbers(body) if one not in (2, 5, 12)]
            return "Report: the gauges were new " + "".join(f"[{one}]" for one in marks[-3:]) + "."
        return cite_first(body)

    def count(self, name: str) -> int:
        """How often a prompt was asked."""
        return self.asked.count(name)


async def literature_talk(scene: Scene, server: ModelServer, **options: Any) -> Talk:
    """A session with an agent of the workflow, whose model is a double."""
    await use_model(scene, server, **options)
    return await talk_with(scene, workflow="literature", name="papers")


def wish(window: int = WINDOW, **more: Any) -> Mapping[str, Any]:
    """What a request of the workflow says besides its question."""
    return {"model": ModelWish(max_context_tokens=window), "literature": LiteratureWish(**more)}


async def start(talk: Talk, question: str, window: int = WINDOW, **more: Any) -> Run:
    """Ask, and do not wait."""
    return await talk.start(question, **wish(window, **more))
