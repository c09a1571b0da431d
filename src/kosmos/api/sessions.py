"""Routes: sessions and their messages."""

from typing import Annotated

from fastapi import APIRouter, Query

from kosmos.api.agent_shapes import MessageOut, SessionChange, SessionIn, SessionOut
from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.shapes import Page
from kosmos.domain.sessions import SessionOrigin
from kosmos.tasks import sessions
from kosmos.tasks.sessions import NewSession

router = APIRouter(prefix="/sessions", tags=["sessions"])
Position = Annotated[int, Query(ge=0, le=2**31 - 1, description="Position of the last message seen.")]


@router.get("")
async def list_sessions(
    app: TheApp,
    who: Caller,
    origin: SessionOrigin = SessionOrigin.CHAT,
    after: After = "",
    limit: Limit = 100,
) -> Page[SessionOut]:
    """Your sessions, newest first."""
    found = await sessions.list_sessions(app.bench, who, origin=origin, before=after, limit=limit)
    return Page(
        items=[SessionOut.model_validate(item) for item in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.post("", status_code=201)
async def create_session(app: TheApp, who: Caller, form: SessionIn) -> SessionOut:
    """Begin a talk with an agent."""
    new = NewSession(agent=form.agent, title=form.title, metadata=form.metadata)
    return SessionOut.model_validate(await sessions.create_session(app.bench, who, new))


@router.get("/{session_id}")
async def get_session(app: TheApp, who: Caller, session_id: Id) -> SessionOut:
    """One session."""
    return SessionOut.model_validate(await sessions.get_session(app.bench, who, session_id))


@router.patch("/{session_id}")
async def change_session(app: TheApp, who: Caller, session_id: Id, form: SessionChange) -> SessionOut:
    """Give a session another title, or another agent from the next question on."""
    changed = await sessions.change_session(app.bench, who, session_id, title=form.title, agent=form.agent)
    return SessionOut.model_validate(changed)


@router.delete("/{session_id}", status_code=204)
async def remove_session(app: TheApp, who: Caller, session_id: Id) -> None:
    """Remove a session with everything that was said in it."""
    await sessions.remove_session(app.bench, who, session_id)


@router.get("/{session_id}/messages")
async def list_messages(
    app: TheApp, who: Caller, session_id: Id, after: Position = 0, limit: Limit = 100
) -> Page[MessageOut]:
    """The messages of a session in their order, compressed ones too."""
    found = await sessions.list_messages(app.bench, who, session_id, after=after, limit=limit)
    return Page(
        items=[MessageOut.model_validate(item) for item in found],
        next=str(found[-1].position) if len(found) == limit else None,
    )
