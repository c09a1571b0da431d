"""What is slow to make is made once, and never half."""

import os
import threading
from pathlib import Path

import pytest

from kosmos.encoders.keeping import kept


def test_it_is_made_once_and_again_when_it_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "thing-1.graph"
    made: list[bytes] = []

    def make() -> bytes:
        made.append(b"model" * 100)
        return made[-1]

    assert kept(path, make) == kept(path, make) == b"model" * 100
    assert len(made) == 1
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + b"X" + whole[41:]):
        path.write_bytes(damaged)
        assert kept(path, make) == b"model" * 100
    assert len(made) == 4
    assert path.read_bytes() == whole


def test_former_files_of_the_same_thing_go(tmp_path: Path) -> None:
    others = [tmp_path / name for name in ("other-1.graph", "thing-0.txt")]
    for other in others:
        other.write_text("x")
    kept(tmp_path / "thing-1.graph", lambda: b"1")
    kept(tmp_path / "thing-2.graph", lambda: b"2")
    assert {path.name for path in tmp_path.iterdir()} == {"thing-2.graph", "other-1.graph", "thing-0.txt"}


def test_without_a_file_it_is_made_each_time(tmp_path: Path) -> None:
    assert kept(None, lambda: b"x") == b"x"
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert kept(blocked / "thing-1.graph", lambda: b"y") == b"y"  # no folder can be made there


def test_many_at_once(tmp_path: Path) -> None:
    path = tmp_path / "thing-1.graph"
    body = os.urandom(200_000)
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(kept(path, lambda: body))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [body] * 8
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError):
        kept(tmp_path / "thing-1.graph", fail)
    assert list(tmp_path.iterdir()) == []
