"""Files that come piece by piece: kept on disk, limited, checked, and added by those who may."""

from pathlib import Path
from typing import Any

import pytest

from kosmos.db.assets import insert_assets
from kosmos.db.blobs import hold
from kosmos.domain.accounts import Role, Scope
from kosmos.domain.assets import AnalysisStatus, Asset
from kosmos.domain.documents import DocumentStatus
from kosmos.errors import Forbidden, InvalidInput, NotFound, TooLarge
from kosmos.tasks.adding import Outcome
from kosmos.tasks.downloading import list_assets, open_asset, open_original
from kosmos.tasks.reading import Place, read_place
from kosmos.tasks.uploading import MAX_FILES, Uploaded, add_arrivals, check_upload, clean_path, open_inbox

from .scene import Scene

NOT = AnalysisStatus.NOT_ANALYSED
TEXT = "# 泵 Pump\n\nOil it every 40 days."


async def _upload(scene: Scene, folder: Path, *files: tuple[str, bytes], who: Any = None) -> Uploaded:
    with open_inbox(folder, 10_000_000) as inbox:
        for name, data in files:
            await inbox.begin(name)
            for start in range(0, len(data), 1000):
                await inbox.write(data[start : start + 1000])
        await inbox.finish()
        return await add_arrivals(scene.bench, who or scene.owner, scene.space_id, inbox.arrivals)


async def test_what_is_uploaded_can_be_read_and_had_back(scene: Scene, tmp_path: Path) -> None:
    large = (TEXT + "\n\nMore 文字.\n" * 200_000).encode()
    done = await _upload(scene, tmp_path, ("pump.md", TEXT.encode()), ("手册/large.md", large))
    assert [(item.outcome, item.document.source) for item in done.added] == [
        (Outcome.ADDED, "pump.md"),
        (Outcome.ADDED, "手册/large.md"),
    ]
    first, second = (item.document for item in done.added)
    download = await open_original(scene.bench, scene.owner, second.id)
    assert (download.name, download.size) == ("large.md", len(large))
    assert b"".join([piece async for piece in download.pieces]) == large
    await scene.bench.blobs.remove(second.original_sha256)
    await scene.work()
    found = await read_place(scene.bench, scene.owner, first.id, Place())
    assert "\n".join(found.lines) == TEXT


async def test_the_same_name_is_a_new_version_and_the_same_bytes_are_nothing_new(
    scene: Scene, tmp_path: Path
) -> None:
    outcomes = []
    for text in (TEXT, TEXT, TEXT + " Or 50."):
        done = await _upload(scene, tmp_path, ("a/pump.md", text.encode()))
        outcomes.append(done.added[0].outcome)
        await scene.work()
    assert outcomes == [Outcome.ADDED, Outcome.UNCHANGED, Outcome.UPDATED]
    (document,) = await scene.documents()
    assert (document.version, document.status, document.origin) == (
        2,
        DocumentStatus.READY,
        "upload:///a/pump.md",
    )


