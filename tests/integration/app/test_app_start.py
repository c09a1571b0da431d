"""Opening Kosmos: what the first start makes, what later ones find, and what is refused."""

import json
import logging
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from kosmos.accounts import spaces, tokens
from kosmos.app import App, make_home, open_app
from kosmos.config import Settings, load_settings
from kosmos.db import Database
from kosmos.db.migrate import ensure_current
from kosmos.db.users import list_users
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.doubles.clock import FixedClock
from kosmos.errors import ConfigError, Unauthenticated

AT_ONCE = 2
# Waits for its starting signal, so that the time to import does not spread the starts.
START = """
import asyncio, json, sys
from kosmos.app import open_app
from kosmos.config import load_settings

async def start():
    async with open_app(load_settings()) as app:
        return {"user": (await app.local_user()).user.id, "key": app.box.key_id}

print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(asyncio.run(start())))
"""


def settings_for(home: Path, **environ: str) -> Settings:
    return load_settings({"KOSMOS_HOME": str(home), **environ})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def names(app: App, who: Principal) -> dict[str, Role]:
    async with app.bench.db.read() as conn:
        return {view.space.name: view.role for view in await spaces.list_spaces(conn, who)}


async def test_the_first_start_makes_a_private_home(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = settings_for(tmp_path / "new" / "家 home")
    before = os.umask(0)
    try:
        async with open_app(settings) as app:
            who = await app.local_user()
            assert await names(app, who) == {"default": Role.OWNER}
    finally:
        os.umask(before)
    assert (who.user.is_admin, who.scope) == (True, Scope.ADMIN)
    assert mode(settings.home) == 0o700
    assert mode(settings.token_file) == mode(settings.key_file) == 0o600
    assert settings.token_file.read_text().strip() not in caplog.text
    assert settings.key_file.read_text().strip() not in caplog.text


async def test_a_second_start_finds_what_the_first_one_made(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home")
    async with open_app(settings) as app:
        first, key_id = await app.local_user(), app.box.key_id
        async with app.bench.db.write() as conn:
            await spaces.create_space(conn, first, name="kept", now=app.bench.clock())
    files = settings.token_file.read_bytes(), settings.key_file.read_bytes()
    async with open_app(settings) as app:
        assert await app.local_user() == first
        assert app.box.key_id == key_id
        assert await names(app, first) == {"default": Role.OWNER, "kept": Role.OWNER}
        async with app.bench.db.read() as conn:
            assert await list_users(conn) == [first.user]
    assert (settings.token_file.read_bytes(), settings.key_file.read_bytes()) == files


async def test_a_token_file_of_a_database_that_is_gone_is_replaced(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    settings.token_file.write_text("kosmos_of_former_times\n")
    settings.token_file.chmod(0o644)
    async with open_app(settings) as app:
        assert (await app.local_user()).user.is_admin
    assert mode(settings.token_file) == 0o600


async def test_the_clock_is_the_one_given(tmp_path: Path) -> None:
    clock = FixedClock()
    async with open_app(settings_for(tmp_path / "home"), clock=clock) as app:
        who = await app.local_user()
        assert who.user.created_at == clock()
        async with app.bench.db.write() as conn:
            _, text = await tokens.create_token(conn, who, name="x", scope=Scope.READ, now=clock(), days=1)
    clock.advance(24 * 60 * 60)
    async with open_app(settings_for(tmp_path / "home", KOSMOS_TOKEN=text), clock=clock) as app:
        with pytest.raises(Unauthenticated, match="expired"):
            await app.local_user()


async def test_the_variable_goes_before_the_token_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_app(settings_for(home)) as app:
        owner = await app.local_user()
        async with app.bench.db.write() as conn:
            token, text = await tokens.create_token(
                conn, owner, name="ci", scope=Scope.READ, now=app.bench.clock()
            )
    async with open_app(settings_for(home, KOSMOS_TOKEN=text)) as app:
        seen = await app.local_user()
        assert (seen.user, seen.scope, seen.token_id) == (owner.user, Scope.READ, token.id)
    async with open_app(settings_for(home, KOSMOS_TOKEN="kosmos_wrong_token")) as app:
        with pytest.raises(Unauthenticated):
            await app.local_user()


async def test_without_a_token_file_the_remedy_names_both_ways(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home")
    async with open_app(settings) as app:
        settings.token_file.unlink()
        with pytest.raises(Unauthenticated, match="no token in") as caught:
            await app.local_user()
    assert "KOSMOS_TOKEN" in (caught.value.remedy or "")
    async with open_app(settings):
        assert not settings.token_file.exists()  # an owner is there: nobody else becomes one


async def test_a_given_encryption_key_makes_no_key_file(tmp_path: Path) -> None:
    key = Fernet.generate_key().decode()
    settings = settings_for(tmp_path / "home", KOSMOS_SECRET_KEY=key)
    async with open_app(settings) as app:
        assert app.box.open(app.box.seal("sk-1")) == "sk-1"
        assert key not in repr(app) + repr(settings)
    assert not settings.key_file.exists()


@pytest.mark.parametrize("bad", ["file", "below a file", "loop"])
async def test_a_home_that_cannot_be_a_folder(tmp_path: Path, bad: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    home = tmp_path / ("file/home" if bad == "below a file" else bad)
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        async with open_app(Settings(home=home)):
            pass
    assert "KOSMOS_HOME" in (caught.value.remedy or "")
    assert (tmp_path / "file").read_text() == "mine"


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everywhere, so a test that runs as root becomes nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.parametrize("home", [".", "new/home"])
def test_a_home_without_permission_to_write(home: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        try:
            with as_nobody(), pytest.raises(ConfigError, match="cannot be used") as caught:
                make_home(Settings(home=Path(folder) / home))
        finally:
            Path(folder).chmod(0o700)
        assert list(Path(folder).iterdir()) == []
    assert "ermission" in caught.value.message
    assert "KOSMOS_HOME" in (caught.value.remedy or "")


async def test_a_damaged_key_file_is_explained_and_nothing_is_lost(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home")
    async with open_app(settings) as app:
        owner = await app.local_user()
    kept = settings.key_file.read_bytes()
    settings.key_file.write_text("damaged")
    with pytest.raises(ConfigError, match=r"secret\.key"):
        async with open_app(settings):
            pass
    settings.key_file.write_bytes(kept)
    async with open_app(settings) as app:
        assert await app.local_user() == owner


async def test_a_server_database_is_not_migrated_unasked(tmp_path: Path, postgres_url: str) -> None:
    settings = settings_for(tmp_path / "home", KOSMOS_DATABASE_URL=postgres_url)
    with pytest.raises(ConfigError, match="revision") as caught:
        async with open_app(settings):
            pass
    assert "kosmos db upgrade" in (caught.value.remedy or "")
    assert not settings.token_file.exists()


async def test_when_the_token_cannot_be_written_there_is_no_owner_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise nobody could ever sign in."""
    settings = settings_for(tmp_path / "home")

    def full(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("kosmos.app.write_private", full)
        with pytest.raises(ConfigError, match="disk full"):
            async with open_app(settings):
                pass
    async with open_app(settings) as app:
        assert (await app.local_user()).user.is_admin


async def test_starts_at_once_share_one_owner(tmp_path: Path, empty_url: str) -> None:
    """On SQLite the home is new, tables and all; a server's tables are there, but nobody in them."""
    home = tmp_path / "new home"
    environ = {**os.environ, "KOSMOS_HOME": str(home)}
    if not empty_url.startswith("sqlite"):
        environ["KOSMOS_DATABASE_URL"] = empty_url
        db = Database(empty_url)
        await ensure_current(db, upgrade=True)
        await db.close()
    seen = [json.loads(line) for line in start_at_once(environ)]
    settings = settings_for(
        home, **{name: environ[name] for name in environ if name == "KOSMOS_DATABASE_URL"}
    )
    async with open_app(settings) as app:
        who = await app.local_user()
        assert seen == [{"user": who.user.id, "key": app.box.key_id}] * AT_ONCE
        async with app.bench.db.read() as conn:
            assert await list_users(conn) == [who.user]
        assert await names(app, who) == {"default": Role.OWNER}
    assert (mode(home), mode(settings.token_file), mode(settings.key_file)) == (0o700, 0o600, 0o600)


def start_at_once(environ: dict[str, str]) -> list[str]:
    """What each of several processes prints that start at the same moment."""
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", START], env=environ, stdin=pipe, stdout=pipe, text=True)
        for _ in range(AT_ONCE)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    printed = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * AT_ONCE
    return printed
