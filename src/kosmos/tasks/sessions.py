"""Sessions as their owners handle them. Rights are checked here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kosmos.accounts.access import require_scope, require_session, resolve_agent
from kosmos.db import sessions as rows
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.ids import new_id
from kosmos.domain.sessions import Message, Session, SessionOrigin
from kosmos.domain.values import check_json, check_text
from kosmos.tasks.workbench import Workbench

MAX_TITLE = 200
MAX_METADATA = 32 * 1024


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be made; `agent` is a name or an id."""

    agent: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: SessionOrigin = SessionOrigin.CHAT


async def create_session(bench: Workbench, who: Principal, new: NewSession) -> Session:
    """A new session of the caller with an agent."""
    require_scope(who, Scope.WRITE)
    now = bench.clock()
    async with bench.db.write() as conn:
        agent = await resolve_agent(conn, who, new.agent)
        session = Session(
            id=new_id(),
            owner_id=who.user.id,
            agent_id=agent.id,
            title=check_text(new.title.strip(), what="title", most=MAX_TITLE),
            origin=new.origin,
            metadata=check_json(new.metadata, what="metadata", most=MAX_METADATA),
            total_token_count=0,
            message_count=0,
            created_at=now,
            updated_at=now,
        )
        await rows.insert_session(conn, session)
    return session


async def list_sessions(
    bench: Workbench,
    who: Principal,
    *,
    origin: SessionOrigin = SessionOrigin.CHAT,
    before: str = "",
    limit: int = 100,
) -> list[Session]:
    """The caller's sessions, newest first."""
    require_scope(who, Scope.READ)
    async with bench.db.read() as conn:
        return await rows.list_sessions(conn, who.user.id, origin=origin, before=before, limit=limit)


async def get_session(bench: Workbench, who: Principal, session_id: str) -> Session:
    """One session."""
    async with bench.db.read() as conn:
        return await require_session(conn, who, session_id)


async def change_session(
    bench: Workbench, who: Principal, session_id: str, *, title: str | None, agent: str | None
) -> Session:
    """Give a session another title, or another agent from the next question on."""
    values: dict[str, Any] = {}
    async with bench.db.write() as conn:
        await require_session(conn, who, session_id, need=Scope.WRITE)
        if title is not None:
            values["title"] = check_text(title.strip(), what="title", most=MAX_TITLE)
        if agent is not None:
            values["agent_id"] = (await resolve_agent(conn, who, agent)).id
        await rows.update_session(conn, session_id, values, bench.clock())
        return await require_session(conn, who, session_id)


async def remove_session(bench: Workbench, who: Principal, session_id: str) -> None:
    """Remove a session with everything that was said in it; a run under way is stopped."""
    async with bench.db.write() as conn:
        await require_session(conn, who, session_id, need=Scope.WRITE)
        await rows.delete_session(conn, session_id)
    bench.runs.drop_session(session_id)


async def list_messages(
    bench: Workbench, who: Principal, session_id: str, *, after: int = 0, limit: int = 100
) -> list[Message]:
    """The messages of a session behind a position, compressed ones too."""
    async with bench.db.read() as conn:
        await require_session(conn, who, session_id)
        return await rows.list_messages(conn, session_id, after=after, limit=limit)
