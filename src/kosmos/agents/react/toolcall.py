"""ToolCall: makes the planned call, after a person has said yes where it could change anything.

On its way back from an interruption the node runs again from its top: before `interrupt` nothing may
happen that must not happen twice.
"""

import time
from collections.abc import Mapping
from typing import Any

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.schemas import ExecutionPlan
from kosmos.agents.react.state import AgentState, CallNote, Notes, calls_of, notes_of
from kosmos.agents.sources import reference
from kosmos.domain.events import Event, EventType
from kosmos.tools.contract import MalformedCall, ToolOutput
from kosmos.tools.registry import ToolFailed
from kosmos.tools.reviewing import Review, review_call
from kosmos.tools.secrecy import hide_in, hide_secrets

MOST_CHARS = 16_000  # of one result
_SAME = "This very call has failed before: it was not made again."


async def call_tool(state: AgentState, kit: Kit) -> dict[str, Any]:
    """The result of the planned call, or why it was not made."""
    plan = state.get("plan") or ExecutionPlan(reasoning="", action="TOOL_USE")  # type: ignore[arg-type]
    name, given = plan.tool_name or "", plan.tool_args or {}
    identity = f"T{len(calls_of(state)) + 1}"
    try:
        arguments = kit.toolbox.check(name, given, "")
    except MalformedCall as error:
        return _note(state, kit, _failed(identity, name, given, str(error)))
    judged = plan.risk_level.value if plan.risk_level else None
    review = review_call(kit.toolbox.tools[name], arguments, judged)
    if _has_failed(state, review):
        return _note(state, kit, _failed(identity, name, given, _SAME, digest=review.digest))
    request = request_of(state, name, given, review)
    if review.needs_approval and (problem := await _ask_person(kit, request, review)):
        refused = problem.startswith("Refused")
        return _note(
            state, kit, _failed(identity, name, given, problem, digest=review.digest, refused=refused)
        )
    granted = kit.toolbox.tools[name].labels.get("granted")
    if review.needs_approval and granted is not None:
        arguments = granted(arguments)
    return _note(state, kit, *await _run(kit, identity, name, arguments, given, review))


async def _ask_person(kit: Kit, request: Mapping[str, Any], review: Review) -> str | None:
    """None once exactly this call is allowed and the permission is used up; else why it is not."""
    from langgraph.types import interrupt

    verdict = interrupt(request)
    if not isinstance(verdict, Mapping) or verdict.get("approved") is not True:
        reason = str(verdict.get("reason") or "") if isinstance(verdict, Mapping) else ""
        return f"Refused by a person. {reason}".strip()
    return await kit.approvals.use(str(verdict.get("approval_id", "")), review.digest)


def request_of(state: AgentState, name: str, given: Mapping[str, Any], review: Review) -> dict[str, Any]:
    """What a person is asked to allow, and what became of it when this run tried it before."""
    earlier = [call["text"][:500] for call in calls_of(state) if call["digest"] == review.digest]
    return {
        "call": f"T{len(calls_of(state)) + 1}",
        "earlier": earlier,
        "tool": name,
        "arguments": dict(given),
        "argv": list(review.argv) if review.argv is not None else None,
        "level": review.level,
        "reason": review.reason,
        "context": review.context,
        "namespace": review.namespace,
        "mutates": review.mutates,
        "digest": review.digest,
    }


def _has_failed(state: AgentState, review: Review) -> bool:
    """Whether this very call has failed at its last try and once before: a third time brings nothing."""
    return [call["ok"] for call in calls_of(state) if call["digest"] == review.digest][-2:] == [False, False]


async def _run(
    kit: Kit, identity: str, name: str, arguments: dict[str, Any], given: Mapping[str, Any], review: Review
) -> tuple[CallNote, list[int], float]:
    kit.tell(Event(EventType.TOOL_CALL, {"id": identity, "name": name, "arguments": hide_in(given)}))
    started, numbers = time.perf_counter(), list[int]()
    try:
        output = await kit.toolbox.run(name, arguments)
        ok = not output.failed
        text, numbers = _standard(output, kit)
    except ToolFailed as error:
        ok, text = False, hide_secrets(str(error))
    note = CallNote(
        id=identity,
        name=name,
        arguments=hide_in(given),
        ok=ok,
        text=text,
        refused=False,
        digest=review.digest,
    )
    return note, numbers, time.perf_counter() - started


def _standard(output: ToolOutput, kit: Kit) -> tuple[str, list[int]]:
    """A result as the model sees it: passages numbered, secrets hidden, never too long."""
    shown, numbers = kit.sources.show(output.passages)
    parts = [hide_secrets(output.text), shown, hide_secrets(output.data)]
    text = "\n\n".join(part for part in parts if part) or "Done."
    if len(text) > MOST_CHARS:
        left, half = len(text) - MOST_CHARS, MOST_CHARS // 2
        text = f"{text[:half]}\n… {left} characters left out …\n{text[-half:]}"
    return text, numbers


def _failed(
    identity: str, name: str, given: Mapping[str, Any], text: str, *, digest: str = "", refused: bool = False
) -> CallNote:
    return CallNote(
        id=identity,
        name=name[:200],
        arguments=hide_in(given),
        ok=False,
        text=text,
        refused=refused,
        digest=digest,
    )


def _note(
    state: AgentState, kit: Kit, note: CallNote, numbers: list[int] | None = None, seconds: float = 0.0
) -> dict[str, Any]:
    """The state with a call more."""
    from langchain_core.messages import AIMessage, ToolMessage

    notes: Notes = notes_of(state)
    notes["calls"] = [*notes.get("calls", []), note]
    notes["failures"] = 0 if note["ok"] else notes.get("failures", 0) + (0 if note["refused"] else 1)
    seen = [reference(number, kit.sources.seen[number]) for number in numbers or []]
    fresh = {str(item["number"]): dict(item) for item in seen}
    notes["references"] = {**notes.get("references", {}), **fresh}
    told = {
        "id": note["id"],
        "name": note["name"],
        "ok": note["ok"],
        "sources": seen,
        "seconds": round(seconds, 3),
    }
    kit.tell(Event(EventType.TOOL_RESULT, told if note["ok"] else {**told, "error": note["text"][:2000]}))
    call = {"name": note["name"], "args": dict(note["arguments"]), "id": note["id"]}
    messages = [
        AIMessage(content="", tool_calls=[call]),
        ToolMessage(
            content=note["text"], tool_call_id=note["id"], status="success" if note["ok"] else "error"
        ),
    ]
    error = None if note["ok"] else note["text"][:500]
    return {"messages": messages, "tool_output": note["text"], "metadata": notes, "error": error}
