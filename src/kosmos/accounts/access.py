"""The one place that decides what a caller may see and do.

What a caller may not see does not exist for them (NotFound); what they see but may not change is
Forbidden. A token's scope limits its user's roles; being an administrator opens no space.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import agents, credentials, documents, jobs, sessions, spaces
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.agents import Agent
from kosmos.domain.credentials import Credential
from kosmos.domain.documents import Document
from kosmos.domain.jobs import Job
from kosmos.domain.sessions import Session
from kosmos.domain.spaces import SpaceView
from kosmos.domain.values import storable
from kosmos.errors import Forbidden, InvalidInput, NotFound

_SCOPE_FOR = {Role.VIEWER: Scope.READ, Role.EDITOR: Scope.WRITE, Role.OWNER: Scope.ADMIN}


def require_scope(who: Principal, need: Scope) -> None:
    """Refuse a token that does not reach as far as needed."""
    if who.scope.rank < need.rank:
        raise Forbidden(
            f"This token has the scope {who.scope}; {need} is needed.",
            remedy=f"Use a token made with: kosmos tokens create NAME --scope {need}",
        )


def require_admin(who: Principal) -> None:
    """Refuse everybody but administrators of the instance."""
    require_scope(who, Scope.ADMIN)
    if not who.user.is_admin:
        raise Forbidden("Only an administrator may do that.", remedy="Ask an administrator of this instance.")


async def require_space(
    conn: AsyncConnection, who: Principal, space_id: str, *, need: Role = Role.VIEWER
) -> SpaceView:
    """The space, if the caller has at least that role in it."""
    view = await spaces.view_space(conn, who.user.id, space_id) if storable(space_id) else None
    if view is None:
        raise NotFound(f"There is no space {space_id}.", remedy="List yours with: kosmos spaces list")
    return _with_role(who, view, need)


async def resolve_space(
    conn: AsyncConnection, who: Principal, name_or_id: str, *, need: Role = Role.VIEWER
) -> SpaceView:
    """The space of that name or id, if the caller has at least that role in it; their own comes first."""
    found = await spaces.find_views(conn, who.user.id, name_or_id) if storable(name_or_id) else []
    if not found:
        raise NotFound(
            f"There is no space {name_or_id!r}.",
            remedy="List yours with: kosmos spaces list; make one with: kosmos spaces create NAME",
        )
    if len(found) > 1 and found[0].space.owner_id != who.user.id:
        ids = ", ".join(view.space.id for view in found)
        raise InvalidInput(f"Several spaces are called {name_or_id!r}.", remedy=f"Give the id: {ids}")
    return _with_role(who, found[0], need)


async def visible_space_ids(conn: AsyncConnection, who: Principal) -> list[str]:
    """All spaces that the caller may read."""
    require_scope(who, Scope.READ)
    return [view.space.id for view in await spaces.list_views(conn, who.user.id, limit=100_000)]


async def require_document(
    conn: AsyncConnection, who: Principal, document_id: str, *, need: Role = Role.VIEWER
) -> Document:
    """The document, if the caller has at least that role in its space."""
    document = await documents.get_document(conn, document_id) if storable(document_id) else None
    view = await spaces.view_space(conn, who.user.id, document.space_id) if document else None
    if document is None or view is None:
        raise NotFound(f"There is no document {document_id}.", remedy="List them with: kosmos documents list")
    _with_role(who, view, need)
    return document


async def require_job(conn: AsyncConnection, who: Principal, job_id: str, *, need: Role = Role.VIEWER) -> Job:
    """The job, if the caller has at least that role in its space; one without a space is its initiator's."""
    job = await jobs.get_job(conn, job_id) if storable(job_id) else None
    view = await spaces.view_space(conn, who.user.id, job.space_id) if job and job.space_id else None
    own = job is not None and job.space_id is None and job.initiator_id == who.user.id
    if job is None or (view is None and not own):
        raise NotFound(f"There is no job {job_id}.", remedy="List them with: kosmos jobs list")
    if view is not None:
        _with_role(who, view, need)
    else:
        require_scope(who, _SCOPE_FOR[need])
    return job


async def require_credential(
    conn: AsyncConnection, who: Principal, credential_id: str, *, change: bool
) -> Credential:
    """The credential, if the caller may see it, and change it when that is wanted."""
    require_scope(who, Scope.ADMIN if change else Scope.READ)
    credential = await credentials.get_credential(conn, credential_id) if storable(credential_id) else None
    mine = credential is not None and credential.owner_id == who.user.id
    of_instance = credential is not None and credential.owner_id is None
    if credential is None or not (
        mine or of_instance or await credentials.is_linked_to_member(conn, who.user.id, credential_id)
    ):
        raise NotFound(
            f"There is no credential {credential_id}.", remedy="List yours with: kosmos credentials list"
        )
    if change and not mine and not (of_instance and who.user.is_admin):
        raise Forbidden(
            "Only its owner may change a credential.",
            remedy="Ask its owner, or add a credential of your own.",
        )
    return credential


async def require_agent(conn: AsyncConnection, who: Principal, agent_id: str, *, change: bool) -> Agent:
    """The agent, if it is the caller's or the instance's; changing one of those needs an administrator."""
    require_scope(who, Scope.WRITE if change else Scope.READ)
    agent = await agents.get_agent(conn, agent_id) if storable(agent_id) else None
    if agent is None or agent.owner_id not in (who.user.id, None):
        raise NotFound(f"There is no agent {agent_id}.", remedy="List yours with: kosmos agents list")
    if change and agent.owner_id is None:
        require_admin(who)
    return agent


async def resolve_agent(conn: AsyncConnection, who: Principal, name_or_id: str) -> Agent:
    """The agent of that name or id; the caller's own comes before one of the instance."""
    require_scope(who, Scope.READ)
    found = await agents.find_agents(conn, who.user.id, name_or_id) if storable(name_or_id) else []
    if not found:
        raise NotFound(
            f"There is no agent {name_or_id[:120]!r}.", remedy="List yours with: kosmos agents list"
        )
    return found[0]


async def require_session(
    conn: AsyncConnection, who: Principal, session_id: str, *, need: Scope = Scope.READ
) -> Session:
    """The session, if it is the caller's; what was said in it is for nobody else."""
    require_scope(who, need)
    session = await sessions.get_session(conn, session_id) if storable(session_id) else None
    if session is None or session.owner_id != who.user.id:
        raise NotFound(f"There is no session {session_id}.", remedy="List yours with: kosmos sessions list")
    return session


def _with_role(who: Principal, view: SpaceView, need: Role) -> SpaceView:
    if view.role.rank < need.rank:
        raise Forbidden(
            f"You are {view.role} of the space {view.space.name!r}; {need} is needed.",
            remedy="Ask an owner of the space for that role.",
        )
    require_scope(who, _SCOPE_FOR[need])
    return view
