"""`kosmos verify` over a whole instance, for whoever keeps it."""

import sqlalchemy as sa

from kosmos.archive.progress import Step, say_nothing
from kosmos.db.tables import knowledge_space, user
from kosmos.domain.accounts import Principal, Scope, User
from kosmos.tasks.verifying import Verification, verify_space
from kosmos.tasks.verifying_answers import verify_answers
from kosmos.tasks.workbench import Workbench

PAGE = 200


async def verify_all(bench: Workbench, step: Step = say_nothing) -> Verification:
    """Every document of every space, each space as its owner sees it, and every stored answer."""
    total = Verification()
    for space_id, owner in await _owned(bench):
        after: str | None = ""
        while after is not None:
            part = await verify_space(bench, owner, space_id, after=after, limit=PAGE)
            total, after = total + part, part.next
            step(total.documents, 0, "")
    return total + await verify_answers(bench)


async def _owned(bench: Workbench) -> list[tuple[str, Principal]]:
    query = sa.select(knowledge_space.c.id.label("space_id"), user).join(
        user, user.c.id == knowledge_space.c.owner_id
    )
    async with bench.db.read() as conn:
        rows = (await conn.execute(query.order_by(knowledge_space.c.id))).all()
    return [
        (row.space_id, Principal(User(row.id, row.name, row.is_admin, row.created_at), Scope.READ, ""))
        for row in rows
    ]
