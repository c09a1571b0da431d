"""Talks with agents in a small instance, with a scripted model behind real HTTP."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.agents.files import make_form
from kosmos.domain.agents import Agent
from kosmos.domain.credentials import CredentialType
from kosmos.domain.events import EventType, StoredEvent
from kosmos.domain.sessions import Message, Run, Session
from kosmos.doubles.model_server import ModelServer, Reply, ToolCall
from kosmos.llm.secrets import passing_box
from kosmos.tasks import agents, runs, sessions
from kosmos.tasks.run_models import ModelWish
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.sessions import NewSession

from .scene import Scene

PUMP = """# Pump guide

The blue pump must be oiled every 40 days. Use oil of grade VG 46 only.

## 证书

叶子证书每九十天轮换一次，由正式值班操作。轮换之前先备份。

## Alarms

Alarm 17 means that the filter is blocked.
"""
Body = dict[str, Any]


def call(name: str, **arguments: Any) -> Reply:
    """A turn in which the model calls one tool."""
    return Reply(tool_calls=(ToolCall(name, arguments),))


def search(query: str = "blue pump oil 证书 alarm filter") -> Reply:
    """A turn in which the model searches."""
    return call("search", query=query)


def tool_texts(body: Body) -> str:
    """Everything that tools have told the model in a request."""
    return "\n".join(str(item["content"]) for item in body["messages"] if item["role"] == "tool")


def numbers_in(body: Body) -> list[int]:
    """The numbers of the passages that a model was given."""
    return [int(number) for number in re.findall(r"^\[(\d+)\]$", tool_texts(body), re.MULTILINE)]


def number_of(body: Body, words: str) -> int:
    """The number of the passage that contains some words."""
    shape = re.compile(r"^\[(\d+)\]\n<data (\w+)>\n(.*?)</data \2>", re.MULTILINE | re.DOTALL)
    found = shape.findall(tool_texts(body))
    return next(int(number) for number, _, text in found if words in text)


@dataclass
class Talk:
    """A session with an agent."""

    scene: Scene
    agent: Agent
    session: Session
    seen: list[StoredEvent] = field(default_factory=list)

    async def start(self, question: str, **more: Any) -> Run:
        """Ask, and do not wait."""
        wish = RunWish(question, **more)
        return await runs.start_run(self.scene.bench, self.scene.owner, self.session.id, wish)

    async def ask(self, question: str, **more: Any) -> list[StoredEvent]:
        """All events of a question."""
        run = await self.start(question, **more)
        self.seen = await self.follow(run.id)
        return self.seen

    async def follow(self, run_id: str, after: int = 0) -> list[StoredEvent]:
        """All events of a run behind a number."""
        stream = runs.follow_run(self.scene.bench, self.scene.owner, self.session.id, run_id, after=after)
        return [event async for event in stream if event is not None]

    async def answer(self, question: str, **more: Any) -> dict[str, Any]:
        """The final answer to a question."""
        return final(await self.ask(question, **more))

    async def messages(self) -> list[Message]:
        """All messages of the session."""
        return await sessions.list_messages(self.scene.bench, self.scene.owner, self.session.id, limit=10_000)

    def types(self) -> list[str]:
        """The types of the events seen last."""
        return [event.type.value for event in self.seen]


def final(events: Sequence[StoredEvent]) -> dict[str, Any]:
    """The answer among events."""
    (found,) = [event.payload for event in events if event.type is EventType.FINAL_ANSWER]
    return dict(found)


def said(events: Sequence[StoredEvent]) -> str:
    """What a client has on its screen at the end."""
    text = ""
    for event in events:
        if event.type is EventType.ANSWER_RETRACTED:
            text = ""
        elif event.type is EventType.ANSWER_CHUNK:
            text += event.payload["text"]
    return text.strip()


def payloads(events: Sequence[StoredEvent], kind: EventType) -> list[dict[str, Any]]:
    """The payloads of all events of a type."""
    return [dict(event.payload) for event in events if event.type is kind]


async def use_model(scene: Scene, server: ModelServer, **options: Any) -> None:
    """Let the owner's runs ask a double."""
    new = NewCredential(
        name="double",
        type=CredentialType.LLM,
        base_url=server.base_url,
        model="scripted",
        options=options,
        is_default=True,
    )
    async with scene.bench.db.write() as conn:
        await add_credential(conn, scene.owner, new, box=passing_box(), now=scene.bench.clock())


async def talk_with(scene: Scene, **form: Any) -> Talk:
    """A session with a new agent."""
    values = {"name": f"agent {len(form)} {form.get('name', '')}", "system_prompt": "You answer.", **form}
    made = await agents.create_agent(scene.bench, scene.owner, make_form(values))
    new = NewSession(agent=made.id, title="A talk")
    return Talk(scene, made, await sessions.create_session(scene.bench, scene.owner, new))


def answering(write: Callable[[Body], str]) -> Callable[[Body], Reply]:
    """A model that searches first and then answers with what is written for the request."""

    def decide(body: Body) -> Reply:
        if body.get("tools") and body["messages"][-1]["role"] != "tool":
            return search()
        return Reply(content=write(body))

    return decide


def own_model(server: ModelServer, **more: Any) -> ModelWish:
    """The double, named by the request itself."""
    return ModelWish(openai_api_base=server.base_url, model_name="scripted", **more)


def as_text(body: Body) -> str:
    """A whole request as a text."""
    return json.dumps(body, ensure_ascii=False)
