"""Queries on agents."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables_agents import agent
from kosmos.db.types import Row
from kosmos.domain.agents import Agent, AgentForm, Language, Workflow
from kosmos.domain.names import name_key

_FORM = tuple(AgentForm.__dataclass_fields__)


def _agent(row: Row) -> Agent:
    values = {name: getattr(row, name) for name in _FORM}
    for name in ("allowed_tools", "allowed_spaces"):
        values[name] = None if values[name] is None else tuple(values[name])
    values |= {"workflow": Workflow(row.workflow), "language": Language(row.language)}
    return Agent(row.id, row.owner_id, AgentForm(**values), row.created_at, row.updated_at)


def form_values(form: AgentForm) -> dict[str, Any]:
    """The columns that hold a form."""
    values = {name: getattr(form, name) for name in _FORM}
    for name in ("allowed_tools", "allowed_spaces"):
        values[name] = None if values[name] is None else list(values[name])
    values |= {"workflow": form.workflow.value, "language": form.language.value}
    return values | {"name_key": name_key(form.name), "chat_options": dict(form.chat_options)}


async def insert_agent(conn: AsyncConnection, value: Agent) -> None:
    """Store a new agent; IntegrityError when its owner has one of that name."""
    moments = {"created_at": value.created_at, "updated_at": value.updated_at}
    await conn.execute(
        agent.insert().values(id=value.id, owner_id=value.owner_id, **form_values(value.form), **moments)
    )


async def get_agent(conn: AsyncConnection, agent_id: str) -> Agent | None:
    """The agent of that id."""
    row = (await conn.execute(sa.select(agent).where(agent.c.id == agent_id))).first()
    return _agent(row) if row else None


async def list_agents(
    conn: AsyncConnection, user_id: str, *, after: str = "", limit: int = 100
) -> list[Agent]:
    """The agents of a user and those of the instance, oldest first."""
    query = sa.select(agent).where(_seen_by(user_id), agent.c.id > after).order_by(agent.c.id).limit(limit)
    return [_agent(row) for row in await conn.execute(query)]


async def find_agents(conn: AsyncConnection, user_id: str, name_or_id: str) -> list[Agent]:
    """The agents that a user sees under that name or id, their own first."""
    match = sa.or_(agent.c.id == name_or_id, agent.c.name_key == name_key(name_or_id))
    mine_first = sa.case((agent.c.owner_id == user_id, 0), else_=1)
    rows = await conn.execute(
        sa.select(agent).where(_seen_by(user_id), match).order_by(mine_first, agent.c.id)
    )
    return [_agent(row) for row in rows]


async def find_by_name(conn: AsyncConnection, owner_id: str | None, name: str) -> Agent | None:
    """The agent of an owner, or of the instance, that has that name."""
    query = sa.select(agent).where(
        agent.c.owner_id.is_not_distinct_from(owner_id), agent.c.name_key == name_key(name)
    )
    row = (await conn.execute(query)).first()
    return _agent(row) if row else None


async def update_agent(
    conn: AsyncConnection, agent_id: str, values: Mapping[str, Any], now: datetime
) -> None:
    """Change columns of an agent; IntegrityError when its owner has another one of that name."""
    await conn.execute(agent.update().where(agent.c.id == agent_id).values(**values, updated_at=now))


async def delete_agent(conn: AsyncConnection, agent_id: str) -> None:
    """Remove an agent; its sessions stay."""
    await conn.execute(agent.delete().where(agent.c.id == agent_id))


def _seen_by(user_id: str) -> sa.ColumnElement[bool]:
    return sa.or_(agent.c.owner_id == user_id, agent.c.owner_id.is_(None))
