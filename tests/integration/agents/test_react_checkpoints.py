"""Checkpoints on both engines: a run goes on after its process is gone; strangers are not made."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from kosmos.agents.react.checkpoints import Checkpoints
from kosmos.agents.react.kit import Kit
from kosmos.agents.react.run import ReactRun
from kosmos.agents.react.schemas import ExecutionPlan, PlanAction
from kosmos.agents.sources import Sources
from kosmos.domain.jobs import Spent
from kosmos.llm.chat import Call
from kosmos.llm.streaming import Inquiry, StreamedCall, Turn
from kosmos.tools.contract import ToolOutput, make_tool
from kosmos.tools.registry import Toolbox

FORMS: dict[str, dict[str, Any]] = {
    "problem_analysis": {
        "reasoning": "",
        "target_operation": "RESTART",
        "technical_summary": "s",
        "risk_level": "LOW",
    },
    "execution_plan": {"reasoning": "", "action": "TOOL_USE", "tool_name": "restart", "tool_args": {}},
    "self_evaluation": {"reasoning": "", "status": "PASS", "next_step": "TO_EXPRESSION", "evidence": ["T1"]},
}


class Stranger(BaseModel):
    """A class that no checkpoint may bring to life."""

    value: int = 1


async def infer(inquiry: Inquiry) -> AsyncGenerator[Any, None]:
    if not inquiry.tools:
        yield Turn("Restarted (T1).", "", (), "stop", Spent(), "m")
        return
    name = inquiry.tools[0]["function"]["name"]
    yield Turn("", "", (StreamedCall("c", Call(name, FORMS[name], "")),), "tool_calls", Spent(), "m")


class Allowing:
    async def use(self, approval_id: str, digest: str) -> str | None:
        return None


def kit(ran: list[str]) -> Kit:
    async def restart() -> ToolOutput:
        """Restart."""
        ran.append("restart")
        return ToolOutput(data="ok")

    async def unbound(*_: Any) -> Any:
        raise AssertionError

    box = Toolbox({"restart": make_tool(restart, read_only=False)})
    return Kit(ask=unbound, toolbox=box, sources=Sources("f"), approvals=Allowing())


async def test_a_run_goes_on_from_the_table(database_url: str) -> None:
    ran: list[str] = []
    first = Checkpoints(database_url)
    run = ReactRun(kit(ran), infer, "run", await first.saver())
    async for _ in run.begin("Restart it."):
        pass
    assert run.waiting is not None
    await first.close()

    second = Checkpoints(database_url)
    try:
        run = ReactRun(kit(ran), infer, "run", await second.saver())
        async for _ in run.go_on():
            pass
        assert run.waiting is not None, "nobody has said a word yet"
        assert ran == []
        async for _ in run.go_on({"approved": True, "approval_id": "a"}):
            pass
        assert ran == ["restart"]
        assert run.state["plan"] == ExecutionPlan(
            reasoning="", action=PlanAction.TOOL_USE, tool_name="restart", tool_args={}
        )
        await second.forget("run")
        config: Any = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
        assert await (await second.saver()).aget_tuple(config) is None
    finally:
        await second.close()


async def test_strangers_are_not_brought_to_life() -> None:
    checkpoints = Checkpoints()
    try:
        serde = (await checkpoints.saver()).serde
        sys.modules[Stranger.__module__] = sys.modules[__name__]
        assert not isinstance(serde.loads_typed(serde.dumps_typed(Stranger())), Stranger)
        plan = ExecutionPlan(reasoning="r", action=PlanAction.RETRIEVE)
        assert serde.loads_typed(serde.dumps_typed(plan)) == plan
    finally:
        await checkpoints.close()


async def test_a_run_that_waits_goes_on_from_another_engine(database_url: str, tmp_path: Path) -> None:
    """What one engine keeps of it becomes bytes, and the other one goes on from those."""
    ran: list[str] = []
    here, there = Checkpoints(f"sqlite:///{tmp_path}/here.db"), Checkpoints(database_url)
    back = Checkpoints(f"sqlite:///{tmp_path}/back.db")
    try:
        run = ReactRun(kit(ran), infer, "run", await here.saver())
        async for _ in run.begin("Restart it."):
            pass
        for source, target in ((here, there), (there, back)):
            kept = await source.pack("run")
            assert kept is not None
            await target.unpack("run", *kept)
            await source.forget("run")
            assert await source.pack("run") is None
        run = ReactRun(kit(ran), infer, "run", await back.saver())
        async for _ in run.go_on({"approved": True, "approval_id": "a"}):
            pass
        assert ran == ["restart"]
    finally:
        for one in (here, there, back):
            await one.close()


@pytest.mark.parametrize(("kind", "data"), [("pickle", b"x"), ("json", b"[]"), ("msgpack", b"\x90")])
async def test_bytes_that_are_no_checkpoint_are_refused(kind: str, data: bytes) -> None:
    checkpoints = Checkpoints()
    try:
        with pytest.raises(ValueError):
            await checkpoints.unpack("run", kind, data)
        assert await checkpoints.pack("run") is None
    finally:
        await checkpoints.close()
