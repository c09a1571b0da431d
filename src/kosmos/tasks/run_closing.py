"""The end of a run, whichever it is: what was said enters the session, the run its last state, in one go."""

import asyncio
import logging
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.agents.telling import message as make_message
from kosmos.agents.telling import usage_of
from kosmos.db import runs as run_table
from kosmos.db import sessions as session_table
from kosmos.db.approvals import cancel_pending, insert_approval
from kosmos.domain.events import Event, EventType, StoredEvent
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, MessageRole, MessageType, Run, RunStatus
from kosmos.errors import EngineUnavailable, KosmosError
from kosmos.tasks.approvals import make_approval
from kosmos.tasks.run_driving import Drive
from kosmos.tasks.run_hall import TRIES, pause_before
from kosmos.tasks.workbench import Workbench

log = logging.getLogger(__name__)
_NO_ANSWER = {
    RunStatus.STOPPED: "(Stopped before there was an answer.)",
    RunStatus.FAILED: "(No answer: the run failed.)",
    RunStatus.INTERRUPTED: "(No answer: the server ended before there was one.)",
}


async def close_run(
    bench: Workbench, drive: Drive, status: RunStatus, *, error: KosmosError | None = None
) -> None:
    """Store how a run ended, and tell everybody who follows it."""
    last = await bench.runs.flush(drive.run.id)
    events = [_error(error)] if error else []
    events.append(Event(EventType.RUN_END, {"status": status.value, "usage": usage_of(drive.total)}))
    now = bench.clock()
    stored = [
        StoredEvent(drive.run.id, number, event.type, event.payload, now)
        for number, event in enumerate(events, start=last + 1)
    ]
    message = error.message if error else None
    ended = False
    try:
        for attempt in range(TRIES):
            try:
                ended = await _store_end(bench, drive, status, message, stored)
                break
            except EngineUnavailable:
                if attempt + 1 == TRIES:
                    raise
                await asyncio.sleep(pause_before(attempt + 1))
    finally:
        # Where another has ended it, or an earlier try did without being told so, the table has the end.
        bench.runs.finish(drive.run.id, stored if ended else ())


async def _store_end(
    bench: Workbench, drive: Drive, status: RunStatus, message: str | None, stored: list[StoredEvent]
) -> bool:
    """Store the last words and events of a run; False when it had ended before."""
    metadata = {**drive.session.metadata, "last_number": max(drive.last_number, drive.past.last_number)}
    now = bench.clock()
    async with bench.db.write() as conn:
        ended = await run_table.end_run(conn, drive.run.id, status, error=message, spent=drive.total, now=now)
        if ended:
            await session_table.lock_session(conn, drive.session.id)
            made = [replace(one, run_id=drive.run.id) for one in _messages(drive, status, message)]
            await session_table.add_messages(conn, drive.session.id, made, now)
            await session_table.update_session(conn, drive.session.id, {"metadata": metadata}, now)
            await run_table.insert_events(conn, stored, {drive.run.id: drive.session.id})
    return ended


def _error(error: KosmosError) -> Event:
    payload = {"error": type(error).__name__, "message": error.message, "remedy": error.remedy}
    return Event(EventType.ERROR, {**payload, "retryable": error.retryable})


def _messages(drive: Drive, status: RunStatus, error: str | None) -> list[Message]:
    """The talk as it goes on: a call of a tool without its result would be refused by every model."""
    answer, loop = drive.answer, drive.loop
    if answer is not None:
        metadata: dict[str, Any] = {
            "citations": [asdict(item) for item in answer.citations],
            "usage": dict(answer.usage),
            "strategy": answer.strategy,
            "model": loop.model if loop else None,
            "chat_options": dict(drive.agent.chat_options),
        }
        return [*drive.messages, _said(answer.answer, metadata)]
    partial = loop.partial if loop else ""
    return [*drive.messages, _said(partial or _NO_ANSWER[status], _unfinished(status, error))]


def _said(text: str, metadata: dict[str, Any]) -> Message:
    return make_message(MessageRole.ASSISTANT, MessageType.ASSISTANT, text, metadata)


def _unfinished(status: RunStatus, error: str | None) -> dict[str, Any]:
    return {"status": status.value, **({"error": error} if error else {})}


async def park_run(bench: Workbench, drive: Drive) -> None:
    """Let a run wait for somebody's word: what it asks for is stored together with that it waits."""
    asked = drive.waiting or {}
    last = await bench.runs.flush(drive.run.id)
    approval = make_approval(bench, drive.run, drive.session, asked)
    until = approval.expires_at.isoformat()
    payload = {**asked, "approval_id": approval.id, "expires_at": until}
    stored = [StoredEvent(drive.run.id, last + 1, EventType.APPROVAL_REQUEST, payload, bench.clock())]
    try:
        async with bench.db.write() as conn:
            if await run_table.park_run(conn, drive.run.id, drive.total):
                await insert_approval(conn, approval)
                await run_table.insert_events(conn, stored, {drive.run.id: drive.session.id})
    finally:
        bench.runs.finish(drive.run.id, stored)


async def bury_run(
    conn: AsyncConnection, bench: Workbench, run: Run, *, as_status: RunStatus = RunStatus.INTERRUPTED
) -> list[StoredEvent]:
    """Let a run end whose process is gone, with what it had said; nothing if it had ended before.

    Nothing either when another process has taken it meanwhile.
    """
    me, now = bench.runs.worker, bench.clock()
    if not await run_table.claim_run(conn, run.id, run.status, before=run.worker, worker=me, now=now):
        return []
    events, after = list[StoredEvent](), 0
    while page := await run_table.events_after(conn, run.id, after):
        events += page
        after = page[-1].sequence
    answers = [event.payload for event in events if event.type is EventType.FINAL_ANSWER]
    status = RunStatus.COMPLETED if answers else as_status
    if not await run_table.end_run(conn, run.id, status, error=None, spent=_spent(events), now=now):
        return []
    await cancel_pending(conn, run.id, now)
    if answers:
        message = _said(str(answers[-1]["answer"]), {"citations": answers[-1]["citations"]})
    else:
        message = _said(_partial(events) or _NO_ANSWER[status], _unfinished(status, None))
    await session_table.lock_session(conn, run.session_id)
    await session_table.add_messages(conn, run.session_id, [replace(message, run_id=run.id)], now)
    payload = {"status": status.value, "usage": usage_of(_spent(events))}
    stored = [StoredEvent(run.id, after + 1, EventType.RUN_END, payload, now)]
    await run_table.insert_events(conn, stored, {run.id: run.session_id})
    return stored


def _partial(events: list[StoredEvent]) -> str:
    said: list[str] = []
    for event in events:
        if event.type is EventType.ANSWER_RETRACTED:
            said = []
        elif event.type is EventType.ANSWER_CHUNK:
            said.append(str(event.payload.get("text", "")))
    return "".join(said).strip()


def _spent(events: list[StoredEvent]) -> Spent:
    names = ("prompt_tokens", "cached_tokens", "output_tokens", "cost")
    used = [event.payload for event in events if event.type is EventType.USAGE]
    return sum((Spent(**{name: item.get(name, 0) for name in names}) for item in used), start=Spent())
