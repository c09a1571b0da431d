"""The real graph without a server: a model that is a function, tools that only note."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kosmos.agents.react.checkpoints import Checkpoints
from kosmos.agents.react.kit import Kit, ReactLimits
from kosmos.agents.react.run import ReactRun
from kosmos.agents.sources import Sources
from kosmos.domain.events import Event
from kosmos.domain.jobs import Spent
from kosmos.llm.chat import Call
from kosmos.llm.streaming import Inquiry, StreamedCall, Turn
from kosmos.llm.thoughts import Piece, Text
from kosmos.tools.contract import Passage, Tool, ToolOutput, make_tool
from kosmos.tools.registry import Toolbox

Form = Mapping[str, Any]
Decide = Callable[[str, str], Form | str]


def reading(decide: Decide) -> Callable[[Inquiry], AsyncGenerator[Piece | Turn, None]]:
    """A model that decides by the name of the form and everything that it was sent."""

    async def infer(inquiry: Inquiry) -> AsyncGenerator[Piece | Turn, None]:
        name = inquiry.tools[0]["function"]["name"] if inquiry.tools else "words"
        sent = "\n".join(str(message["content"]) for message in inquiry.messages)
        given = decide(name, sent)
        if isinstance(given, str):
            yield Text(given)
            yield Turn(given, "", (), "stop", Spent(1, 0, 1), "m")
            return
        call = StreamedCall("c", Call(name, dict(given), json.dumps(dict(given))))
        yield Turn("", "", (call,), "tool_calls", Spent(1, 0, 1), "m")

    return infer


@dataclass
class Shell:
    """A tool that runs commands, and only notes them."""

    outputs: Callable[[Sequence[str]], ToolOutput] = lambda _: ToolOutput(data="ok")
    ran: list[tuple[str, ...]] = field(default_factory=list)

    def tool(self, program: tuple[str, ...] = ("kubectl",)) -> Tool:
        """The tool."""

        async def run(argv: list[str]) -> ToolOutput:
            """Run a command."""
            self.ran.append(tuple(argv))
            return self.outputs(argv)

        labels = {"argv": "argv", "program": program}
        return replace(make_tool(run, read_only=False), name="kubectl", labels=labels)


class Allowing:
    """Approvals that hold for one digest each, once."""

    def __init__(self) -> None:
        self.used: list[str] = []

    async def use(self, approval_id: str, digest: str) -> str | None:
        if approval_id != digest or digest in self.used:
            return "The approval is for another call. Nothing was done."
        self.used.append(digest)
        return None


def passage(text: str, line: int = 1) -> Passage:
    """Lines of a document."""
    return Passage(text, "runbook.md", document_id="d", start_line=line, end_line=line)


def make_kit(tools: Sequence[Tool] = (), documents: Sequence[str] = (), **more: Any) -> Kit:
    """A kit over some tools and documents."""

    async def unasked(*_: Any) -> Any:
        raise AssertionError("no model")

    async def retrieve(_query: str, depth: int) -> list[Passage]:
        return [passage(text, at) for at, text in enumerate(documents[:depth], start=1)]

    given: dict[str, Any] = {"limits": ReactLimits(steps=16), "retrieve": retrieve, **more}
    return Kit(
        ask=unasked, toolbox=Toolbox({tool.name: tool for tool in tools}), sources=Sources("fence"), **given
    )


@dataclass
class Played:
    """What became of a run."""

    run: ReactRun
    events: list[Event]

    @property
    def nodes(self) -> list[str]:
        """The nodes in the order in which they were done."""
        return [str(item.payload["node"]) for item in self.events if item.type == "node_complete"]


async def play(kit: Kit, decide: Decide, question: str, *verdicts: Mapping[str, Any]) -> Played:
    """A run from the question to its answer, or until it waits for a word that nobody gives."""
    checkpoints = Checkpoints()
    try:
        run = ReactRun(kit, reading(decide), "run", await checkpoints.saver())
        events = [event async for event in run.begin(question)]
        for verdict in verdicts:
            assert run.waiting is not None
            word = {"approval_id": run.waiting["digest"], **verdict}
            kit = replace(kit)
            run = ReactRun(kit, reading(decide), "run", await checkpoints.saver())
            events += [event async for event in run.go_on(word)]
        return Played(run, events)
    finally:
        await checkpoints.close()


ANALYSIS = {
    "reasoning": "r",
    "target_operation": "DIAGNOSIS",
    "technical_summary": "web is down",
    "risk_level": "LOW",
}


def scripted(**forms: Sequence[Form | str]) -> Decide:
    """A model that gives forms in order, the last of each again and again."""
    left = {name: list(items) for name, items in forms.items()}
    left.setdefault("problem_analysis", [ANALYSIS])
    left.setdefault("words", ["Done."])

    def decide(name: str, _: str) -> Form | str:
        items = left[name]
        return items.pop(0) if len(items) > 1 else items[0]

    return decide