async def test_nothing_lies_on_disk_under_a_name(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    with open_inbox(folder, 10_000_000) as inbox:
        await inbox.begin("../../etc/passwd")
        await inbox.write(b"x" * 3_000_000)
        await inbox.finish()
        assert inbox.arrivals[0].name == "etc/passwd"
        assert inbox.arrivals[0].file.tell() == 3_000_000
        assert list(folder.iterdir()) == []
    assert inbox.arrivals[0].file.closed


async def test_limits(scene: Scene, tmp_path: Path) -> None:
    with open_inbox(tmp_path, 1000) as inbox:
        await inbox.begin("a.md")
        await inbox.write(b"x" * 600)
        await inbox.begin("b.md")
        await inbox.write(b"x" * 400)
        with pytest.raises(TooLarge) as caught:
            await inbox.write(b"x")
    assert "b.md" in caught.value.message
    assert "KOSMOS_MAX_FILE_BYTES" in (caught.value.remedy or "")
    with open_inbox(tmp_path, 1000) as inbox:
        for number in range(MAX_FILES):
            await inbox.begin(f"{number}.md")
        with pytest.raises(TooLarge):
            await inbox.begin("one-more.md")


async def test_one_file_that_cannot_be_read_does_not_stop_the_others(scene: Scene, tmp_path: Path) -> None:
    bad, good = ("movie.md", b"\x00\x00\x00\x18ftypmp42" + b"\x01" * 50), ("a.md", TEXT.encode())
    with pytest.raises(InvalidInput) as caught:
        await _upload(scene, tmp_path, bad)
    assert "movie.md" in caught.value.message
    assert await scene.documents() == []
    for files in ((bad, good), (good, bad)):
        done = await _upload(scene, tmp_path, *files)
        assert [item.document.source for item in done.added] == ["a.md"]
        assert [item.name for item in done.refused] == ["movie.md"]
        assert done.refused[0].reason
    with pytest.raises(InvalidInput):
        await _upload(scene, tmp_path, bad, ("other.md", bad[1]))
    with pytest.raises(InvalidInput, match="Two files"):
        await _upload(scene, tmp_path, good, ("./a.md", b"b"))
    with pytest.raises(InvalidInput, match="No file"):
        await _upload(scene, tmp_path)


async def test_only_editors_upload(scene: Scene, tmp_path: Path) -> None:
    bob = await scene.person("bob")
    attempt = ("a.md", TEXT.encode())
    with pytest.raises(NotFound):
        await check_upload(scene.bench, bob, scene.space_id)
    with pytest.raises(NotFound):
        await _upload(scene, tmp_path, attempt, who=bob)
    await scene.invite("bob", Role.VIEWER)
    with pytest.raises(Forbidden):
        await _upload(scene, tmp_path, attempt, who=bob)
    assert await scene.documents() == []
    await scene.invite("bob", Role.EDITOR)
    assert bob.scope is not Scope.READ
    assert (await _upload(scene, tmp_path, attempt, who=bob)).added


async def test_only_figures_of_the_live_version_are_given_out(scene: Scene) -> None:
    document, _ = await scene.add(TEXT)
    now, key = scene.bench.clock(), await scene.bench.blobs.put(b"a picture")
    known: dict[str, Any] = {
        "space_id": scene.space_id,
        "document_id": document.id,
        "kind": "figure",
        "sha256": key,
        "size": 9,
    }
    known |= {"media_type": "image/svg+xml", "line": 1, "caption": "", "description": None, "error": None}
    both = [
        Asset(id=f"asset-{n}", generation=n, analysis_status=NOT, created_at=now, updated_at=now, **known)
        for n in (document.live_generation, document.live_generation + 1)
    ]
    async with scene.bench.db.write() as conn:
        await hold(conn, key, 9, now)
        await insert_assets(conn, both)
    assert await list_assets(scene.bench, scene.owner, document.id) == both[:1]
    live = await open_asset(scene.bench, scene.owner, both[0].id)
    assert b"".join([piece async for piece in live.pieces]) == b"a picture"
    bob = await scene.person("bob")
    for who, asset in ((scene.owner, both[1].id), (bob, both[0].id), (scene.owner, "nothing")):
        with pytest.raises(NotFound, match=f"There is no asset {asset}"):
            await open_asset(scene.bench, who, asset)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a.md", "a.md"),
        ("/etc/passwd", "etc/passwd"),
        ("../../a.md", "a.md"),
        ("docs/./b/../a.md", "docs/b/a.md"),
        ("C:\\Users\\李雷\\笔记.md", "Users/李雷/笔记.md"),
        ("a//b\\/c.md", "a/b/c.md"),
        ("  a .md ", "a .md"),
        ("...", "..."),
    ],
)
def test_names(given: str, kept: str) -> None:
    assert clean_path(given) == kept


@pytest.mark.parametrize(
    "given", ["", "/", "..", "../", "C:\\", "a\x00.md", "a\x1b[31m.md", "a\n.md", "a\ud800", "x" * 5000]
)
def test_names_that_are_none(given: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        clean_path(given)
    assert caught.value.remedy
