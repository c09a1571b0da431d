"""One region of a document filed anew, such as one that could not be filed, without redoing the rest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kosmos.chunking.coverage import START_OFFSET
from kosmos.chunking.indexer import hidden_of, replace_region
from kosmos.chunking.indexer_batches import Region
from kosmos.chunking.indexer_ladder import file_region, titles_of
from kosmos.chunking.rules import as_drafts
from kosmos.db import chunks
from kosmos.domain.chunks import Chunk
from kosmos.errors import InvalidInput
from kosmos.jobs.run import Run
from kosmos.tasks.generations import still_draft
from kosmos.tasks.pipeline import CHUNKS_PER_BATCH, Result, chunk_document
from kosmos.tasks.pointing import Task, check_whole, open_task, point_document, result_of
from kosmos.tasks.pointing_desk import open_desk
from kosmos.tasks.workbench import Workbench


async def chunk_by_producer(bench: Workbench, run: Run) -> Result:
    """`chunking`: by structure, by a model, or by a model for some lines only."""
    if run.job.context.get("producer") == "structure":
        return await chunk_document(bench, run)
    if run.job.context.get("region") is not None:
        return await retry_region(bench, run)
    return await point_document(bench, run)


async def retry_region(bench: Workbench, run: Run) -> Result:
    """A new generation that differs from the live one in the lines `region` of the job's context alone."""
    task = await open_task(bench, run)
    start, end = _lines(task, run.job.context.get("region"))
    desk = await open_desk(bench, run)
    live = as_drafts(task.before)
    above = titles_of([draft for draft in live if draft.end_line < start])
    steps = file_region(task.sheet, Region(start, end), outline=above, policy=task.policy)
    filed = await desk.file(steps)
    drafts = replace_region(live, start, end, filed.parts)
    check_whole(task, drafts)
    fresh = task.chunks_of(drafts, 0, hidden_of(task.sheet, filed))
    hidden = {_place(chunk): chunk.redaction for chunk in task.before}
    made = [
        chunk if start <= chunk.start_line <= end else replace(chunk, redaction=hidden[_place(chunk)])
        for chunk in fresh
    ]
    await _record(task, made)
    counted = {"calls": desk.calls, "cached_answers": desk.cached, "sentinels": filed.tally.sentinels}
    return result_of(task, drafts, counted)


def _lines(task: Task, region: Any) -> tuple[int, int]:
    """The range to be filed anew: it must begin and end where live chunks do."""
    starts = {chunk.start_line for chunk in task.before}
    ends = {chunk.end_line for chunk in task.before}
    stretches = {stretch.start_line for stretch in task.sheet.stretches} if task.text else set()
    if isinstance(region, list) and len(region) == 2 and all(type(line) is int for line in region):
        start, end = region
        following = end + 1 in stretches or end == len(task.sheet.lines)
        if start <= end and start in starts & stretches and end in ends and following:
            return start, end
    raise InvalidInput(
        "The region does not begin and end where chunks of the document do.",
        remedy="Give the first and the last line of a chunk, such as one of type error.",
    )


def _place(chunk: Chunk) -> tuple[int, int]:
    return chunk.start_line, chunk.metadata.get(START_OFFSET, 0)


async def _record(task: Task, made: Sequence[Chunk]) -> None:
    run = task.run
    for done in range(run.progress.get("current_chunk", 0), len(made), CHUNKS_PER_BATCH):
        batch = made[done : done + CHUNKS_PER_BATCH]
        progress = {
            "current_line": batch[-1].end_line,
            "total_lines": task.version.line_count,
            "current_chunk": done + len(batch),
            "generation": task.version.generation,
        }
        async with run.batch(progress) as conn:
            await still_draft(conn, run, task.version)
            await chunks.insert_chunks(conn, batch, run.clock())
