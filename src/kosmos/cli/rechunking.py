"""Chunking many documents again: entered a few hundred at a time, followed to their end."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from kosmos.errors import KosmosError, NotFound

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.cli.progress import Step
    from kosmos.domain.accounts import Principal
    from kosmos.domain.documents import Document

AHEAD = 200


async def rechunk_all(
    app: "App",
    who: "Principal",
    names: Sequence[str],
    space: str,
    *,
    producer: str | None,
    step: "Step",
) -> dict[str, Any]:
    """What became of each document."""
    from kosmos.tasks.following import follow_jobs
    from kosmos.tasks.rechunking import rechunk

    context = {"producer": producer} if producer else {}
    done: list[str] = []
    failed: list[dict[str, str]] = []
    open_jobs: dict[str, str] = {}

    async def settle(most: int) -> None:
        async for ended in follow_jobs(app.bench, list(open_jobs), until_left=most):
            source = open_jobs.pop(ended.job_id)
            if ended.failure is None:
                done.append(source)
            else:
                failed.append({"source": source, "reason": ended.failure})
            step(len(done) + len(failed), 0, source)

    async for document in _documents(app, who, names, space):
        try:
            made = await rechunk(app.bench, who, document.id, context)
            open_jobs[made.jobs[-1].id] = document.source
        except KosmosError as error:
            reason = f"{error.message} {error.remedy or ''}".strip()
            failed.append({"source": document.source, "reason": reason})
        if len(open_jobs) >= AHEAD:
            await settle(AHEAD // 2)
    await settle(0)
    return {"done": done, "failed": failed}


async def _documents(
    app: "App", who: "Principal", names: Sequence[str], space: str
) -> "AsyncIterator[Document]":
    """The named documents, or all of the space that have a text."""
    from kosmos.accounts.access import resolve_space
    from kosmos.domain.accounts import Role
    from kosmos.tasks.documents import find_document, get_document, list_documents

    for name in names:
        try:
            yield await get_document(app.bench, who, name)  # an id needs no space
        except NotFound:
            yield await find_document(app.bench, who, name, space=space)
    if names:
        return
    async with app.bench.db.read() as conn:
        space_id = (await resolve_space(conn, who, space, need=Role.EDITOR)).space.id
    after = ""
    while page := await list_documents(app.bench, who, space_id, after=after, limit=1000):
        after = page[-1].id
        for document in page:
            if document.live_generation:
                yield document
