"""Booking what calls of models took, one by one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import ledger
from kosmos.domain.credentials import Credential
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Spent
from kosmos.domain.ledger import Charge
from kosmos.errors import LeaseLost
from kosmos.jobs.run import Run
from kosmos.llm.chat import cost_of

Lines = tuple[int, int]


def charge_for(
    run: Run, model: Credential, spent: Spent, *, purpose: str, lines: Lines | None = None
) -> Charge:
    """The entry for one call of a job."""
    job = run.job
    return Charge(
        id=new_id(),
        space_id=job.space_id or "",
        document_id=job.document_id,
        job_id=job.id,
        credential_id=model.id,
        model=model.model,
        purpose=purpose,
        start_line=lines[0] if lines else None,
        end_line=lines[1] if lines else None,
        prompt_tokens=spent.prompt_tokens,
        cached_tokens=spent.cached_tokens,
        output_tokens=spent.output_tokens,
        cost=cost_of(model, spent.prompt_tokens, spent.output_tokens, spent.cached_tokens),
        created_at=run.clock(),
    )


@asynccontextmanager
async def charged_batch(
    run: Run, charge: Charge, progress: Mapping[str, Any] | None = None
) -> AsyncIterator[AsyncConnection]:
    """A batch of a job that books a call with what came of it. What was paid is booked even when the job
    has been taken away meanwhile and nothing else counts."""
    try:
        async with run.batch(progress) as conn:
            await ledger.insert_charge(conn, charge)
            yield conn
    except LeaseLost:
        async with run.db.write() as conn:
            await ledger.insert_charge(conn, charge)
        raise
