"""What goes wrong is said in two lines with a remedy, and leaves nothing half-written."""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from acceptance.cli.running import Done, Kosmos, check_refusal
from kosmos.llm.secrets import open_box

NO_DATABASE = "This is a text and no database, whatever the name of the file says.\n" * 20


def _nothing(home: Path) -> None:
    """Leave the home as it is."""


def _fresh(home: Path) -> None:
    shutil.rmtree(home)


def _is_a_file(home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("a file")


def _config(text: str) -> Callable[[Path], None]:
    def write(home: Path) -> None:
        (home / "kosmos.toml").write_text(text)

    return write


def _newer_database(home: Path) -> None:
    with sqlite3.connect(home / "kosmos.db") as conn:
        conn.execute("UPDATE alembic_version SET version_num = '9999'")
    conn.close()


def _no_database(home: Path) -> None:
    shutil.rmtree(home)
    home.mkdir(mode=0o700)
    (home / "kosmos.db").write_text(NO_DATABASE)


def _other_key(home: Path) -> None:
    (home / "secret.key").unlink()
    open_box(None, home / "secret.key")


def _damaged_key(home: Path) -> None:
    (home / "secret.key").write_text("too short\n")


@dataclass(frozen=True)
class Case:
    """A command that must be refused: its exit code, and words of the message and of the remedy."""

    arguments: tuple[str | bytes, ...]
    code: int
    words: tuple[str, ...]
    prepare: Callable[[Path], None] = _nothing
    settings: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    quick: bool = True


ADD = ("credentials", "add", "second", "--type", "LLM", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
LIST = ("spaces", "list")
CASES: dict[str, Case] = {
    "broken config": Case(LIST, 2, ("not valid TOML", "Correct that line"), _config("port = ")),
    "unknown setting": Case((*LIST, "--json"), 2, ("'prot'", "Did you mean port?"), _config("prot = 1")),
    "wrong setting": Case(LIST, 2, ("`port` in", "settings.md"), _config("port = 70000")),
    "unknown variable": Case(
        LIST, 2, ("KOSMOS_DATABSE_URL", "KOSMOS_DATABASE_URL?"), _fresh, {"KOSMOS_DATABSE_URL": "x"}
    ),
    "missing config": Case(
        LIST, 2, ("does not exist", "unset KOSMOS_CONFIG"), _fresh, {"KOSMOS_CONFIG": "/nothing.toml"}
    ),
    "home is a file": Case(LIST, 2, ("Not a directory", "Check"), _is_a_file),
    "newer database": Case((*LIST, "--json"), 2, ("9999", "newer Kosmos"), _newer_database, quick=False),
    "newer database, upgrade": Case(("db", "upgrade"), 2, ("9999", "newer Kosmos"), _newer_database),
    "no database": Case(LIST, 2, ("not an intact SQLite database", "backup"), _no_database),
    "unknown database": Case(
        LIST, 2, ("'mysql'", "sqlite:///"), _nothing, {"KOSMOS_DATABASE_URL": "mysql://h/x"}
    ),
    "no server": Case(
        (*LIST, "--json"),
        1,
        ("cannot be used", "doctor"),
        _fresh,
        {"KOSMOS_DATABASE_URL": "postgresql://u:geheim@127.0.0.1:9/x"},
    ),
    "database below a file": Case(
        LIST,
        2,
        ("File exists", "permissions"),
        _nothing,
        {"KOSMOS_DATABASE_URL": f"sqlite:///{__file__}/x.db"},
    ),
    "wrong key": Case(("credentials", "test", "first"), 2, ("another key", "secret.key"), _other_key),
    "wrong key, adding": Case((*ADD, "--key-stdin"), 2, ("another", "secret.key"), _other_key, stdin="sk-2"),
    "damaged key": Case(LIST, 2, ("not 32 bytes", "Restore the former key"), _damaged_key),
    "wrong token": Case(LIST, 1, ("token", "Bearer"), _nothing, {"KOSMOS_TOKEN": "kosmos_x_y"}),
    "name too long": Case(("spaces", "create", "长" * 121), 2, ("121 characters", "shorter")),
    "name taken": Case(("spaces", "create", "ＤＥＦＡＵＬＴ", "--json"), 1, ("already", "another name")),
    "name of control characters": Case(("users", "add", "a\x1b[31m"), 2, ("U+001B", "Remove")),
    "missing path": Case(("add", __file__, "/nothing/here"), 2, ("/nothing/here", "Check the path")),
    "no such space": Case(("search", "x", "--space", "没有"), 1, ("没有", "kosmos spaces list")),
    "no such document": Case(("read", "没有.md", "--json"), 1, ("没有.md", "kosmos documents list")),
    "no such lines": Case(("read", "x", "--lines", "b:a"), 2, ("'b:a'", "10:40")),
    "not UTF-8": Case(("read", b"\xff.md"), 2, ("UTF-8", "encoding"), quick=False),
    "options that are no JSON": Case((*ADD, "--options", "[1]"), 2, ("--options", "temperature")),
    "too many days": Case(("tokens", "create", "t", "--days", "99999"), 2, ("3650", "range")),
    "no reply": Case(("credentials", "test", "first"), 1, ("cannot be reached", "credentials test")),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a stored key, to be copied."""
    home = tmp_path_factory.mktemp("base") / "home"
    arguments = [part if part != "second" else "first" for part in ADD]
    Kosmos(home, quick=True).json(*arguments, "--key-stdin", stdin="sk-1\n")
    return home


def _state(home: Path) -> dict[str, str]:
    """Everything that a home holds; of a database what is in it, whatever its pages look like."""
    found = {}
    for path in [home] if home.is_file() else sorted(home.rglob("*")):
        if path.is_file() and path.suffix not in (".db-wal", ".db-shm", ".migrating"):
            found[path.name] = hashlib.sha256(_content(path)).hexdigest()
    return found


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if not data.startswith(b"SQLite format 3"):
        return data
    conn = sqlite3.connect(path)
    try:
        return "\n".join(conn.iterdump()).encode()
    finally:
        conn.close()


def _carry_out(case: Case, home: Path, base: Path) -> tuple[Done, bool]:
    """What the command said, and whether it left everything as it was."""
    shutil.copytree(base, home)
    case.prepare(home)
    before = _state(home)
    done = Kosmos(home, case.settings, quick=case.quick).run(*case.arguments, stdin=case.stdin)
    return done, _state(home) == before


@pytest.fixture(scope="module")
def outcomes(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Done, bool]]:
    """All cases, several at a time."""
    folder = tmp_path_factory.mktemp("cases")
    with ThreadPoolExecutor(3) as pool:
        runs = {
            name: pool.submit(_carry_out, case, folder / f"{number} 家", base)
            for number, (name, case) in enumerate(CASES.items())
        }
        return {name: run.result() for name, run in runs.items()}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str, outcomes: dict[str, tuple[Done, bool]]) -> None:
    done, untouched = outcomes[name]
    said = check_refusal(done, CASES[name].code)
    for word in CASES[name].words:
        assert word in said
    assert "geheim" not in said
    assert untouched


def test_a_mistyped_command(tmp_path: Path) -> None:
    for arguments in (("serach", "x"), ("search",), ("tokens", "create", "x", "--scope", "all"), ("spaces",)):
        done = Kosmos(tmp_path / "home", quick=True).run(*arguments)
        assert done.returncode == 2
        assert "Usage: kosmos" in done.stderr + done.stdout
    assert not (tmp_path / "home").exists()


def test_deleting_needs_a_yes(base: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(base, home)
    before = _state(home)
    done = Kosmos(home, quick=True).run("spaces", "delete", "default")
    assert done.returncode == 1
    assert _state(home) == before


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_added(base: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "docs"
    shutil.copytree(base, home)
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nText.\n")
    (folder / "binary.md").write_bytes(b"\x00\x01\x02")
    (folder / "latin.md").write_bytes("Käse und Brot für alle Gäste.".encode("latin-1"))
    (folder / "broken.ipynb").write_text('{"cells": 5, "nbformat": 4}')
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).write_text("named by no character")
    done = Kosmos(home, quick=True).run("add", folder)
    assert done.returncode == 1
    assert done.stdout.startswith("2 added, 0 updated, 0 unchanged, 2 skipped, 1 failed\n")
    assert "binary.md is a binary file" in done.stdout
    assert "its name is not UTF-8" in done.stdout
    assert f"failed: {folder / 'broken.ipynb'}: " in done.stdout
    assert done.stderr == ""
