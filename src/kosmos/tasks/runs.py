"""Runs: a question to an agent, followed, stopped, collected. Rights are checked here."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_session, require_space
from kosmos.agents.files import shipped_forms
from kosmos.agents.telling import message as make_message
from kosmos.bells import Ear, topics
from kosmos.db import agents as agent_table
from kosmos.db import runs as table
from kosmos.db import sessions as session_table
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.agents import AgentForm
from kosmos.domain.events import Event, EventType, StoredEvent
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import MessageRole, MessageType, Run, RunStatus, Session, SessionOrigin
from kosmos.domain.values import storable
from kosmos.errors import (
    Conflict,
    KosmosError,
    NotFound,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from kosmos.sessions.live import LiveRun
from kosmos.sessions.titles import first_title
from kosmos.tasks.literature import find_documents
from kosmos.tasks.run_closing import bury_run, close_run, park_run
from kosmos.tasks.run_dead import bury_dead
from kosmos.tasks.run_driving import Drive, spaces_of
from kosmos.tasks.run_models import models_of
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.workbench import Workbench
from kosmos.telemetry import measures

log = logging.getLogger(__name__)
POLL_SECONDS = 0.3
QUIET_SECONDS = 9.0
STOP_SECONDS = 3.0  # so long a run of another process may take to end before its stop is answered


async def start_run(bench: Workbench, who: Principal, session_id: str, wish: RunWish) -> Run:
    """Begin to answer a question in a session. The run goes on by itself, whoever follows it."""
    wish.check()
    await bury_dead(bench, session_id)
    async with bench.db.glance() as conn:
        session = await require_session(conn, who, session_id, need=Scope.WRITE)
        for space_id in wish.space_ids or ():
            await require_space(conn, who, space_id)
        agent = await agent_of(conn, session)
    wish.literature.check_for(agent)
    if wish.literature.doc_ids:
        await find_documents(bench, who, wish.literature.doc_ids, spaces_of(agent, wish))
    models = await models_of(bench, who, agent, wish.model, space_ids=spaces_of(agent, wish))
    if models:
        await bench.quotas.check_tokens(bench.db, bench.clock, user_id=who.user.id)
    run = _new_run(bench, session)
    async with bench.db.write() as conn:
        session = await require_session(conn, who, session_id, need=Scope.WRITE)
        try:
            async with conn.begin_nested():
                await table.insert_run(conn, run)
        except sa.exc.IntegrityError:
            raise Conflict(
                "An answer is under way in this session.", remedy="Wait for it, or stop that run."
            ) from None
        await _store_question(conn, bench, session, wish, run.id)
    drive = Drive(bench, who, run, session, agent, wish, models)
    live = LiveRun(run.id, session.id)
    bench.runs.start(bench.db, bench.clock, live, drive_on(bench, drive))
    return run


async def agent_of(conn: AsyncConnection, session: Session) -> AgentForm:
    """The agent of a session as it is now; where it is gone, the first that comes with Kosmos."""
    found = await agent_table.get_agent(conn, session.agent_id) if session.agent_id else None
    return found.form if found else _stand_in()


def _stand_in() -> AgentForm:
    return next(form for form in shipped_forms() if form.name == "knowledge assistant")


def _new_run(bench: Workbench, session: Session) -> Run:
    now = bench.clock()
    return Run(
        id=new_id(),
        session_id=session.id,
        agent_id=session.agent_id,
        status=RunStatus.RUNNING,
        error=None,
        worker=bench.runs.worker,
        stop_requested=False,
        spent=Spent(),
        seen_at=now,
        created_at=now,
        finished_at=None,
    )


async def _store_question(
    conn: AsyncConnection, bench: Workbench, session: Session, wish: RunWish, run_id: str
) -> None:
    now = bench.clock()
    asked = make_message(MessageRole.USER, MessageType.USER, wish.question, {})
    message = replace(asked, run_id=run_id)
    await session_table.lock_session(conn, session.id)
    await session_table.add_messages(conn, session.id, [message], now)
    if not session.title:
        title = first_title(wish.question)
        await session_table.update_session(conn, session.id, {"title": title}, now)


async def drive_on(bench: Workbench, drive: Drive) -> None:
    """Let a run go to its end, whichever that is."""
    title, began = asyncio.create_task(_name(bench, drive)), time.perf_counter()
    status, error = RunStatus.COMPLETED, None
    try:
        async for event in drive.events():
            bench.runs.emit(drive.run.id, event)
    except asyncio.CancelledError:
        willed = bench.runs.stopped_by_will(drive.run.id)
        status = RunStatus.STOPPED if willed else RunStatus.INTERRUPTED
    except KosmosError as failure:
        status, error = RunStatus.FAILED, failure
    except Exception:
        log.exception("a run broke", extra={"run": drive.run.id})
        status, error = RunStatus.FAILED, KosmosError("The run broke; the log has the details.")
    if status is RunStatus.COMPLETED:
        await asyncio.wait([title], timeout=0.0)
    try:
        await _leave(bench, drive, status, error)
    except Exception:
        log.exception("the end of a run could not be stored", extra={"run": drive.run.id})
    _tell(drive, status, time.perf_counter() - began)
    if status is not RunStatus.COMPLETED:
        title.cancel()
    await asyncio.gather(title, return_exceptions=True)


async def _leave(bench: Workbench, drive: Drive, status: RunStatus, error: KosmosError | None) -> None:
    """Store how far a run came: to its end, to a question, or to where the next process goes on."""
    if status is RunStatus.COMPLETED and drive.waiting is not None:
        await park_run(bench, drive)
    elif status is RunStatus.INTERRUPTED and drive.reacts:
        await bench.runs.flush(drive.run.id)
        bench.runs.finish(drive.run.id, ())
        async with bench.db.write() as conn:
            await table.let_go(conn, drive.run.id, bench.clock())
        bench.bell.ring(topics.DECIDED)
    else:
        await close_run(bench, drive, status, error=error)
        if drive.reacts:
            await bench.checkpoints.forget(drive.run.id)


def _tell(drive: Drive, status: RunStatus, seconds: float) -> None:
    """One log line with the ids of a run, and what is counted."""
    waits = status is RunStatus.COMPLETED and drive.waiting is not None
    ended = RunStatus.WAITING.value if waits else status.value
    measures.RUNS_ENDED.add(ended)
    ids = {"run_id": drive.run.id, "session_id": drive.session.id, "agent_id": drive.session.agent_id}
    spent = {"prompt_tokens": drive.total.prompt_tokens, "output_tokens": drive.total.output_tokens}
    extra = {**ids, "user_id": drive.who.user.id, "ended": ended, **spent, "cost": drive.total.cost}
    log.info("run", extra={**extra, "ms": round(seconds * 1000, 1)})


async def _name(bench: Workbench, drive: Drive) -> None:
    """Give a new session a title beside its first answer."""
    wanted = drive.session.origin is SessionOrigin.CHAT and not drive.session.title
    if not wanted or not drive.models or drive.agent.chat_options.get("title") is False:
        return
    if title := await drive.title():
        async with bench.db.write() as conn:
            await session_table.update_session(conn, drive.session.id, {"title": title}, bench.clock())
        bench.runs.emit(drive.run.id, Event(EventType.SESSION_TITLE, {"title": title}))


async def require_run(bench: Workbench, who: Principal, session_id: str, run_id: str) -> Run:
    """The run of a session of the caller."""
    async with bench.db.glance() as conn:
        await require_session(conn, who, session_id)
        run = await table.get_run(conn, run_id) if storable(run_id) else None
    if run is None or run.session_id != session_id:
        raise NotFound(f"There is no run {run_id}.", remedy="List the runs of the session.")
    return run


async def list_runs(bench: Workbench, who: Principal, session_id: str) -> list[Run]:
    """The runs of a session, newest first."""
    await bury_dead(bench, session_id, every=False)
    async with bench.db.read() as conn:
        await require_session(conn, who, session_id)
        return await table.list_runs(conn, session_id)


async def follow_run(
    bench: Workbench, who: Principal, session_id: str, run_id: str, *, after: int = 0, patient: bool = True
) -> AsyncIterator[StoredEvent | None]:
    """The events of a run behind a number, as they come, until it has ended; None is a sign of life.

    A run of this process is followed in memory, any other one in the table. Who is not `patient` does not
    follow a run that waits for somebody's word.
    """
    run = await require_run(bench, who, session_id, run_id)
    with bench.bell.listen(topics.run(run_id)) as ear:
        async for event in _follow(bench, run, after, ear, patient=patient):
            yield event


async def _follow(
    bench: Workbench, begun: Run, after: int, ear: Ear, *, patient: bool
) -> AsyncIterator[StoredEvent | None]:
    run_id, spoke = begun.id, time.monotonic()
    while True:
        live = bench.runs.live(run_id)
        if live is not None:
            async for event in live.follow(after):
                after = event.sequence if event is not None else after
                yield event
        async with bench.db.read() as conn:
            # In this order: a run that had ended before there were no more events has told everything.
            run = await table.get_run(conn, run_id)
            events = await table.events_after(conn, run_id, after)
        for stored in events:
            after = stored.sequence
            yield stored
        if events:
            spoke = time.monotonic()
            continue
        if run is None or run.status.ended or (run.status is RunStatus.WAITING and not patient):
            return
        await bury_dead(bench, begun.session_id, every=False)
        if time.monotonic() - spoke >= QUIET_SECONDS:
            spoke = time.monotonic()
            yield None
        await ear.rest(POLL_SECONDS)


async def stop_run(bench: Workbench, who: Principal, session_id: str, run_id: str) -> Run:
    """Stop a run. What it has said so far stays in the session."""
    async with bench.db.read() as conn:
        await require_session(conn, who, session_id, need=Scope.WRITE)
    run = await require_run(bench, who, session_id, run_id)
    if run.status.ended:
        return run
    live = bench.runs.live(run_id)
    if live is not None:
        bench.runs.stop(run_id)
        async for _ in live.follow(len(live.events)):
            pass
    else:
        await _stop_elsewhere(bench, run)
    return await require_run(bench, who, session_id, run_id)


async def _stop_elsewhere(bench: Workbench, run: Run) -> None:
    """Stop a run that does not go on here; its process is told, and a moment is given to it."""
    await bury_dead(bench, run.session_id)
    with bench.bell.listen(topics.run(run.id)) as ear:
        async with bench.db.write() as conn:
            await table.request_stop(conn, run.id)
            if run.status is RunStatus.WAITING:
                await bury_run(conn, bench, run, as_status=RunStatus.STOPPED)
        bench.bell.ring(topics.run(run.id), topics.hall(run.worker))
        if run.status is RunStatus.WAITING:
            await bench.checkpoints.forget(run.id)
        until = time.monotonic() + STOP_SECONDS
        while bench.bell.carries and time.monotonic() < until:
            async with bench.db.glance() as conn:
                now = await table.get_run(conn, run.id)
            if now is None or now.status.ended:
                return
            await ear.rest(POLL_SECONDS)


async def collect_run(bench: Workbench, who: Principal, session_id: str, run_id: str) -> dict[str, Any]:
    """Wait for a run: its answer, or the error that it ended with."""
    payloads: dict[EventType, dict[str, Any]] = {}
    async for event in follow_run(bench, who, session_id, run_id, patient=False):
        if event is not None:
            payloads[event.type] = dict(event.payload)
    if EventType.FINAL_ANSWER in payloads:
        return payloads[EventType.FINAL_ANSWER]
    if EventType.APPROVAL_REQUEST in payloads and EventType.RUN_END not in payloads:
        asked = payloads[EventType.APPROVAL_REQUEST]["approval_id"]
        raise Conflict(
            f"The run waits for your approval {asked}.",
            remedy=f"Look at it with: kosmos approvals list; then: kosmos approvals approve {asked}",
        )
    raise failure_of(payloads.get(EventType.ERROR))


def failure_of(payload: Mapping[str, Any] | None) -> KosmosError:
    """The error that a run told of; one that told of none was stopped."""
    if payload is None:
        return Conflict(
            "The run was stopped before there was an answer.", remedy="The session can go on: ask again."
        )
    kinds: dict[str, type[ProviderError]] = {
        "ProviderBusy": ProviderBusy,
        "ProviderRejected": ProviderRejected,
    }
    usual = ProviderUnavailable if payload.get("retryable") else ProviderError
    kind = kinds.get(str(payload.get("error")), usual)
    return kind(str(payload["message"]), remedy=payload.get("remedy"))
