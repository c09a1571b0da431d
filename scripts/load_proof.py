"""Holds what a load run was promised against the tables and the index. Does nothing when run."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from load_ledger import Heard, Ledger, Paper

from kosmos.app import App
from kosmos.db.tables import chunk, document, job
from kosmos.db.tables_agents import chat_message, event, run
from kosmos.db.types import Row
from kosmos.retrieval.indexing import collection_of
from kosmos.store.filters import Eq

OPEN_JOBS = ("PENDING", "RUNNING", "PAUSED")
OPEN_RUNS = ("RUNNING", "WAITING")
STEPS = ("document_processing", "chunking", "indexing")
SETTLE_SECONDS = 600.0


@dataclass(slots=True)
class Verdict:
    """What is missing, what is there twice, what is not as it was promised."""

    lost: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    documents: int = 0
    chunks: int = 0
    index_rows: int = 0
    jobs: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    events: int = 0
    messages: int = 0


async def settle(app: App) -> list[str]:
    """Wait until no job and no run is open; those that stay so."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        async with app.bench.db.read() as conn:
            jobs = await conn.execute(sa.select(job.c.id, job.c.type).where(job.c.status.in_(OPEN_JOBS)))
            runs = await conn.execute(sa.select(run.c.id).where(run.c.status.in_(OPEN_RUNS)))
            left = [f"the job {row.id} ({row.type}) has not ended" for row in jobs]
            left += [f"the run {row.id} has not ended" for row in runs]
        if not left or time.monotonic() > deadline:
            return left
        await asyncio.sleep(0.5)


async def judge(app: App, ledger: Ledger) -> Verdict:
    """Compare everything that was confirmed with everything that is stored."""
    verdict = Verdict(lost=list(ledger.wrong))
    verdict.lost += await settle(app)
    await _judge_documents(app, ledger, verdict)
    await _judge_jobs(app, verdict)
    await _judge_runs(app, ledger, verdict)
    await _judge_messages(app, ledger, verdict)
    return verdict


async def _judge_documents(app: App, ledger: Ledger, verdict: Verdict) -> None:
    async with app.bench.db.read() as conn:
        rows = (await conn.execute(sa.select(document))).all()
        live = chunk.c.generation == document.c.live_generation
        query = (
            sa.select(chunk.c.document_id, chunk.c.id, chunk.c.position)
            .join(document, document.c.id == chunk.c.document_id)
            .where(live)
        )
        pieces: dict[str, list[Row]] = {}
        for row in await conn.execute(query):
            pieces.setdefault(row.document_id, []).append(row)
    by_name: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_name.setdefault((row.space_id, row.source), []).append(row)
    verdict.documents = len(rows)
    for key, paper in ledger.papers.items():
        _judge_paper(paper, by_name.pop(key, []), verdict)
    verdict.duplicated += [f"{name} was never confirmed, but is there" for _, name in by_name]
    for row in rows:
        await _judge_index(app, row, pieces.get(row.id, []), verdict)


def _judge_paper(paper: Paper, found: Sequence[Row], verdict: Verdict) -> None:
    if not found:
        verdict.lost.append(f"{paper.name} is not there")
        return
    if len(found) > 1:
        verdict.duplicated.append(f"{paper.name} is there {len(found)} times")
    row = found[0]
    if row.status != "READY" or row.draft_generation is not None:
        verdict.lost.append(f"{paper.name} is {row.status}: {row.error}")
    if row.original_sha256 != paper.versions[-1]:
        verdict.lost.append(f"{paper.name} is not what was confirmed last")
    least = 1 if paper.hasty else len(paper.versions)
    if row.version < least:
        verdict.lost.append(f"{paper.name} has {row.version} versions of {len(paper.versions)}")
    if row.version > len(paper.versions):
        verdict.duplicated.append(f"{paper.name} has {row.version} versions of {len(paper.versions)}")


async def _judge_index(app: App, row: Row, pieces: Sequence[Row], verdict: Verdict) -> None:
    """One index row for each live chunk and no other; no two chunks in one place."""
    found = await app.bench.store.query(collection_of(row.space_id), Eq("document_id", row.id), limit=10_000)
    ids, pks = {piece.id for piece in pieces}, Counter(one.pk for one in found)
    verdict.chunks += len(pieces)
    verdict.index_rows += len(found)
    if not pieces:
        verdict.lost.append(f"{row.source} has no chunks")
    if missing := len(ids - pks.keys()):
        verdict.lost.append(f"{row.source}: {missing} chunks are not in the index")
    if extra := pks.total() - len(ids & pks.keys()):
        verdict.duplicated.append(f"{row.source}: {extra} rows too many in the index")
    if len({piece.position for piece in pieces}) != len(pieces):
        verdict.duplicated.append(f"{row.source}: two chunks in one place")


