"""Runs of the graph in a small instance: a scripted model behind real HTTP, and a kubectl that only notes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from kosmos.domain.events import EventType, StoredEvent
from kosmos.doubles.model_server import Reply, ToolCall
from kosmos.tools.contract import Tool, ToolOutput, make_tool

from .scene import Scene
from .talks import Talk, payloads, talk_with

Body = dict[str, Any]
RUNBOOK = """# Runbook of the web shop

## Pending pods

A pod stays Pending when no node has enough memory. Check the requests with kubectl describe.

## 重启服务

重启 web 服务之前先确认副本数不少于 2，然后执行 kubectl rollout restart。
"""


def analysis(operation: str = "DIAGNOSIS", risk: str = "LOW", **more: Any) -> Body:
    """What the model makes of a question."""
    return {
        "reasoning": "The user wants something.",
        "entities": [{"name": "web", "kind": "Pod"}],
        "target_operation": operation,
        "technical_summary": "pod web pending memory",
        "risk_level": risk,
        **more,
    }


def retrieve(*queries: str) -> Body:
    """A plan to look something up."""
    return {"reasoning": "Look.", "action": "RETRIEVE", "search_queries": list(queries or ("pending pod",))}


def kubectl(*argv: str, **more: Any) -> Body:
    """A plan to call kubectl."""
    planned = {"reasoning": "See.", "action": "TOOL_USE", "tool_name": "kubectl"}
    return {**planned, "tool_args": {"argv": list(argv)}, **more}


def answer(text: str | None = None) -> Body:
    """A plan to answer."""
    return {"reasoning": "Enough.", "action": "DIRECT_ANSWER", "final_answer": text}


def judge(status: str = "PASS", step: str = "TO_PLANNING", *evidence: str, feedback: str = "") -> Body:
    """A judgement."""
    return {
        "reasoning": "So it is.",
        "status": status,
        "next_step": step,
        "evidence": list(evidence),
        "feedback": feedback,
    }


@dataclass
class Mind:
    """A scripted model: what it fills in for each form, in order; `seen` is what it was asked."""

    analyses: list[Any] = field(default_factory=lambda: [analysis()])
    plans: list[Any] = field(default_factory=list)
    judgements: list[Any] = field(default_factory=list)
    words: list[str] = field(default_factory=lambda: ["That is all."])
    seen: list[tuple[str, Body]] = field(default_factory=list)

    def __call__(self, body: Body) -> Reply:
        tools = body.get("tools")
        name = tools[0]["function"]["name"] if tools else "words"
        self.seen.append((name, body))
        forms = {
            "problem_analysis": self.analyses,
            "execution_plan": self.plans,
            "self_evaluation": self.judgements,
        }
        if name not in forms:
            return Reply(content=_next(self.words))
        given = _next(forms[name])
        if isinstance(given, Reply):
            return given
        return Reply(tool_calls=(ToolCall(name, given),))

    def asked(self, name: str) -> list[str]:
        """The user's part of the requests for a form."""
        return [str(body["messages"][-1]["content"]) for found, body in self.seen if found == name]

    def systems(self, name: str) -> list[str]:
        """The system's part of the requests for a form."""
        return [str(body["messages"][0]["content"]) for found, body in self.seen if found == name]


def _next(items: list[Any]) -> Any:
    return items.pop(0) if len(items) > 1 else items[0]


@dataclass
class Cluster:
    """A kubectl that notes what it was told and answers from a table."""

    outputs: Mapping[str, str] = field(default_factory=dict)
    ran: list[list[str]] = field(default_factory=list)

    @property
    def changes(self) -> list[list[str]]:
        """What was run that changes something."""
        reads = ("get", "describe", "logs", "top", "diff")
        return [argv for argv in self.ran if argv[0] not in reads and "--dry-run=server" not in argv]

    def tool(self) -> Tool:
        """The tool."""

        async def run(argv: Annotated[list[str], Field(description="Behind kubectl.")]) -> ToolOutput:
            """Run kubectl with these arguments."""
            self.ran.append(argv)
            for words, output in self.outputs.items():
                if words in " ".join(argv):
                    return ToolOutput(data=output, failed=output.startswith("error"))
            return ToolOutput(data="NAME READY STATUS\nweb 0/1 Pending")

        labels = {"argv": "argv", "program": ("kubectl",)}
        return replace(make_tool(run, read_only=False), name="kubectl", labels=labels)


async def react_with(scene: Scene, cluster: Cluster | None = None, **form: Any) -> Talk:
    """A session with an agent of the graph."""
    tools = (cluster.tool(),) if cluster is not None else ()
    form = {"workflow": "react", "step_limit": 16, **form}
    return await talk_with(scene.using(ops_tools=tools), **form)


def nodes(events: list[StoredEvent]) -> list[str]:
    """The nodes in the order in which they were done."""
    return [item["node"] for item in payloads(events, EventType.NODE_COMPLETE)]
