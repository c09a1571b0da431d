"""Adding a document: its bytes are stored, and a chain of jobs turns them into what can be found.

The same bytes again are no work.
"""

import hashlib

import sqlalchemy as sa

from kosmos.domain.accounts import Principal
from kosmos.domain.values import check_text
from kosmos.errors import Conflict
from kosmos.tasks.entering import Added, Outcome, Source, enter, find_unchanged
from kosmos.tasks.job_types import make_registry
from kosmos.tasks.producing import choose_producer
from kosmos.tasks.workbench import Workbench

__all__ = ["Added", "Outcome", "Source", "add_document"]

MAX_PATH = 4096


async def add_document(bench: Workbench, who: Principal, space_id: str, source: Source) -> Added:
    """Add a source to a space, or bring its document up to date. The caller has checked the right to."""
    check_text(source.name, what="name of the file", most=MAX_PATH)
    digest = hashlib.sha256(source.data).hexdigest()
    if (same := await find_unchanged(bench, space_id, source.origin, digest)) is not None:
        return same
    async with bench.db.glance() as conn:
        await choose_producer(bench, conn, who, space_id, source.producer)  # before anything is stored
    await bench.blobs.put(source.data)
    try:
        async with bench.db.brief() as conn:
            added = await enter(
                bench, conn, source, who=who, space_id=space_id, registry=make_registry(bench)
            )
    except sa.exc.IntegrityError:
        # Two writers at once, or the space is gone: the tables let only one of them through.
        raise Conflict(f"{source.name} is being added by somebody else.", remedy="Try again.") from None
    bench.wake([job.id for job in added.jobs])
    return added
