"""`chunking` with the indexer: a model points at lines, region by region, and each region is one batch.

The regions follow from the text alone, answers are kept as soon as they are there, and what is open in the
tree is read from the chunks that are stored. So a job can be killed anywhere and goes on as if nothing was.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kosmos.accounts.access import require_space
from kosmos.chunking.indexer import Index, can_run_at_once, hidden_of, marked_outline
from kosmos.chunking.indexer_batches import Limits, next_region, plan_regions
from kosmos.chunking.indexer_ladder import Fallback, Filed, Policy, file_region
from kosmos.chunking.indexer_sheet import Sheet, lay_out
from kosmos.chunking.redaction import Kinds, find_redactions
from kosmos.chunking.rules import as_drafts, check_chunks
from kosmos.db import assets, chunks
from kosmos.domain.accounts import Role
from kosmos.domain.assets import AnalysisStatus
from kosmos.domain.chunks import Chunk, ChunkDraft
from kosmos.domain.documents import Document, DocumentVersion
from kosmos.domain.extracts import Origin
from kosmos.domain.redactions import Redaction
from kosmos.domain.space_settings import read_settings
from kosmos.domain.trees import MarkdownTree
from kosmos.errors import DataLost, ModelUnfit, ProviderError
from kosmos.ingest.reading import page_of_line
from kosmos.ingest.tree import parse_tree
from kosmos.jobs.run import Run
from kosmos.tasks.acting import initiator_of
from kosmos.tasks.extracts import read_origins
from kosmos.tasks.generations import open_version, still_draft
from kosmos.tasks.navigating import note_links
from kosmos.tasks.pipeline import Result, number_chunks, page_starts
from kosmos.tasks.pointing_desk import Desk, open_desk
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Task:
    """One job on one document: what it works on and with."""

    run: Run
    document: Document
    version: DocumentVersion
    text: str
    sheet: Sheet
    origins: Sequence[Origin]
    before: Sequence[Chunk]  # the live chunks
    policy: Policy
    most_at_once: int | None  # None: as many as the credential allows
    tree: MarkdownTree
    kinds: Kinds  # what is hidden

    def chunks_of(self, drafts: Sequence[ChunkDraft], first: int, hidden: Sequence[Redaction]) -> list[Chunk]:
        """The drafts from a position on as chunks: known ones keep their id, not what was said of them."""
        generation = self.version.generation
        numbered = number_chunks(self.document, drafts, generation, self.before, hidden=hidden)[first:]
        paged = bool(page_starts(self.origins))
        made = []
        for chunk, draft in zip(numbered, drafts[first:], strict=True):
            page = {"page": page_of_line(self.origins, draft.start_line)} if paged else {}
            made.append(replace(chunk, summary=draft.summary, metadata={**draft.metadata, **page}))
        return note_links(made, self.tree, self.text, kinds=self.kinds)


async def point_document(bench: Workbench, run: Run) -> Result:
    """The canonical text becomes a new generation of chunks by a model that points at lines."""
    task = await open_task(bench, run)
    desk = await open_desk(bench, run)
    async with run.db.read() as conn:
        stored = await chunks.generation_chunks(conn, task.document.id, task.version.generation)
    index = Index.resume(task.sheet, as_drafts(stored))
    work = _Work(task, desk, index, run.progress.get("tally", {}))
    try:
        await work.file_all()
    except ModelUnfit:
        await _begin_anew(task)  # a better model starts with the first line, not behind what this one left
        raise
    check_whole(task, index.drafts)
    return result_of(task, index.drafts, work.tally())


async def _begin_anew(task: Task) -> None:
    """Forget what was filed and answered: the job can be retried as if it had done nothing."""
    begun = task.run.progress.get("begun_anew", 0) + 1
    start = {"current_line": 0, "generation": task.version.generation, "begun_anew": begun}
    async with task.run.restart(start) as conn:
        await still_draft(conn, task.run, task.version)
        await chunks.delete_generations(conn, task.document.id, keep=task.document.live_generation)


async def open_task(bench: Workbench, run: Run) -> Task:
    """Everything that a job needs before it can ask."""
    document, version = await open_version(run, start={"current_line": 0})
    if version.canonical_sha256 is None:
        raise DataLost(f"{document.source} has no canonical text.", remedy="Process it first.")
    text = (await bench.blobs.read(version.canonical_sha256)).decode()
    origins = await read_origins(bench, version.extract_sha256)
    who = await initiator_of(bench, run.job)
    async with run.db.read() as conn:
        before = await chunks.live_chunks(conn, document.id)
        shown = await assets.list_assets(conn, document.id, version.generation)
        shown = shown or await assets.list_assets(conn, document.id, document.live_generation)
        space = (await require_space(conn, who, document.space_id, need=Role.EDITOR)).space
    done = [item for item in shown if item.analysis_status is AnalysisStatus.DONE and item.description]
    figures = {item.line: item.description or "" for item in done}
    wanted = read_settings(space.settings)
    tree = await asyncio.to_thread(parse_tree, text)

    def prepare() -> Sheet:
        hidden = find_redactions(text, page_starts(origins), wanted.hidden_kinds)
        return lay_out(
            text,
            tree.blocks,
            title=version.title,
            redactions=hidden,
            figures=figures,
            kinds=wanted.hidden_kinds,
        )

    policy = Policy(Fallback(wanted.fallback), Limits(lines=wanted.batch_lines))
    sheet = await asyncio.to_thread(prepare)
    most = wanted.parallel_batches
    return Task(run, document, version, text, sheet, origins, before, policy, most, tree, wanted.hidden_kinds)


def check_whole(task: Task, drafts: Sequence[ChunkDraft]) -> None:
    """Raise unless the chunks are the text, to the letter, in a tree that obeys the rules."""
    violations = check_chunks(task.text, drafts)
    if violations:
        where = "" if violations[0].position is None else f"Chunk {violations[0].position}: "
        raise DataLost(
            f"The chunks of {task.document.source} break a rule. {where}{violations[0].message}.",
            remedy="Chunk it again, with producer=structure if this comes back.",
        )


def result_of(task: Task, drafts: Sequence[ChunkDraft], tally: Mapping[str, int]) -> Mapping[str, Any]:
    """What the job says when it is done."""
    return {"generation": task.version.generation, "chunks": len(drafts), **tally}


class _Work:
    """The regions of a text, filed and recorded in order."""

    def __init__(self, task: Task, desk: Desk, index: Index, counted: Mapping[str, int]) -> None:
        self._task = task
        self._desk = desk
        self._index = index
        self._counted = counted

    def tally(self) -> dict[str, int]:
        """What was done so far, before crashes too."""
        now = {"calls": self._desk.calls, "cached_answers": self._desk.cached, **asdict(self._index.tally)}
        return {name: count + self._counted.get(name, 0) for name, count in now.items()}

    async def file_all(self) -> None:
        """All regions that are not filed yet, as many at once as everybody allows."""
        task, width = self._task, self._desk.width
        width = min(width, task.most_at_once or width)
        if not task.text:
            return
        if width > 1 and can_run_at_once(task.sheet):
            await self.file_at_once(width)
        else:
            await self.file_in_turn()

    async def file_in_turn(self) -> None:
        """One region after the other; each may leave its last unit to the next."""
        sheet, index = self._task.sheet, self._index
        while index.next_line <= len(sheet.lines):
            region = next_region(sheet, index.next_line, self._task.policy.limits)
            tail = region.end_line < len(sheet.lines)
            steps = file_region(sheet, region, outline=index.outline, tail=tail, policy=self._task.policy)
            await self._record(await self._desk.file(steps))

    async def file_at_once(self, width: int) -> None:
        """Up to so many regions at once, recorded in the order of the text."""
        sheet = self._task.sheet
        waiting: deque[asyncio.Task[Filed]] = deque()
        try:
            for region in plan_regions(sheet, self._index.next_line, self._task.policy.limits):
                outline = marked_outline(sheet, region.start_line)
                steps = file_region(sheet, region, outline=outline, policy=self._task.policy)
                waiting.append(asyncio.create_task(self._desk.file(steps)))
                if len(waiting) >= width:
                    await self._record(await waiting.popleft())
            while waiting:
                await self._record(await waiting.popleft())
        except ProviderError:
            # What is being answered is being paid for: wait for it, and find it stored the next time.
            await asyncio.gather(*waiting, return_exceptions=True)
            raise
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _record(self, filed: Filed) -> None:
        """One region: its chunks and the progress, together or not at all."""
        task, index = self._task, self._index
        first = len(index.drafts)
        index.add(filed)
        made = task.chunks_of(index.drafts, first, hidden_of(task.sheet, filed))
        reached = {
            "current_line": index.next_line - 1,
            "total_lines": task.version.line_count,
            "current_chunk": len(index.drafts),
            "generation": task.version.generation,
            "tally": self.tally(),
        }
        async with self._desk.writing, task.run.batch({**task.run.progress, **reached}) as conn:
            await still_draft(conn, task.run, task.version)
            await chunks.insert_chunks(conn, made, task.run.clock())
