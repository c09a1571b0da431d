"""What growth costs, calculated from measured numbers: `python bench/scale.py`.

The constants were measured elsewhere (docs/design/store.md, encoders.md, jobs.md, chunking-structure.md). Two
things are measured here, in seconds: the bytes of a stored chunk row, and how long questions wait for a core
when users grow, by a simulation of a queue.
"""

import argparse
import asyncio
import heapq
import math
import random
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa
from measure import print_table, write_json

from kosmos.db import Database
from kosmos.db.migrate import ensure_current
from kosmos.db.tables import blob as blob_table
from kosmos.db.tables import chunk, document, knowledge_space, user
from kosmos.domain.clock import system_clock
from kosmos.domain.ids import new_id

TOKENS = 340  # of a chunk and its summary
TEXT_BYTES = 1400
CHUNKS_PER_DOCUMENT = 15.1  # 50,099 chunks of 3,319 pages
ENCODE_TOKENS = 10_000  # a CPU second
CHUNKING_SECONDS = 27 / 50_099
INDEX_SECONDS = 155e-6  # a chunk, into LocalStore
LISTS_SECONDS = 138.0  # a million chunks
INDEX_BYTES = 4_600
SEARCH_FLAT = 48.8e-3 / 200_000  # CPU seconds a chunk, below the lists
SEARCH_LISTS = 14e-3  # at a million chunks
LISTS_FROM = 200_000
DIMENSION, ROUTES = 384, 2
GRAPH_BYTES = 300  # of one vector in an HNSW of 16 neighbours
JOBS_PER_DOCUMENT, EVENTS_PER_JOB = 3, 4
JOB_SECONDS = 2755e-6  # PostgreSQL
ROWS = 5000


@dataclass(frozen=True, slots=True)
class Size:
    """What so many chunks take."""

    chunks: int
    encode_hours: float
    rest_hours: float
    rows_gb: float
    vectors_cached_gb: float
    local_gb: float
    local_search_ms: float
    lists_hours: float
    hnsw_float32_gb: float
    hnsw_int8_gb: float
    jobs: float
    events: float


def size_of(chunks: int, row_bytes: float) -> Size:
    """By the measured numbers. Lists grow with the root of the chunks, and so does what a search looks at."""
    documents = chunks / CHUNKS_PER_DOCUMENT
    jobs = documents * JOBS_PER_DOCUMENT
    root = math.sqrt(chunks / 1e6)
    search = chunks * SEARCH_FLAT if chunks <= LISTS_FROM else SEARCH_LISTS * root
    per_vector = DIMENSION * 4 + GRAPH_BYTES
    return Size(
        chunks=chunks,
        encode_hours=chunks * TOKENS / ENCODE_TOKENS / 3600,
        rest_hours=(chunks * (CHUNKING_SECONDS + INDEX_SECONDS) + jobs * JOB_SECONDS) / 3600,
        rows_gb=chunks * row_bytes / 1e9,
        vectors_cached_gb=chunks * ROUTES * (DIMENSION * 4 + 200) / 1e9,
        local_gb=chunks * INDEX_BYTES / 1e9,
        local_search_ms=search * 1e3,
        lists_hours=LISTS_SECONDS * (chunks / 1e6) * root / 3600 if chunks > LISTS_FROM else 0.0,
        hnsw_float32_gb=chunks * ROUTES * per_vector / 1e9,
        hnsw_int8_gb=chunks * ROUTES * (DIMENSION + GRAPH_BYTES) / 1e9,
        jobs=jobs,
        events=jobs * EVENTS_PER_JOB,
    )


async def measure_row() -> float:
    """Bytes that one chunk takes in the tables, its indexes included, on SQLite."""
    with tempfile.TemporaryDirectory(prefix="kosmos-bench-") as folder:
        path = Path(folder) / "rows.db"
        db = Database(f"sqlite:///{path}")
        await ensure_current(db, upgrade=True)
        before = await _used(db)
        await _fill(db)
        after = await _used(db)
        await db.close()
    return (after - before) / ROWS


async def _used(db: Database) -> int:
    async with db.read() as conn:
        pages = await conn.scalar(sa.text("PRAGMA page_count"))
        size = await conn.scalar(sa.text("PRAGMA page_size"))
    return int(pages or 0) * int(size or 0)


