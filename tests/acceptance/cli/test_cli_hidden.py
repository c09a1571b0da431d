"""What the command line hides, proves and retries; names of others never reach the terminal as commands."""

import json
import sqlite3
from pathlib import Path

import pytest

from acceptance.cli.running import Kosmos, check_refusal
from kosmos.cli.output import as_line, printable

SECRET = "13812345678"
TEXT = f"# Duty\n\nCall {SECRET} when the pump leaks.\n\n" + "The pump is blue and needs oil. " * 200 + "\n"
NAMED = "odd\x1b[31m\x9b name\x07.md"


@pytest.fixture(scope="module")
def kosmos(tmp_path_factory: pytest.TempPathFactory) -> Kosmos:
    """A home with a document that hides something and has a name of its own."""
    folder = tmp_path_factory.mktemp("hidden")
    made = Kosmos(folder / "home", quick=True)
    (folder / NAMED).write_text(TEXT)
    added = made.run("add", folder / NAMED)
    assert added.stdout.startswith("1 added"), added.stdout
    return made


def test_hidden_by_default_and_shown_to_owners(kosmos: Kosmos) -> None:
    (document,) = kosmos.json("documents", "list")
    assert SECRET not in kosmos.run("read", document["id"]).stdout
    assert SECRET in kosmos.run("read", document["id"], "--verbatim").stdout
    assert kosmos.json("grep", SECRET)["matches"] == []
    found = kosmos.json("grep", SECRET, "--space", "default", "--verbatim")
    assert [match["line"] for match in found["matches"]] == [3]
    assert "named places" in check_refusal(kosmos.run("grep", SECRET, "--verbatim"), 2)
    shown = kosmos.json("chunks", document["id"])
    assert SECRET not in json.dumps(shown)
    assert shown["chunks"][1]["hidden"] == {"phone": 1}
    assert SECRET in json.dumps(kosmos.json("chunks", document["id"], "--verbatim"))


def test_viewers_are_told_what_they_lack(kosmos: Kosmos) -> None:
    (document,) = kosmos.json("documents", "list")
    token = kosmos.json("users", "add", "韩梅梅")["token"]
    kosmos.json("spaces", "share", "default", "韩梅梅")
    guest = Kosmos(kosmos.home, {"KOSMOS_TOKEN": token}, quick=True)
    assert "⟦phone⟧" in guest.run("read", document["id"]).stdout
    told = check_refusal(guest.run("read", document["id"], "--verbatim"), 1)
    assert "You are viewer of the space 'default'; owner is needed." in told


def test_no_output_holds_control_characters(kosmos: Kosmos) -> None:
    (document,) = kosmos.json("documents", "list")
    assert document["source"] == NAMED
    commands = [
        ("documents", "list"),
        ("documents", "show", document["id"]),
        ("search", "pump"),
        ("ask", "Is the pump blue?"),
        ("grep", "pump"),
        ("chunks", document["id"]),
        ("read", "no such\x1b[31m name"),
        ("rechunk",),
    ]
    for command in commands:
        for options in ((), ("--json",)):
            done = kosmos.run(*command, *options)
            said = done.stdout + done.stderr
            assert not [sign for sign in said if ord(sign) < 32 and sign not in "\n\t"], (command, said)
            assert not [sign for sign in said if 127 <= ord(sign) < 160], (command, said)
    assert "odd\\x1b[31m\\x9b name\\x07.md" in kosmos.run("documents", "list").stdout


def test_what_is_broken_is_named(kosmos: Kosmos, tmp_path: Path) -> None:
    other = Kosmos(tmp_path / "home", quick=True)
    (tmp_path / "a.md").write_text(TEXT)
    other.run("add", tmp_path / "a.md")
    with sqlite3.connect(other.home / "kosmos.db") as conn:
        conn.execute("UPDATE chunk SET raw_content = 'Gone.' WHERE position = 1")
    told = other.run("verify")
    assert told.returncode == 1
    assert "a.md: the chunks joined do not give its text (fidelity)" in told.stdout
    assert "kosmos rechunk" in told.stdout
    assert told.stdout.endswith("verified 0 of 1\n")
    assert other.json("rechunk")["done"] == ["a.md"]
    assert other.run("verify").stdout == "verified 1 of 1\n"
    with sqlite3.connect(other.home / "kosmos.db") as conn:
        conn.execute(
            "UPDATE chunk SET type = 'error', level = -99, summary = 'Chunking failed.' WHERE position = 1"
        )
    (failed,) = other.json("chunks", "errors")
    assert (failed["source"], failed["summary"]) == ("a.md", "Chunking failed.")
    assert "FAILED Chunking failed." in other.run("chunks", "a.md").stdout
    assert "SLM" in check_refusal(other.run("chunks", "retry", failed["id"]), 1)


def test_signs_that_a_terminal_obeys() -> None:
    assert printable("a\tb\nc\x1b[0m\x7f\x85") == "a\tb\nc\\x1b[0m\\x7f\\x85"
    assert json.loads(as_line({"a": "\x00\x1b\x7f\x9b字"})) == {"a": "\x00\x1b\x7f\x9b字"}
    assert as_line({"a": "\x9b"}) == '{"a": "\\u009b"}'
