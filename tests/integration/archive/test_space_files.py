"""A space as a file: whole, with ids that fit the place; hostile files change nothing."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kosmos.accounts.people import create_user
from kosmos.accounts.spaces import change_space, put_member
from kosmos.accounts.tokens import authenticate
from kosmos.app import App
from kosmos.archive import reading
from kosmos.archive.manifest import SPACE
from kosmos.archive.reading import open_archive
from kosmos.archive.space_export import export_space
from kosmos.archive.space_import import Imported, import_space
from kosmos.archive.spaces import CARRIED, LEFT
from kosmos.archive.tables import all_tables
from kosmos.db import chunks, documents
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import Conflict, Forbidden, InvalidInput
from kosmos.tasks.asking import search

from .instances import TEXTS, add, contents, default_space, opened, settings_of

Parts = dict[str, bytes]
NOBODY = "00000000-0000-7000-8000-000000000000"


async def _import(app: App, file: Path, name: str | None = None) -> Imported:
    with open_archive(file, SPACE) as reader:
        return await import_space(app.bench, await app.local_user(), reader, name=name)


async def _export(app: App, file: Path) -> Path:
    await export_space(app.bench, await app.local_user(), await default_space(app), file)
    return file


async def _texts(app: App, space_id: str) -> dict[str, list[Any]]:
    """All that readers and owners see, but for ids."""
    found = {}
    async with app.bench.db.read() as conn:
        for document in await documents.list_documents(conn, space_id):
            live = await chunks.live_chunks(conn, document.id)
            places = {chunk.id: chunk.position for chunk in live}
            found[document.source] = [
                (chunk.raw_content, chunk.summary, chunk.redaction, places.get(chunk.parent_id or ""))
                for chunk in live
            ]
    return found


async def _ids(app: App, space_id: str) -> set[str]:
    found = {space_id}
    async with app.bench.db.read() as conn:
        for document in await documents.list_documents(conn, space_id):
            found |= {document.id, *(chunk.id for chunk in await chunks.live_chunks(conn, document.id))}
    return found


@pytest.fixture(params=["sqlite", "postgres"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Another instance, on each engine."""
    environ = {}
    if request.param == "postgres":
        from kosmos.db import Database
        from kosmos.db.migrate import ensure_current

        environ = {"KOSMOS_DATABASE_URL": request.getfixturevalue("postgres_url")}
        db = Database(environ["KOSMOS_DATABASE_URL"])
        await ensure_current(db, upgrade=True)
        await db.close()
    async with opened(settings_of(tmp_path / "target", **environ)) as app:
        yield app


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A space in a file."""
    async with opened(settings_of(tmp_path / "source")) as app:
        await add(app, TEXTS)
        return await _export(app, tmp_path / "space.zip")


async def test_every_table_is_carried_or_left_for_a_reason() -> None:
    carried = {table.name for table in CARRIED}
    assert carried | LEFT.keys() == {table.name for table in all_tables()}
    assert not carried & LEFT.keys()


async def test_a_space_goes_to_another_instance_with_its_ids(tmp_path: Path, target: App) -> None:
    async with opened(settings_of(tmp_path / "home")) as app:
        await add(app, TEXTS)
        space, who = await default_space(app), await app.local_user()
        async with app.bench.db.write() as conn:
            changes = {"settings": {"chunking": {"batch_lines": 50}}}
            await change_space(conn, who, space, changes=changes, now=app.bench.clock())
        await _export(app, tmp_path / "s.zip")
        texts, ids = await _texts(app, space), await _ids(app, space)
    made = await _import(target, tmp_path / "s.zip", "另一个")
    assert (made.space_id, made.renamed, made.name) == (space, 0, "另一个")
    assert (made.verified.verified, made.verified.faults) == (len(TEXTS), ())
    assert await _texts(target, space) == texts
    assert await _ids(target, space) == ids
    assert any(layer for rows in texts.values() for _, _, layer, _ in rows)  # something is hidden
    hits = await search(target.bench, await target.local_user(), "证书轮换")
    assert "每九十天" in hits[0].text
    await add(target, {"more.md": "# More\n\nWork goes on.\n"}, made.space_id)


async def test_ids_that_are_taken_are_new_and_fit_together(target: App, tmp_path: Path) -> None:
    await add(target, TEXTS)
    space = await default_space(target)
    file = await _export(target, tmp_path / "s.zip")
    with pytest.raises(Conflict, match="already"):
        await _import(target, file)
    made = await _import(target, file, "copy")
    assert made.space_id != space
    assert made.verified.faults == ()
    assert await _texts(target, made.space_id) == await _texts(target, space)
    assert not await _ids(target, made.space_id) & await _ids(target, space)
    assert made.renamed == len(await _ids(target, space))


async def test_only_an_owner_may_export(tmp_path: Path) -> None:
    async with opened(settings_of(tmp_path / "home")) as app:
        space, who = await default_space(app), await app.local_user()
        async with app.bench.db.write() as conn:
            now = app.bench.clock()
            _, token = await create_user(conn, who, name="eve", is_admin=False, now=now)
            await put_member(conn, who, space, user="eve", role=Role.EDITOR, now=now)
            eve: Principal = await authenticate(conn, token, now)
        with pytest.raises(Forbidden):
            await export_space(app.bench, eve, space, tmp_path / "s.zip")
    assert not (tmp_path / "s.zip").exists()


def _pack(file: Path, parts: Parts) -> None:
    """An archive whose checksums are right, whatever is in it."""
    manifest = json.loads(parts["manifest.json"])
    for name, part in manifest["parts"].items():
        if name in parts:
            part |= {"bytes": len(parts[name]), "sha256": hashlib.sha256(parts[name]).hexdigest()}
    parts = {**parts, "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def _row(table: str, **changes: Any) -> Callable[[Parts], None]:
    """The first row of a table gets other values."""

    def change(parts: Parts) -> None:
        name = f"tables/{table}.jsonl"
        first, *rest = parts[name].decode().split("\n")
        body = json.loads(first) | changes
        lines = [json.dumps({key: value for key, value in body.items() if value is not ...}), *rest]
        parts[name] = "\n".join(lines).encode()

    return change


def _part(name: str, data: bytes) -> Callable[[Parts], None]:
    return lambda parts: parts.update({name: data})


def _manifest(**changes: Any) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        body = json.loads(parts["manifest.json"])
        parts["manifest.json"] = json.dumps(body | changes).encode()

    return change


def _line(table: str, line: bytes) -> Callable[[Parts], None]:
    name = f"tables/{table}.jsonl"
    return lambda parts: parts.update({name: parts[name] + line + b"\n"})


def _twice(table: str) -> Callable[[Parts], None]:
    name = f"tables/{table}.jsonl"
    return lambda parts: parts.update({name: parts[name] * 2})


HOSTILE: dict[str, tuple[Callable[[Parts], None], str]] = {
    "slip": (_part("../../etc/passwd", b"x"), "not those of its manifest"),
    "absolute": (_part("/etc/passwd", b"x"), "not those of its manifest"),
    "slip in the manifest": (
        _manifest(parts={"../x": {"bytes": 1, "sha256": "a" * 64}}),
        "unknown part",
    ),
    "wrong bytes": (_part("tables/none.jsonl", b""), "not those of its manifest"),
    "unknown field": (_row("document", evil=1), "unknown field"),
    "unknown manifest field": (_manifest(evil=1), "unknown fields"),
    "newer format": (_manifest(format=2), "newer"),
    "newer revision": (_manifest(revision="9999"), "9999"),
    "kind": (_manifest(kind="backup"), "kosmos restore"),
    "huge number": (_row("document", line_count=10**30), "no value for document.line_count"),
    "endless number": (_line("document", b'{"id": 1' + b"0" * 5000 + b"}"), "no JSON"),
    "infinity": (_row("document", size=float("inf")), "no JSON"),
    "float overflow": (_line("document", b'{"metadata": {"a": 1e999}}'), "too large"),
    "depth": (_line("document", b'{"metadata": ' + b"[" * 900 + b"]" * 900 + b"}"), "nested"),
    "endless depth": (_line("document", b"[" * 200_000), "no JSON"),
    "zero byte": (_row("document", title="a\0b"), "cannot be stored"),
    "half a character": (_row("document", title="\ud800"), "cannot be stored"),
    "no text": (_line("document", b"\xff\xfe"), "no text"),
    "type": (_row("document", title=7), "no value for document.title"),
    "truth": (_row("chunk", merged=1), "no value for chunk.merged"),
    "moment": (_row("document", created_at="2026-01-01"), "no value for document.created_at"),
    "long": (_row("document", filetype="x" * 40), "no value for document.filetype"),
    "lacking": (_row("document", title=...), "lacks title"),
    "list for an object": (_row("chunk", metadata=[1]), "is no object"),
    "owner": (_row("knowledge_space", owner_id="a" * 36), "who owns"),
    "no id": (_row("document", id="x"), "is no id"),
    "other space": (_row("chunk", space_id=NOBODY), "another space"),
    "other document": (
        _row("chunk", document_id=NOBODY),
        "refers to nothing",
    ),
    "missing bytes": (_row("document", original_sha256="a" * 64), "bytes that are not in it"),
    "two spaces": (_twice("knowledge_space"), "several spaces"),
    "twice": (_twice("document"), "there twice"),
    "chunk twice": (_twice("chunk"), "there twice"),
    "no space": (_part("tables/knowledge_space.jsonl", b""), "no space"),
    "other text": (_row("chunk", raw_content="lies"), "do not give its text"),
    "status": (_row("document", status="EVIL"), "do not fit together"),
    "lines": (_row("chunk", start_line=-5), "do not fit together"),
    "settings": (_row("knowledge_space", settings={"chunking": {"producer": "magic"}}), "magic"),
    "name": (_row("knowledge_space", name="\x1b[31m"), "name"),
    "hidden": (_row("chunk", redaction={"redactions": [{}]}), "cannot be read"),
    "half a line": (_part("tables/asset.jsonl", b'{"id":'), "not whole"),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_files_change_nothing(file: Path, tmp_path: Path, kind: str) -> None:
    change, words = HOSTILE[kind]
    with zipfile.ZipFile(file) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    change(parts)
    hostile = tmp_path / "hostile.zip"
    _pack(hostile, parts)
    async with opened(settings_of(tmp_path / "victim")) as app:
        before = await contents(app)
        with pytest.raises(InvalidInput) as caught:
            await _import(app, hostile, None if kind == "name" else "new")
        assert words in caught.value.message
        assert caught.value.remedy
        assert await contents(app) == before
        assert [key async for key in app.bench.blobs.keys()] == []  # noqa: SIM118 - not a dictionary
        assert not list((tmp_path / "victim").rglob("passwd"))


async def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ALWAYS", 2**20)
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * (4 * 2**20))
    with pytest.raises(InvalidInput, match="would unpack"), open_archive(tmp_path / "b.zip", SPACE):
        pass


async def test_a_part_that_is_longer_than_told_is_noticed(file: Path, tmp_path: Path) -> None:
    """The directory of the ZIP says less than there is."""
    with zipfile.ZipFile(file) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    _pack(tmp_path / "long.zip", parts)
    manifest = json.loads(parts["manifest.json"])
    manifest["parts"]["tables/chunk.jsonl"]["bytes"] -= 1
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, data)
    (tmp_path / "long.zip").write_bytes(stream.getvalue())
    async with opened(settings_of(tmp_path / "victim")) as app:
        with pytest.raises(InvalidInput, match="longer"):
            await _import(app, tmp_path / "long.zip", "new")
