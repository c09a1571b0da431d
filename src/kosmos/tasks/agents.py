"""Agents as rows: made, changed, listed, removed, exchanged as files. Rights are checked here."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_admin, require_agent, require_scope, resolve_agent, resolve_space
from kosmos.agents.files import dump_form, load_form, make_form, shipped_forms
from kosmos.db import agents as rows
from kosmos.db import spaces
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.agents import Agent, AgentForm
from kosmos.domain.ids import new_id
from kosmos.errors import Conflict
from kosmos.tasks.workbench import Workbench


async def create_agent(
    bench: Workbench, who: Principal, form: AgentForm, *, for_instance: bool = False
) -> Agent:
    """A new agent of the caller, or of the instance if an administrator says so."""
    require_scope(who, Scope.WRITE)
    if for_instance:
        require_admin(who)
    async with bench.db.write() as conn:
        form = await _with_space_ids(conn, who, form)
        return await _insert(conn, None if for_instance else who.user.id, form, bench.clock())


async def list_agents(bench: Workbench, who: Principal, *, after: str = "", limit: int = 100) -> list[Agent]:
    """The caller's agents and those of the instance."""
    require_scope(who, Scope.READ)
    async with bench.db.read() as conn:
        return await rows.list_agents(conn, who.user.id, after=after, limit=limit)


async def get_agent(bench: Workbench, who: Principal, agent_id: str) -> Agent:
    """One agent."""
    async with bench.db.read() as conn:
        return await require_agent(conn, who, agent_id, change=False)


async def find_agent(bench: Workbench, who: Principal, name_or_id: str) -> Agent:
    """The agent of that name or id."""
    async with bench.db.read() as conn:
        return await resolve_agent(conn, who, name_or_id)


async def change_agent(bench: Workbench, who: Principal, agent_id: str, changes: Mapping[str, Any]) -> Agent:
    """Change fields of an agent; what is not given stays. Runs under way go on as they began."""
    async with bench.db.write() as conn:
        agent = await require_agent(conn, who, agent_id, change=True)
        form = make_form({**form_values(agent.form), **changes})
        if "allowed_spaces" in changes:
            form = await _with_space_ids(conn, who, form)
        now = bench.clock()
        await _name_is_free(conn, agent.owner_id, form.name, but=agent.id)
        await rows.update_agent(conn, agent.id, rows.form_values(form), now)
    return replace(agent, form=form, updated_at=now)


async def remove_agent(bench: Workbench, who: Principal, agent_id: str) -> None:
    """Remove an agent. Its sessions stay and can go on."""
    async with bench.db.write() as conn:
        await require_agent(conn, who, agent_id, change=True)
        await rows.delete_agent(conn, agent_id)


async def export_agent(bench: Workbench, who: Principal, agent_id: str) -> str:
    """An agent as YAML; spaces are named where the caller sees them."""
    async with bench.db.read() as conn:
        agent = await require_agent(conn, who, agent_id, change=False)
        names = {view.space.id: view.space.name for view in await spaces.list_views(conn, who.user.id)}
    allowed = agent.form.allowed_spaces
    named = None if allowed is None else tuple(names.get(one, one) for one in allowed)
    return dump_form(replace(agent.form, allowed_spaces=named))


async def import_agent(
    bench: Workbench, who: Principal, text: str, *, for_instance: bool = False
) -> tuple[Agent, bool]:
    """The agent of a YAML file: a new one, or the caller's of that name changed. Whether it is new."""
    form = load_form(text)
    async with bench.db.read() as conn:
        present = await rows.find_by_name(conn, None if for_instance else who.user.id, form.name)
    if present is None:
        return await create_agent(bench, who, form, for_instance=for_instance), True
    return await change_agent(bench, who, present.id, form_values(form)), False


async def add_shipped_agents(conn: AsyncConnection, now: datetime) -> list[Agent]:
    """The agents that come with Kosmos, for everybody, where the instance has none of their names."""
    missing = [form for form in shipped_forms() if await rows.find_by_name(conn, None, form.name) is None]
    return [await _insert(conn, None, form, now) for form in missing]


async def restore_shipped_agents(bench: Workbench, who: Principal) -> list[Agent]:
    """Those of the agents that come with Kosmos that are missing. Administrators only."""
    require_admin(who)
    async with bench.db.write() as conn:
        return await add_shipped_agents(conn, bench.clock())


def form_values(form: AgentForm) -> dict[str, Any]:
    """The form as plain values."""
    return {field.name: getattr(form, field.name) for field in fields(form)}


async def _insert(conn: AsyncConnection, owner_id: str | None, form: AgentForm, now: datetime) -> Agent:
    await _name_is_free(conn, owner_id, form.name)
    agent = Agent(new_id(), owner_id, form, now, now)
    try:
        async with conn.begin_nested():
            await rows.insert_agent(conn, agent)
    except sa.exc.IntegrityError:
        raise _taken(form.name) from None
    return agent


async def _name_is_free(conn: AsyncConnection, owner_id: str | None, name: str, but: str = "") -> None:
    present = await rows.find_by_name(conn, owner_id, name)
    if present is not None and present.id != but:
        raise _taken(name)


def _taken(name: str) -> Conflict:
    return Conflict(f"There is an agent called {name!r} already.", remedy="Choose another name.")


async def _with_space_ids(conn: AsyncConnection, who: Principal, form: AgentForm) -> AgentForm:
    """The spaces by their ids: names change."""
    if form.allowed_spaces is None:
        return form
    ids = [(await resolve_space(conn, who, one)).space.id for one in form.allowed_spaces]
    return replace(form, allowed_spaces=tuple(dict.fromkeys(ids)))
