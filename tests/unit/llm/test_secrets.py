"""The key that encrypts provider keys: made once, private, and never guessed at."""

import base64
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from kosmos.errors import ConfigError
from kosmos.llm.secrets import SecretBox, open_box, write_private

BOX = open_box(Fernet.generate_key().decode(), Path("unused"))
AT_ONCE = 8
# Waits for its starting signal, so that the time to import does not spread the starts.
OPEN_BOX = """
import sys
from pathlib import Path
from kosmos.llm.secrets import open_box
print("ready", flush=True)
sys.stdin.readline()
print(open_box(None, Path(sys.argv[1])).key_id)
"""


@given(st.text())
def test_what_was_sealed_comes_back(secret: str) -> None:
    sealed = BOX.seal(secret)
    assert BOX.open(sealed) == secret
    assert sealed != BOX.seal(secret)


@given(st.text(min_size=4))
def test_the_sealed_form_gives_nothing_away(secret: str) -> None:
    sealed = BOX.seal(secret)
    assert secret.encode() not in sealed
    assert secret.encode() not in base64.urlsafe_b64decode(sealed)


@given(st.binary(max_size=200))
def test_damaged_data_is_a_config_error(junk: bytes) -> None:
    with pytest.raises(ConfigError):
        BOX.open(junk)


@given(st.data())
def test_one_changed_byte_is_noticed(data: st.DataObject) -> None:
    sealed = bytearray(base64.urlsafe_b64decode(BOX.seal("sk-1")))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ConfigError):
        BOX.open(base64.urlsafe_b64encode(sealed))


def test_another_key_is_refused_with_a_remedy(tmp_path: Path) -> None:
    other = open_box(None, tmp_path / "secret.key")
    with pytest.raises(ConfigError, match="encrypted with another key") as caught:
        other.open(BOX.seal("sk-1"))
    assert "secret.key" in (caught.value.remedy or "")
    assert other.key_id != BOX.key_id


def test_a_given_key_makes_no_file_and_may_have_blanks_around_it(tmp_path: Path) -> None:
    key = Fernet.generate_key().decode()
    box = open_box(f" {key}\n", tmp_path / "secret.key")
    assert box.open(open_box(key, tmp_path / "secret.key").seal("s")) == "s"
    assert list(tmp_path.iterdir()) == []


def test_the_key_never_shows_in_the_box() -> None:
    key = Fernet.generate_key().decode()
    box = open_box(key, Path("unused"))
    for shown in (repr(box), str(box), box.key_id):
        assert key[:12] not in shown
        assert base64.urlsafe_b64decode(key).hex()[:12] not in shown


def test_the_key_file_is_private_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    before = os.umask(0)
    try:
        made = open_box(None, path)
    finally:
        os.umask(before)
    content = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert open_box(None, path).key_id == made.key_id
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret.key"]


def test_many_threads_make_one_key(tmp_path: Path) -> None:
    for turn in range(10):
        folder = tmp_path / str(turn)
        folder.mkdir()
        barrier = threading.Barrier(AT_ONCE)

        def start(path: Path = folder / "secret.key", barrier: threading.Barrier = barrier) -> SecretBox:
            barrier.wait()
            return open_box(None, path)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            boxes = [future.result() for future in [pool.submit(start) for _ in range(AT_ONCE)]]
        assert len({box.key_id for box in boxes}) == 1
        assert [entry.name for entry in folder.iterdir()] == ["secret.key"]


def test_many_processes_make_one_key(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN_BOX, str(tmp_path / "secret.key")]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(AT_ONCE)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    seen = {process.communicate(timeout=30)[0].strip() for process in started}
    assert [process.returncode for process in started] == [0] * AT_ONCE
    assert seen == {open_box(None, tmp_path / "secret.key").key_id}
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret.key"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"short",
        b"A" * 43,
        base64.b64encode(b"x" * 31),
        base64.b64encode(b"x" * 33),
        b"\xff\xfe\x00",
    ],
)
def test_a_malformed_key_file_is_explained_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"secret\.key") as caught:
        open_box(None, path)
    assert "estore" in (caught.value.remedy or "")
    assert path.read_bytes() == content


@pytest.mark.parametrize("key", ["", "short", "ü" * 44, "\ud800"])
def test_a_malformed_key_names_the_variable_and_not_itself(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match="KOSMOS_SECRET_KEY") as caught:
        open_box(key, tmp_path / "secret.key")
    assert not key or key not in caught.value.message


def test_a_key_file_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.key").mkdir()
    with pytest.raises(ConfigError, match="cannot be read or made"):
        open_box(None, tmp_path / "secret.key")


@pytest.mark.parametrize("obstacle", ["no folder", "dangling link"])
def test_a_key_file_that_cannot_be_made(tmp_path: Path, obstacle: str) -> None:
    path = tmp_path / "none" / "secret.key"
    if obstacle == "dangling link":
        path = tmp_path / "secret.key"
        path.symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigError, match="key file") as caught:
        open_box(None, path)
    assert caught.value.remedy


def test_a_private_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    write_private(path, "second")
    assert path.read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["token"]
