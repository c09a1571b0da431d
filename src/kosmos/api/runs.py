"""Routes: runs of agents in a session, streamed, replayed, stopped."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from kosmos.api.agent_shapes import EventOut, RunAnswerOut, RunIn, RunOut
from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.shapes import EVENTS, Page
from kosmos.api.streams import stream
from kosmos.domain.accounts import Principal
from kosmos.domain.events import THINKING, StoredEvent
from kosmos.tasks import runs

router = APIRouter(prefix="/sessions/{session_id}/runs", tags=["runs"])
MAX_SEQUENCE = 2**31 - 1
RUN_HEADER = "Kosmos-Run-ID"
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events as they come, or the answer.", "content": {"text/event-stream": {}}}
}


@router.post("", response_model=RunAnswerOut, responses=_STREAM)
async def create_run(app: TheApp, who: Caller, session_id: Id, form: RunIn) -> Any:
    """Ask a question in a session: server-sent events, or with `stream: false` the answer alone.

    The run goes on when the connection breaks; `events` of the run replays it from any number on.
    """
    run = await runs.start_run(app.bench, who, session_id, form.wish())
    headers = {RUN_HEADER: run.id, "Cache-Control": "no-store"}
    if form.stream:
        events = runs.follow_run(app.bench, who, session_id, run.id)
        lines = _lines(events, show_thinking=form.show_thinking)
        return stream(app, lines, headers)
    answer = await runs.collect_run(app.bench, who, session_id, run.id)
    body = RunAnswerOut.model_validate(answer).model_dump_json()
    return Response(body, media_type="application/json", headers=headers)


@router.get("")
async def list_runs(app: TheApp, who: Caller, session_id: Id) -> Page[RunOut]:
    """The runs of a session, newest first."""
    found = await runs.list_runs(app.bench, who, session_id)
    return Page(items=[RunOut.model_validate(item) for item in found])


@router.get("/{run_id}")
async def get_run(app: TheApp, who: Caller, session_id: Id, run_id: Id) -> RunOut:
    """One run."""
    return RunOut.model_validate(await runs.require_run(app.bench, who, session_id, run_id))


@router.get("/{run_id}/events", response_class=StreamingResponse, responses=EVENTS)
async def run_events(
    app: TheApp,
    who: Caller,
    session_id: Id,
    run_id: Id,
    after: Annotated[int, Query(ge=0, le=MAX_SEQUENCE, description="The last event already seen.")] = 0,
    show_thinking: bool = True,
    last_event_id: Annotated[str | None, Header(pattern=r"^\d{1,9}$")] = None,
) -> StreamingResponse:
    """The events of a run as server-sent events, until it has ended.

    Reconnect with `Last-Event-ID` (or `after`) to go on where you were, also after a restart of the server.
    """
    start = int(last_event_id) if last_event_id else after
    await runs.require_run(app.bench, who, session_id, run_id)  # what is wrong is said before the stream
    lines = _lines(_events(app, who, session_id, run_id, start), show_thinking=show_thinking)
    return stream(app, lines)


def _events(
    app: TheApp, who: Principal, session_id: str, run_id: str, after: int
) -> AsyncIterator[StoredEvent | None]:
    return runs.follow_run(app.bench, who, session_id, run_id, after=after)


@router.post("/{run_id}/stop")
async def stop_run(app: TheApp, who: Caller, session_id: Id, run_id: Id) -> RunOut:
    """Stop a run. What it has said so far stays in the session."""
    return RunOut.model_validate(await runs.stop_run(app.bench, who, session_id, run_id))


async def _lines(events: AsyncIterator[StoredEvent | None], *, show_thinking: bool) -> AsyncIterator[str]:
    async for event in events:
        if event is None:
            yield ": still here\n\n"
        elif show_thinking or event.type not in THINKING:
            yield f"id: {event.sequence}\nevent: {event.type}\ndata: {_body(event)}\n\n"


def _body(event: StoredEvent) -> str:
    shown = EventOut.model_construct(
        run_id=event.run_id,
        sequence=event.sequence,
        type=event.type,
        payload=event.payload,
        created_at=event.created_at,
    )
    values = {**shown.__dict__, "type": event.type.value, "created_at": event.created_at.isoformat()}
    return json.dumps(values, ensure_ascii=False)
