"""Who may see and change agents and sessions."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts import access
from kosmos.agents.files import make_form
from kosmos.db import Database, agents, sessions
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.agents import Agent
from kosmos.domain.ids import new_id
from kosmos.domain.sessions import Session, SessionOrigin
from kosmos.errors import Forbidden, NotFound

Enroll = Callable[..., Awaitable[Principal]]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def _agent(conn: AsyncConnection, owner: Principal | None, name: str = "helper") -> str:
    agent = Agent(new_id(), owner.user.id if owner else None, make_form({"name": name}), NOW, NOW)
    await agents.insert_agent(conn, agent)
    return agent.id


async def _session(conn: AsyncConnection, owner: Principal) -> str:
    session = Session(new_id(), owner.user.id, None, "t", SessionOrigin.CHAT, {}, 0, 0, NOW, NOW)
    await sessions.insert_session(conn, session)
    return session.id


async def test_agents(db: Database, enroll: Enroll) -> None:
    ada, eve = await enroll("ada"), await enroll("eve")
    async with db.write() as conn:
        mine, shared = await _agent(conn, ada), await _agent(conn, None)
        assert (await access.require_agent(conn, ada, mine, change=True)).id == mine
        for change in (False, True):
            with pytest.raises(NotFound):
                await access.require_agent(conn, eve, mine, change=change)
        assert (await access.require_agent(conn, eve, shared, change=False)).id == shared
        with pytest.raises(Forbidden):
            await access.require_agent(conn, eve, shared, change=True)
        reader = replace(ada, scope=Scope.READ)
        assert (await access.require_agent(conn, reader, mine, change=False)).id == mine
        with pytest.raises(Forbidden):
            await access.require_agent(conn, reader, mine, change=True)
        assert (await access.resolve_agent(conn, ada, "ＨＥＬＰＥＲ")).id == mine
        assert (await access.resolve_agent(conn, eve, "helper")).id == shared
        for name in (mine, "nobody", "a\x00b"):
            with pytest.raises(NotFound):
                await access.resolve_agent(conn, eve, name)


async def test_an_administrator_changes_agents_of_the_instance(db: Database, enroll: Enroll) -> None:
    person = await enroll("root")
    root = replace(person, user=replace(person.user, is_admin=True), scope=Scope.ADMIN)
    async with db.write() as conn:
        shared = await _agent(conn, None)
        assert (await access.require_agent(conn, root, shared, change=True)).id == shared
        with pytest.raises(Forbidden):
            await access.require_agent(conn, replace(root, scope=Scope.WRITE), shared, change=True)


async def test_sessions_are_for_nobody_else(db: Database, enroll: Enroll) -> None:
    ada, eve = await enroll("ada"), await enroll("eve")
    admin = replace(eve, user=replace(eve.user, is_admin=True), scope=Scope.ADMIN)
    async with db.write() as conn:
        talk = await _session(conn, ada)
        assert (await access.require_session(conn, ada, talk, need=Scope.WRITE)).id == talk
        for stranger in (eve, admin):
            with pytest.raises(NotFound):
                await access.require_session(conn, stranger, talk)
        with pytest.raises(Forbidden):
            await access.require_session(conn, replace(ada, scope=Scope.READ), talk, need=Scope.WRITE)
        with pytest.raises(NotFound):
            await access.require_session(conn, ada, "a\x00b")