async def _fill(db: Database) -> None:
    now, rng = system_clock(), random.Random(1)
    owner, space, paper, digest = new_id(), new_id(), new_id(), "0" * 64
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(500)]
    same = {"created_at": now, "updated_at": now}
    names = {"name": "bench", "name_key": "bench"}
    about = {"title": "t", "filename": "f", "filetype": "md", "status": "READY", "metadata": {}}
    counts = {"size": 1, "line_count": 1, "version": 1, "live_generation": 1}
    async with db.write() as conn:
        await conn.execute(user.insert().values(id=owner, is_admin=False, created_at=now, **names))
        given = {"owner_id": owner, "description": "", "metadata": {}, "settings": {}}
        await conn.execute(knowledge_space.insert().values(id=space, **names, **given, **same))
        await conn.execute(blob_table.insert().values(sha256=digest, size=1, created_at=now))
        known = {"id": paper, "space_id": space, "origin": "o", "source": "s", "original_sha256": digest}
        await conn.execute(document.insert().values(**known, **about, **counts, **same))
        rows = [
            _row(space, paper, number, " ".join(rng.choices(words, k=TEXT_BYTES // 7)))
            for number in range(ROWS)
        ]
        await conn.execute(chunk.insert(), [{**row, **same} for row in rows])


def _row(space: str, paper: str, number: int, text: str) -> dict[str, object]:
    ids = {"id": new_id(), "space_id": space, "document_id": paper, "generation": 1, "parent_id": new_id()}
    place = {"start_line": number + 1, "end_line": number + 1, "position": number, "level": 2}
    more: dict[str, object] = {
        "type": "content",
        "raw_content": text,
        "summary": text[:150],
        "redaction": None,
        "metadata": {},
    }
    return {**ids, **place, **more, "token_count": 300, "from_split": False, "merged": False}


@dataclass(frozen=True, slots=True)
class Wait:
    """How long questions take when so many users ask one every half minute."""

    users: int
    cores: int
    busy: float
    median_ms: float
    p95_ms: float


def simulate(users: int, cores: int, seconds: float, *, questions: int = 40_000) -> Wait:
    """Questions come by chance and are answered in turn by the first core that is free."""
    rng = random.Random(7)
    rate = users / 30
    free, now, taken = [0.0] * cores, 0.0, list[float]()
    for _ in range(questions):
        now += rng.expovariate(rate)
        start = max(now, heapq.heappop(free))
        end = start + seconds * rng.uniform(0.7, 1.3)
        heapq.heappush(free, end)
        taken.append(end - now)
    late = taken[questions // 10 :]
    p95 = statistics.quantiles(late, n=20)[-1]
    return Wait(users, cores, rate * seconds / cores, statistics.median(late) * 1e3, p95 * 1e3)


def report_sizes(row_bytes: float) -> list[Size]:
    """Print and return what chunks take."""
    sizes = [size_of(count, row_bytes) for count in (10**5, 10**6, 10**7, 10**8, 10**9)]
    names = list(asdict(sizes[0]))
    shown = [
        [f"{value:,.0f}" if value >= 10 else f"{value:.2f}" for value in asdict(size).values()]
        for size in sizes
    ]
    print_table("What chunks take (CPU hours, GB, ms of CPU)", names, shown)
    return sizes


def main() -> None:
    """Measure, calculate, print, write `bench/results/scale.json`."""
    argparse.ArgumentParser(description="What growth costs.").parse_args()
    row_bytes = asyncio.run(measure_row())
    print(f"a chunk row takes {row_bytes:,.0f} bytes in SQLite, indexes included")
    sizes = report_sizes(row_bytes)
    waits = [
        simulate(users, cores, 0.060)  # 49 ms in the store at 200,000 chunks, and what is around it
        for users, cores in (
            (100, 1),
            (300, 1),
            (400, 1),
            (450, 1),
            (600, 2),
            (1000, 4),
            (1500, 4),
            (1900, 4),
        )
    ]
    columns = ["users", "cores", "busy", "median ms", "p95 ms"]
    shown = [
        [str(one.users), str(one.cores), f"{one.busy:.2f}", f"{one.median_ms:.0f}", f"{one.p95_ms:.0f}"]
        for one in waits
    ]
    print_table("One question in 30 s from each user, 60 ms of CPU each", columns, shown)
    body = {
        "row_bytes": row_bytes,
        "sizes": [asdict(one) for one in sizes],
        "waits": [asdict(one) for one in waits],
    }
    print(f"written: bench/results/{write_json('scale', body).name}")


if __name__ == "__main__":
    main()
