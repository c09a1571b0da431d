"""Adding folders as they are found on real machines."""

import os
from pathlib import Path

import pytest

from kosmos.errors import InvalidInput, NotFound
from kosmos.tasks.folders import MAX_FILE, AddReport, add_paths

from .scene import Scene


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
        "image.png": "not really",
        "Makefile": "all:",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "latin.md").write_bytes("caf\xe9".encode("latin-1"))
    (root / "binary.md").write_bytes(b"\x00\x01")
    (root / "link.md").symlink_to(root / "readme.md")
    (root / "dangling.md").symlink_to(root / "nowhere.md")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.md")
    return root


async def _add(scene: Scene, *paths: Path) -> AddReport:
    return await add_paths(scene.bench, scene.owner, "default", paths, on_step=lambda *_: None)


def _reasons(items: list[object], root: Path) -> dict[str, str]:
    return {str(Path(item.path).relative_to(root)): item.reason for item in items}  # type: ignore[attr-defined]


GOOD = ["docs/a/guide.markdown", "docs/b/guide.markdown", "docs/empty.md", "docs/notes.TXT", "docs/readme.md"]
GOOD += ["docs/中文/说明.md"]


async def test_a_folder_of_all_sorts(scene: Scene, docs: Path) -> None:
    report = await _add(scene, docs)
    assert sorted(report.added) == GOOD
    assert (report.updated, report.unchanged) == ([], [])
    assert _reasons([*report.skipped], docs) == {
        ".hidden.md": "hidden",
        "image.png": "type .png cannot be read yet",
        "Makefile": "type unknown cannot be read yet",
        "link.md": "not a regular file",
        "dangling.md": "not a regular file",
        "pipe.md": "not a regular file",
    }
    failed = _reasons([*report.failed], docs)
    assert set(failed) == {"latin.md", "binary.md"}
    assert "Save it as UTF-8" in failed["latin.md"]
    assert sorted(document.source for document in await scene.documents()) == GOOD
    await scene.check_tidy()


async def test_adding_a_folder_again(scene: Scene, docs: Path) -> None:
    await _add(scene, docs)
    (docs / "readme.md").write_text("# Changed")
    (docs / "new.md").write_text("# New")
    (docs / "latin.md").write_text("café")
    report = await _add(scene, docs)
    assert sorted(report.added) == ["docs/latin.md", "docs/new.md"]
    assert report.updated == ["docs/readme.md"]
    assert sorted(report.unchanged) == sorted(set(GOOD) - {"docs/readme.md"})
    await scene.check_tidy()


async def test_files_of_the_same_name_named_one_by_one(scene: Scene, docs: Path) -> None:
    report = await _add(scene, docs / "a/guide.markdown", docs / "b/guide.markdown", docs / "link.md")
    assert report.added == ["guide.markdown", "b/guide.markdown", "link.md"]
    report = await _add(scene, docs / "b/guide.markdown", docs / ".hidden.md", docs / "image.png")
    assert (report.unchanged, report.added) == (["b/guide.markdown"], [".hidden.md"])
    assert [Path(item.path).name for item in report.failed] == ["image.png"]


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
    with huge.open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert [item.reason for item in (await _add(scene, huge.parent)).skipped] == [
        "larger than 104,857,600 bytes"
    ]
    assert [item.reason for item in (await _add(scene, huge)).failed] == ["larger than 104,857,600 bytes"]


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
    await add_paths(
        scene.bench,
        scene.owner,
        "default",
        [docs / "a", docs / "b"],
        on_step=lambda *step: steps.append(step),
    )
    assert steps == [(0, 2, "a/guide.markdown"), (1, 2, "b/guide.markdown"), (2, 2, "")]
