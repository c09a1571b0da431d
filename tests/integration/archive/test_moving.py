"""Embedded to PostgreSQL with pgvector and S3, and back: every row, vector and byte is the same."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from moto.server import ThreadedMotoServer

from kosmos.app import App, open_bench
from kosmos.archive.moving import Departure, Moved, finish_move, move_rows, prove_source
from kosmos.archive.progress import say_nothing
from kosmos.archive.proof import verify_all
from kosmos.archive.secrets import read_secrets, write_secrets
from kosmos.archive.tables import all_tables, different
from kosmos.archive.targets import target_settings
from kosmos.config import Settings
from kosmos.errors import Conflict, DataLost, InvalidInput
from kosmos.tasks.asking import search

from .instances import TEXTS, add, contents, default_space, filled, index_of, opened, settings_of

SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request"}


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    """A real S3 server."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_endpoint: str) -> str:
    """The URL of an empty bucket."""
    name = f"b{uuid.uuid4().hex}"
    httpx2.put(f"{s3_endpoint}/{name}", headers=SIGNED, trust_env=False).raise_for_status()
    return f"s3://{name}/kosmos?endpoint={s3_endpoint}"


async def move(app: App, target: Settings) -> Moved:
    """What the command does."""
    before = await prove_source(app.bench)
    moved: dict[str, Any] = {}

    async def fill(db: Any, blobs: Any) -> None:
        other = target.blobs != app.settings.blobs
        moved.update(await move_rows(app.bench, db, blobs if other else None))
        if target.home != app.settings.home:
            write_secrets(target, read_secrets(app.settings))

    async with open_bench(target, fill=fill) as bench:
        index = target.index != app.settings.index
        return await finish_move(bench, Departure(app.bench, before, moved), index=index, step=say_nothing)


async def test_there_and_back(tmp_path: Path, postgres_url: str, bucket: str) -> None:
    keys = {"KOSMOS_S3_ACCESS_KEY": "a", "KOSMOS_S3_SECRET_KEY": "b"}
    home = settings_of(tmp_path / "home", **keys)
    away = target_settings(home, postgres_url, index_url=postgres_url, blobs=bucket)
    async with filled(home) as app:
        space = await default_space(app)
        before, index = await contents(app), await index_of(app, space)
        assert all(before[name].rows for name in ("chunk", "embedding", "event", "run", "chat_message"))
        there = await move(app, away)
    assert there.after == there.before
    assert there.after.verified == len(TEXTS)
    assert (there.after.citations, there.after.gone) == (2, 2)  # of the message and of the event
    async with opened(away) as app:
        assert different(before, await contents(app)) == []
        assert await index_of(app, space) == index
        back = await move(app, target_settings(away, str(tmp_path / "back")))
    assert back.after == there.before
    async with opened(settings_of(tmp_path / "back")) as app:
        assert different(before, await contents(app)) == []
        assert await index_of(app, space) == index
        hits = await search(app.bench, await app.local_user(), "证书轮换")
        assert "每九十天" in hits[0].text
        # New work goes on: numbers that the database gives follow those that are there.
        await add(app, {"new.md": "# New\n\nAdded after all.\n"})
        assert (await verify_all(app.bench)).verified == len(TEXTS) + 1


async def test_a_false_citation_is_not_moved(tmp_path: Path) -> None:
    home = settings_of(tmp_path / "home")
    async with filled(home) as app:
        async with app.bench.db.write() as conn:
            false = sa.text("UPDATE chat_message SET metadata = replace(metadata, 'two years', 'ten years')")
            await conn.execute(false)
        with pytest.raises(Conflict, match="wrong before"):
            await move(app, target_settings(home, str(tmp_path / "other")))


async def test_numbers_go_on_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    home = settings_of(tmp_path / "home")
    async with opened(home) as app:
        await add(app, TEXTS)
        await move(app, target_settings(home, postgres_url))
    async with opened(settings_of(tmp_path / "home", KOSMOS_DATABASE_URL=postgres_url)) as app:
        await add(app, {"new.md": "# New\n\nAdded after all.\n"})
        assert len(await index_of(app, await default_space(app))) > len(TEXTS)  # the index stayed


async def test_a_target_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    home, other = settings_of(tmp_path / "home"), settings_of(tmp_path / "other")
    async with opened(other) as app:
        before = await contents(app)
    async with opened(home) as app:
        with pytest.raises(Conflict, match="not empty"):
            await move(app, target_settings(home, str(other.home)))
        with pytest.raises(InvalidInput, match="already"):
            target_settings(home, str(home.home))
    async with opened(other) as app:
        assert await contents(app) == before


async def test_a_source_that_changes_is_noticed_and_the_move_can_be_made_again(tmp_path: Path) -> None:
    home = settings_of(tmp_path / "home")
    target = target_settings(home, str(tmp_path / "other"))
    async with opened(home) as app:
        await add(app, TEXTS)
        changed = False

        def step(_done: int, _total: int, what: str) -> None:
            nonlocal changed
            if what == "job_event" and not changed:
                changed = True
                engine = sa.create_engine(f"sqlite:///{home.home}/kosmos.db")
                with engine.begin() as conn:
                    conn.execute(sa.text("UPDATE document SET title = 'changed'"))
                engine.dispose()

        async def fill(db: Any, blobs: Any) -> None:
            await move_rows(app.bench, db, blobs, step)

        with pytest.raises(DataLost, match="somebody writes"):
            async with open_bench(target, fill=fill):
                pass
        assert changed
        assert (await move(app, target)).after.verified == len(TEXTS)


async def test_what_is_broken_is_not_moved(tmp_path: Path) -> None:
    home = settings_of(tmp_path / "home")
    async with opened(home) as app:
        await add(app, TEXTS)
        async with app.bench.db.write() as conn:
            await conn.execute(sa.text("UPDATE chunk SET raw_content = 'x'"))
        with pytest.raises(Conflict, match="wrong before"):
            await move(app, target_settings(home, str(tmp_path / "other")))
    assert not (tmp_path / "other").exists()


def test_every_table_can_be_moved() -> None:
    """Pages go by the primary key, so that each table needs one."""
    assert all(table.primary_key.columns for table in all_tables())
