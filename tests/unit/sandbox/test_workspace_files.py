"""Files of a workspace: what works, and every way out that is refused."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import Conflict, Forbidden, InvalidInput, KosmosError, NotFound, TooLarge
from kosmos.sandbox import search as searching
from kosmos.sandbox.beneath import Resolve
from kosmos.sandbox.files import Caps, Entry, Workspace
from kosmos.sandbox.search import search

LOOSE = Resolve(0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "work-secret").mkdir()
    (tmp_path / "work-secret" / "key").write_text("secret")
    (tmp_path / "key").write_text("secret")
    return folder


@pytest.fixture
def files(root: Path) -> Iterator[Workspace]:
    made = Workspace(root, caps=Caps(read_bytes=1000, write_bytes=2000, entries=50))
    yield made
    made.close()


def test_a_file_comes_back_as_it_was_written(files: Workspace, root: Path) -> None:
    files.make_folder("子")
    files.write("子/a.txt", "泵".encode())
    assert files.read("子/a.txt").data == "泵".encode()
    files.write("子/a.txt", b"new")
    part = files.read("子/a.txt", offset=1, limit=1)
    assert (part.data, part.offset, part.size) == (b"e", 1, 3)
    assert files.list("子") == [Entry("a.txt", "file", 3)]
    assert [entry.kind for entry in files.list()] == ["folder"]
    assert [file.name for file in (root / "子").iterdir()] == ["a.txt"]


def test_a_file_keeps_its_mode_and_never_more(files: Workspace, root: Path) -> None:
    (root / "run.sh").write_text("x")
    (root / "run.sh").chmod(0o755)
    files.write("run.sh", b"y")
    assert (root / "run.sh").stat().st_mode & 0o7777 == 0o755


def test_moving_and_deleting(files: Workspace, root: Path) -> None:
    files.write("a", b"1")
    files.write("b", b"2")
    files.make_folder("sub")
    files.move("a", "sub/c")
    assert (root / "sub" / "c").read_text() == "1"
    with pytest.raises(InvalidInput):
        files.move("b", "sub/c")
    assert (root / "sub" / "c").read_text() == "1"
    with pytest.raises(InvalidInput):
        files.delete("sub")
    files.delete("sub/c")
    files.delete("sub")
    assert [file.name for file in root.iterdir()] == ["b"]


def _plant(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "key")
    (root / "folder").symlink_to(root.parent)
    (root / "loop").symlink_to("loop")
    (root / "inner").symlink_to("real")
    (root / "real").mkdir()
    (root / "real" / "x").write_text("x")


OUT = (
    "/etc/passwd",
    "../key",
    "../work-secret/key",  # a prefix of letters is no prefix of folders
    "real/../../key",
    "link",
    "folder/key",
    "folder/../key",
    "loop",
    "inner/x",  # a link inside is refused too: what it points to can change
    "/proc/self/root/etc/passwd",
    "real/../../../../../../etc/passwd",
    "..",
    "",
    "a\0b",
    "x" * 5000,
    "\udcff\ud800",
)


@pytest.mark.parametrize("path", OUT)
def test_no_path_leads_out(files: Workspace, root: Path, path: str) -> None:
    _plant(root)
    acts: tuple[Callable[[], object], ...] = (
        lambda: files.read(path),
        lambda: files.list(path),
        lambda: files.write(f"{path}/new" if path in {"folder", ".."} else path, b"owned"),
        lambda: files.move("real/x", path),
        lambda: search(files, "secret", path),
    )
    for act in acts:
        with pytest.raises(KosmosError):
            act()
    assert (root.parent / "key").read_text() == "secret"
    assert not (root.parent / "new").exists()


@pytest.mark.parametrize("path", ["../key", "link", "folder/key", "/proc/self/root/etc/passwd"])
def test_without_strict_paths_the_same_ones_lead_out(root: Path, path: str) -> None:
    _plant(root)
    files = Workspace(root, resolve=LOOSE)
    assert files.read(path).data
    files.close()


@pytest.mark.parametrize("path", ["link", "folder/key", "folder", "inner/x"])
def test_deleting_a_link_leaves_what_it_points_to(files: Workspace, root: Path, path: str) -> None:
    _plant(root)
    if "/" in path:
        with pytest.raises(Forbidden):
            files.delete(path)
    else:
        files.delete(path)
    assert (root.parent / "key").read_text() == "secret"
    assert (root / "real" / "x").exists()


def test_a_new_file_behind_a_missing_folder_or_a_link_is_refused(files: Workspace, root: Path) -> None:
    (root / "out").symlink_to(root.parent / "not-there-yet")
    with pytest.raises(Forbidden):
        files.write("out/file", b"x")
    with pytest.raises(NotFound):
        files.write("missing/file", b"x")
    with pytest.raises(Conflict):
        files.write("out", b"x")
    assert not (root.parent / "not-there-yet").exists()


def test_special_files_are_refused_without_waiting(files: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(InvalidInput):
        files.read("pipe")
    with pytest.raises(InvalidInput):
        files.read(".")
    with pytest.raises(Conflict):
        files.write("pipe", b"x")


def test_a_file_with_other_names_is_neither_read_nor_written_through(files: Workspace, root: Path) -> None:
    os.link(root.parent / "key", root / "hard")
    with pytest.raises(Forbidden):
        files.read("hard")
    files.write("hard", b"mine")
    assert (root.parent / "key").read_text() == "secret"


def test_sizes_are_limited(files: Workspace, root: Path) -> None:
    (root / "large").write_bytes(b"x" * 5000)
    assert len(files.read("large").data) == 1000
    assert len(files.read("large", limit=10**9).data) == 1000
    with pytest.raises(TooLarge):
        files.write("a", b"x" * 2001)
    for number in range(60):
        (root / str(number)).touch()
    with pytest.raises(TooLarge):
        files.list()
    with pytest.raises(InvalidInput):
        files.read("large", offset=-1)


def _race(root: Path, resolve: Resolve) -> bool:
    """Read through a name that is a folder now and a link out of the workspace the next moment."""
    (root / "real").mkdir()
    (root / "real" / "key").write_text("mine")
    (root / "out").symlink_to(root.parent)
    (root / "real").rename(root / "door")
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            (root / "door").rename(root / "real")
            (root / "out").rename(root / "door")
            (root / "door").rename(root / "out")
            (root / "real").rename(root / "door")

    thread = threading.Thread(target=flip)
    thread.start()
    files = Workspace(root, resolve=resolve)
    try:
        for _ in range(4000 if resolve else 200_000):
            try:
                if files.read("door/key").data == b"secret":
                    return True
            except (KosmosError, OSError):
                continue
        return False
    finally:
        stop.set()
        thread.join()
        files.close()


def test_a_race_with_a_link_is_never_won(root: Path) -> None:
    assert not _race(root, Resolve.BENEATH | Resolve.NO_SYMLINKS | Resolve.NO_MAGICLINKS)


def test_without_strict_paths_the_race_is_won(root: Path) -> None:
    assert _race(root, LOOSE)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["..", ".", "a", "link", "folder", "/", "", "proc"]), min_size=1, max_size=6))
def test_any_mix_of_names_stays_inside(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    base = tmp_path_factory.mktemp("mix")
    root = base / "work"
    (root / "a").mkdir(parents=True)
    (base / "key").write_text("secret")
    (root / "link").symlink_to(base / "key")
    (root / "folder").symlink_to(base)
    files = Workspace(root)
    try:
        for path in ("/".join(names), "/".join([*names, "key"])):
            try:
                assert files.read(path).data != b"secret"
            except KosmosError:
                continue
    finally:
        files.close()


def test_search_finds_lines_and_follows_no_link(
    files: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plant(root)
    (root / "real" / "b.txt").write_text("one\nFind 泵 here\n")
    (root / "real" / "c.bin").write_bytes(b"\0Find")
    found = search(files, "Find 泵")
    assert [(hit.path, hit.line, hit.text) for hit in found.hits] == [("real/b.txt", 2, "Find 泵 here")]
    assert search(files, "secret").hits == ()
    assert search(files, "find 泵", ignore_case=True).hits
    assert not search(files, "find 泵", "real").hits
    with pytest.raises(InvalidInput):
        search(files, "a\nb")
    with pytest.raises(NotFound):
        search(files, "x", "nowhere")
    monkeypatch.setattr(searching, "MAX_FILES", 1)
    assert not search(files, "Find").complete
