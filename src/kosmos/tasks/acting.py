"""For whom jobs act, and which models they may use."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.credentials import candidates
from kosmos.db import users
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.jobs import Job
from kosmos.errors import Forbidden, NoCredential
from kosmos.tasks.workbench import Workbench

LANE_LIMIT = 4


async def initiator_of(bench: Workbench, job: Job) -> Principal:
    """Whom a job acts for: the user who made it, with no more than the right to write."""
    async with bench.db.glance() as conn:
        user = await users.get_user(conn, job.initiator_id) if job.initiator_id else None
    if user is None:
        raise Forbidden("Whoever asked for this job is gone.", remedy="Let somebody else create it.")
    return Principal(user=user, scope=Scope.WRITE, token_id="")


async def models_for(
    bench: Workbench, who: Principal, kind: CredentialType, *, space_id: str | None, purpose: str
) -> list[Credential]:
    """The credentials of a type in the order in which to try them; NoCredential when there are none."""
    async with bench.db.glance() as conn:
        return await find_models(bench, conn, who, kind, space_id=space_id, purpose=purpose)


async def find_models(
    bench: Workbench,
    conn: AsyncConnection,
    who: Principal,
    kind: CredentialType,
    *,
    space_id: str | None,
    purpose: str,
) -> list[Credential]:
    """The same inside a transaction. Where there is no small model, a large one does its work."""
    found = await candidates(conn, who, kind, space_id=space_id, rng=bench.rng)
    if not found and kind is CredentialType.SLM:
        found = await candidates(conn, who, CredentialType.LLM, space_id=space_id, rng=bench.rng)
    if not found:
        either = f"{kind} or {CredentialType.LLM}" if kind is CredentialType.SLM else kind
        raise NoCredential(
            f"{purpose} needs a credential of type {either}, and there is none.",
            remedy="Add one: kosmos credentials add NAME "
            f"--type {kind} --base-url URL --model MODEL --default",
        )
    return found


def lane_of(model: Credential | None) -> dict[str, Any]:
    """The lane that jobs of one credential share, and how many of them may run at once."""
    if model is None:
        return {}
    wanted = model.options.get("max_concurrency")
    limit = wanted if isinstance(wanted, int) and 1 <= wanted <= 1000 else LANE_LIMIT
    return {"lane": f"credential:{model.id}", "lane_limit": limit}
