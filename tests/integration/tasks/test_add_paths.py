"""Adding folders as they are found on real machines."""

import asyncio
import os
from pathlib import Path

import pytest

from kosmos.domain.documents import DocumentStatus
from kosmos.errors import InvalidInput, NotFound
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.folders import AddReport, Choice, add_paths

from .scene import Scene

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # files, not tables


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with everything that a folder may hold."""
    root = tmp_path / "docs"
    files = {
        "readme.md": "# Readme",
        "notes.TXT": "notes",
        "a/guide.markdown": "# Guide A",
        "b/guide.markdown": "# Guide B",
        "中文/说明.md": "# 说明",
        "empty.md": "",
        ".hidden.md": "hidden",
        ".git/config.md": "hidden folder",
        "Makefile": "all:",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "binary.md").write_bytes(b"\x00\x01")
    (root / "program").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(60))
    (root / "link.md").symlink_to(root / "readme.md")
    (root / "dangling.md").symlink_to(root / "nowhere.md")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.md")
    return root


async def _add(scene: Scene, *paths: Path, choice: Choice | None = None) -> AddReport:
    async with scene.working(), asyncio.timeout(60):
        return await add_paths(
            scene.bench, scene.owner, "default", paths, choice=choice, on_step=lambda *_: None
        )


def _reasons(items: list[object], root: Path) -> dict[str, str]:
    return {str(Path(item.path).relative_to(root)): item.reason for item in items}  # type: ignore[attr-defined]


GOOD = ["docs/Makefile", "docs/a/guide.markdown", "docs/b/guide.markdown", "docs/empty.md", "docs/notes.TXT"]
GOOD += ["docs/readme.md", "docs/中文/说明.md"]


async def test_a_folder_of_all_sorts(scene: Scene, docs: Path) -> None:
    report = await _add(scene, docs)
    assert sorted(report.added) == GOOD
    assert (report.updated, report.unchanged, report.failed) == ([], [], [])
    skipped = _reasons([*report.skipped], docs)
    assert "binary file of an unknown kind" in skipped.pop("binary.md")
    assert "program" in skipped.pop("program")
    assert skipped == {
        ".hidden.md": "hidden",
        "link.md": "not a regular file",
        "dangling.md": "not a regular file",
        "pipe.md": "not a regular file",
    }
    assert sorted(document.source for document in await scene.documents()) == GOOD
    assert {document.status for document in await scene.documents()} == {DocumentStatus.READY}
    await scene.check_tidy()


async def test_adding_a_folder_again(scene: Scene, docs: Path) -> None:
    await _add(scene, docs)
    (docs / "readme.md").write_text("# Changed")
    (docs / "new.md").write_text("# New")
    (docs / "binary.md").write_text("text now")
    report = await _add(scene, docs)
    assert sorted(report.added) == ["docs/binary.md", "docs/new.md"]
    assert report.updated == ["docs/readme.md"]
    assert sorted(report.unchanged) == sorted(set(GOOD) - {"docs/readme.md"})
    await scene.check_tidy()


async def test_a_file_that_cannot_be_converted_stops_nobody(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n%%EOF")
    (folder / "编码.md").write_text("证书每九十天轮换一次，请提前通知管理员。", encoding="gb18030")
    report = await _add(scene, folder)
    assert report.added == ["mixed/编码.md"]
    ((path, reason),) = [(item.path, item.reason) for item in report.failed]
    assert path == str(folder / "broken.pdf")
    assert "broken.pdf" in reason
    broken, other = sorted(await scene.documents(), key=lambda document: document.source)
    assert (broken.status, broken.error) == (DocumentStatus.FAILED, reason)
    assert other.status is DocumentStatus.READY
    assert await scene.found("证书轮换") == ["证书每九十天轮换一次，请提前通知管理员。"]
    await scene.check_tidy()


async def test_what_is_chosen_of_a_folder(scene: Scene, docs: Path) -> None:
    chosen = Choice(include=("*.md", "a/*"), exclude=("readme.md",))
    report = await _add(scene, docs, choice=chosen)
    assert sorted(report.added) == ["docs/a/guide.markdown", "docs/empty.md", "docs/中文/说明.md"]
    skipped = _reasons([*report.skipped], docs)
    assert (skipped["readme.md"], skipped["notes.TXT"]) == ("excluded", "not included")


async def test_a_file_that_is_named_twice_is_added_once(scene: Scene, docs: Path) -> None:
    report = await _add(scene, docs / "readme.md", docs / "readme.md")
    assert (report.added, report.unchanged) == (["readme.md"], ["readme.md"])
    (document,) = await scene.documents()
    assert len(await scene.jobs(document.id)) == 3


async def test_files_that_are_being_added_already_are_waited_for(scene: Scene, docs: Path) -> None:
    source = Source((docs / "readme.md").as_uri(), "readme.md", b"# Readme")
    await add_document(scene.bench, scene.owner, scene.space_id, source)
    await scene.work(1)
    report = await _add(scene, docs / "readme.md")
    assert report.unchanged == ["readme.md"]
    await scene.check_served("# Readme", "readme.md")


async def test_files_of_the_same_name_named_one_by_one(scene: Scene, docs: Path) -> None:
    report = await _add(scene, docs / "a/guide.markdown", docs / "b/guide.markdown", docs / "link.md")
    assert report.added == ["guide.markdown", "b/guide.markdown", "link.md"]
    report = await _add(scene, docs / "b/guide.markdown", docs / ".hidden.md", docs / "program")
    assert (report.unchanged, report.added) == (["b/guide.markdown"], [".hidden.md"])
    assert [Path(item.path).name for item in report.failed] == ["program"]


async def test_the_same_file_by_other_ways_is_the_same_document(
    scene: Scene, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _add(scene, docs)
    monkeypatch.chdir(docs / "a")
    for way in (Path(".."), Path("../../docs"), docs / "b" / "..", docs / "loop"):
        report = await _add(scene, way)
        assert (report.added, report.updated, sorted(report.unchanged)) == ([], [], GOOD)
    assert (await _add(scene, Path("guide.markdown"), Path("../b/guide.markdown"))).added == []


async def test_a_name_that_is_no_utf8_stops_nobody(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    bad = folder / os.fsdecode(b"caf\xe9.md")
    bad.write_text("words")
    (folder / "good.md").write_text("words")
    report = await _add(scene, folder)
    assert report.added == ["odd/good.md"]
    assert [item.reason for item in report.skipped] == ["its name is not UTF-8"]
    report = await _add(scene, bad)
    assert [item.reason for item in report.failed] == ["its name is not UTF-8"]
    for item in report.failed:
        item.path.encode()


async def test_names_may_hold_anything_else(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    names = [
        "100%25.md",
        "a b.md",
        "question?.md",
        "hash#1.md",
        "new\nline.md",
        "-dash.md",
        "😀.md",
        "q'uote\".md",
    ]
    for name in names:
        (folder / name).write_text(name)
    report = await _add(scene, folder)
    assert sorted(report.added) == sorted(f"odd/{name}" for name in names)
    assert sorted((await _add(scene, folder)).unchanged) == sorted(report.added)


async def test_huge_files_are_passed_over(scene: Scene, tmp_path: Path) -> None:
    huge = tmp_path / "many" / "huge.md"
    huge.parent.mkdir()
    most = scene.bench.converter.limits.original_bytes
    with huge.open("wb") as file:
        file.truncate(most + 1)
    reason = f"larger than {most:,} bytes"
    assert [item.reason for item in (await _add(scene, huge.parent)).skipped] == [reason]
    assert [item.reason for item in (await _add(scene, huge)).failed] == [reason]


async def test_a_folder_that_cannot_be_opened_is_reported(
    scene: Scene, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = await _add(scene, docs)
    assert "docs/a/guide.markdown" in report.added
    assert str(docs / "b") in [item.path for item in report.failed]


async def test_what_is_not_there_adds_nothing_at_all(scene: Scene, docs: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        await _add(scene, docs, docs / "missing")
    with pytest.raises(NotFound):
        await add_paths(scene.bench, scene.owner, "no such space", [docs], on_step=lambda *_: None)
    assert await scene.documents() == []


async def test_steps_are_told(scene: Scene, docs: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    async with scene.working(), asyncio.timeout(60):
        await add_paths(
            scene.bench,
            scene.owner,
            "default",
            [docs / "a", docs / "b"],
            on_step=lambda *step: steps.append(step),
        )
    assert [(done, total) for done, total, _ in steps] == [(1, 2), (2, 2), (2, 2)]
    assert sorted(name for _, _, name in steps) == ["", "a/guide.markdown", "b/guide.markdown"]
    assert steps[-1] == (2, 2, "")
