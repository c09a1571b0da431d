"""One served instance for each engine, shared by all tests of this folder."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from acceptance.http.serving import Served
from acceptance.http.world import MARK, World, first_person, furnish, join
from kosmos.config import load_settings
from kosmos.db import Database
from kosmos.db.migrate import ensure_current
from kosmos.doubles.clock import FixedClock

DAY = 24 * 3600
MAX_BODY = 2**20


@contextmanager
def _new_database(server: str) -> Iterator[str]:
    """A PostgreSQL database at the newest revision, as `kosmos db upgrade` leaves it."""
    name = f"served_{uuid.uuid4().hex}"
    url = sa.make_url(server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as conn:
        conn.execute(sa.text(f"CREATE DATABASE {name}"))
    made = sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    asyncio.run(_upgrade(made))
    yield made
    with engine.connect() as conn:
        conn.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


async def _upgrade(url: str) -> None:
    database = Database(url)
    await ensure_current(database, upgrade=True)
    await database.close()


@pytest.fixture(scope="session")
def clock() -> FixedClock:
    """The time on the served instances."""
    return FixedClock()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, clock: FixedClock
) -> Iterator[Served]:
    """The application on a port, on each engine."""
    home = tmp_path_factory.mktemp(request.param)
    environ = {"KOSMOS_HOME": str(home), "KOSMOS_MAX_BODY_BYTES": str(MAX_BODY), "KOSMOS_WORKER_SLOTS": "0"}
    environ["KOSMOS_FETCH_ALLOW_HOSTS"] = "127.0.0.1:9"
    environ["KOSMOS_ENCODER"] = "none"  # vectors that come in between would make results a matter of luck
    with ExitStack() as stack:
        if request.param == "postgres":
            url = stack.enter_context(_new_database(request.getfixturevalue("postgres_server")))
            environ["KOSMOS_DATABASE_URL"] = url
        yield stack.enter_context(Served(load_settings(environ), clock))


@pytest.fixture(scope="session")
def world(served: Served, clock: FixedClock) -> World:
    """An owner whose things nobody else may reach, and others who try."""
    admin = first_person(served)
    owner, stranger, former = (join(served, admin, name) for name in (f"{MARK} 王芳", "Stranger", "Former"))
    ids, own = furnish(served, owner, MARK), furnish(served, stranger, "Ownthing")
    members = f"/api/v1/spaces/{ids['space_id']}/members"
    owner.ok("PUT", members, {"user": former.name, "role": "owner"})
    owner.ok("DELETE", f"{members}/{former.id}")
    expired = stranger.ok("POST", "/api/v1/tokens", {"name": "old", "scope": "admin", "days": 1})["text"]
    clock.advance(2 * DAY)
    return World(served, admin, owner, stranger, former, expired, ids, own)


@pytest.fixture
def home(served: Served) -> Path:
    """The home of the served instance."""
    return served.settings.home