async def _judge_jobs(app: App, verdict: Verdict) -> None:
    """Each step of each generation was completed once at most; none has failed."""
    columns = (job.c.id, job.c.type, job.c.status, job.c.reason, job.c.document_id, job.c.context)
    async with app.bench.db.read() as conn:
        rows = (await conn.execute(sa.select(*columns))).all()
    verdict.jobs = len(rows)
    done: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        if row.status == "FAILED":
            verdict.lost.append(f"the job {row.id} ({row.type}) failed: {row.reason}")
        if row.type in STEPS and row.status == "COMPLETED":
            done[row.type, row.document_id, row.context.get("generation", 0)] += 1
    verdict.duplicated += [f"{key} was completed {count} times" for key, count in done.items() if count > 1]


async def _judge_runs(app: App, ledger: Ledger, verdict: Verdict) -> None:
    async with app.bench.db.read() as conn:
        statuses = {row.id: row.status for row in await conn.execute(sa.select(run.c.id, run.c.status))}
        query = sa.select(event.c.run_id, event.c.sequence, event.c.type)
        stored: dict[str, list[tuple[int, str]]] = {}
        for row in await conn.execute(query.order_by(event.c.run_id, event.c.sequence)):
            stored.setdefault(row.run_id, []).append((row.sequence, row.type))
    verdict.runs = Counter(statuses.values())
    verdict.events = sum(map(len, stored.values()))
    for run_id, heard in ledger.runs.items():
        if run_id not in statuses:
            verdict.lost.append(f"the run {run_id} is not there")
            continue
        verdict.lost += _run_faults(heard, statuses[run_id], stored.get(run_id, []))
        seen = Counter(number for number, _ in heard.events)
        verdict.duplicated += [f"{run_id}: event {n} came {c} times" for n, c in seen.items() if c > 1]
    verdict.duplicated += [
        f"the run {one} was never confirmed" for one in statuses.keys() - ledger.runs.keys()
    ]


def _run_faults(heard: Heard, status: str, stored: list[tuple[int, str]]) -> Iterator[str]:
    name = f"the run {heard.run_id} ({status})"
    if [number for number, _ in stored] != list(range(1, len(stored) + 1)):
        yield f"{name}: stored events have holes"
    if heard.events != stored:
        yield f"{name}: the client saw {len(heard.events)} events, {len(stored)} are stored or they differ"
    answers = sum(kind == "final_answer" for _, kind in stored)
    if answers != (1 if status == "COMPLETED" else 0):
        yield f"{name}: {answers} final answers"
    if not stored or stored[-1][1] != "run_end" or sum(kind == "run_end" for _, kind in stored) != 1:
        yield f"{name}: it does not end once"


async def _judge_messages(app: App, ledger: Ledger, verdict: Verdict) -> None:
    """Every question once, every run with one last word, no place left out."""
    columns = (chat_message.c.session_id, chat_message.c.position, chat_message.c.run_id)
    more = (chat_message.c.type, chat_message.c.content, chat_message.c.metadata.label("notes"))
    query = sa.select(*columns, *more)
    async with app.bench.db.read() as conn:
        found = await conn.execute(query.order_by(chat_message.c.session_id, chat_message.c.position))
        rows = found.all()
    verdict.messages = len(rows)
    asked = Counter(row.content for row in rows if row.type == "USER")
    said = Counter(row.run_id for row in rows if row.type == "ASSISTANT" and "tool_calls" not in row.notes)
    for heard in ledger.runs.values():
        _count(verdict, f"the question {heard.question!r}", asked[heard.question])
        _count(verdict, f"the answer of the run {heard.run_id}", said[heard.run_id])
    places: dict[str, list[int]] = {}
    for row in rows:
        places.setdefault(row.session_id, []).append(row.position)
    for session_id, numbers in places.items():
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            verdict.lost.append(f"the session {session_id} has holes: {numbers}")


def _count(verdict: Verdict, what: str, times: int) -> None:
    if times == 0:
        verdict.lost.append(f"{what} is not there")
    if times > 1:
        verdict.duplicated.append(f"{what} is there {times} times")
