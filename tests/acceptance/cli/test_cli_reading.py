"""`kosmos read` and `kosmos grep` as people see them."""

from pathlib import Path

import pytest

from acceptance.cli.running import Kosmos, check_refusal
from acceptance.pdf import make_pdf

GUIDE = """# 泵 guide

Oil the pump.

## Linux

apt

## 证书

### Linux

叶子证书每九十天轮换一次。
"""
LINES = GUIDE.rstrip("\n").split("\n")
PAGES = [["First page", "about pumps"], ["Second page", "about valves"]]


@pytest.fixture(scope="module")
def kosmos(tmp_path_factory: pytest.TempPathFactory) -> Kosmos:
    """A home with a text and a file with two pages."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "guide.md").write_text(GUIDE)
    (folder / "pages.pdf").write_bytes(make_pdf(PAGES))
    made = Kosmos(folder / "home", quick=True)
    added = made.json("add", folder / "guide.md", folder / "pages.pdf")
    assert (added["added"], added["failed"]) == (["guide.md", "pages.pdf"], [])
    return made


def _numbered(first: int, last: int) -> str:
    return "".join(f"{number:6d}  {LINES[number - 1]}\n" for number in range(first, last + 1))


@pytest.mark.parametrize(
    ("options", "first", "last"),
    [
        ((), 1, len(LINES)),
        (("--lines", "3:5"), 3, 5),
        (("--lines", "3-5"), 3, 5),
        (("--lines", "11:"), 11, len(LINES)),
        (("--lines", ":2"), 1, 2),
        (("--lines", "3"), 3, 3),
        (("--lines", "12:99"), 12, len(LINES)),
        (("--heading", "证书"), 9, len(LINES)),
        (("--heading", "证书 > linux"), 11, len(LINES)),
        (("--heading", "#linux"), 5, 8),
    ],
)
def test_read(kosmos: Kosmos, options: tuple[str, ...], first: int, last: int) -> None:
    done = kosmos.run("read", "guide.md", *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, _numbered(first, last), "")


def test_read_pages(kosmos: Kosmos) -> None:
    whole = kosmos.json("read", "pages.pdf")
    assert [span["page"] for span in whole["pages"]] == [1, 2]
    second = kosmos.json("read", "pages.pdf", "--page", "2")
    assert (second["start_line"], second["pages"]) == (whole["pages"][1]["start_line"], whole["pages"][1:])
    assert second["lines"] == whole["lines"][second["start_line"] - 1 :]
    shown = kosmos.run("read", "pages.pdf").stdout.split("\n")
    assert [line for line in shown if line.startswith("---")] == ["------  page 1", "------  page 2"]
    assert (
        shown.index("------  page 2") == shown.index(f"{second['start_line']:6d}  {second['lines'][0]}") - 1
    )


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--lines", "3:5", "--page", "1"), 2, ("together", "one of them")),
        (("--heading", "证书", "--page", "1"), 2, ("together", "one of them")),
        (("--lines", "5:3"), 2, ("ends before", "3:5")),
        (("--lines", "0"), 2, ("line 0", "10:40")),
        (("--lines", "99"), 1, ("no line 99", "earlier")),
        (("--page", "1"), 1, ("no pages", "heading")),
        (("--heading", "Linux"), 2, ("2 headings", "证书 > Linux (line 11)", "heading above")),
        (("--heading", "macOS"), 1, ("No heading", "泵 guide")),
    ],
)
def test_read_refused(kosmos: Kosmos, options: tuple[str, ...], code: int, words: tuple[str, ...]) -> None:
    said = check_refusal(kosmos.run("read", "guide.md", *options), code)
    assert [word for word in words if word not in said] == []


def test_grep(kosmos: Kosmos) -> None:
    done = kosmos.run("grep", "PUMPS?", "-i")
    valves = kosmos.json("grep", "valves")["matches"][0]
    pumps = kosmos.json("grep", "pumps")["matches"][0]
    assert done.stdout == f"guide.md:3: Oil the pump.\npages.pdf:{pumps['line']} (page 1): {pumps['text']}\n"
    assert (valves["source"], valves["page"]) == ("pages.pdf", 2)
    assert kosmos.run("grep", "PUMPS?").stdout == "nothing found\n"
    assert kosmos.run("grep", "pump.", "--fixed").stdout == "guide.md:3: Oil the pump.\n"
    assert kosmos.run("grep", "Linux", "--doc", "guide.md").stdout == (
        "guide.md:5: ## Linux\nguide.md:11: ### Linux\n"
    )


def test_grep_with_context(kosmos: Kosmos) -> None:
    done = kosmos.run("grep", "Linux|apt|轮换", "--context", "1", "--space", "default")
    assert done.stdout.split("\n") == [
        "guide.md-4-",
        "guide.md:5: ## Linux",
        "guide.md-6-",
        "guide.md:7: apt",
        "guide.md-8-",
        "--",
        "guide.md-10-",
        "guide.md:11: ### Linux",
        "guide.md-12-",
        "guide.md:13: 叶子证书每九十天轮换一次。",
        "",
    ]


def test_grep_says_when_there_is_more(kosmos: Kosmos) -> None:
    done = kosmos.run("grep", "a", "--max", "1")
    assert (done.returncode, len(done.stdout.split("\n"))) == (0, 2)
    assert done.stderr == "stopped after 1 documents: there are more matches: --max shows more\n"
    assert kosmos.json("grep", "a", "--max", "1")["truncated"] == "matches"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("(a)\\1",), ("references back", "Write the repeated part out")),
        (("a(?!b)",), ("looking ahead", "plain part")),
        (("(",), ("not understood", "\\")),
        (("a", "--context", "100"), ("context", "ranges")),
        (("a", "--max", "0"), ("matches", "ranges")),
    ],
)
def test_grep_refused(kosmos: Kosmos, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    said = check_refusal(kosmos.run("grep", *arguments), 2)
    assert [word for word in words if word not in said] == []


def test_everything_about_a_document(kosmos: Kosmos, tmp_path: Path) -> None:
    bad = tmp_path / "bad.ipynb"
    bad.write_text('{"cells": 5, "nbformat": 4}')
    assert kosmos.run("add", bad).returncode == 1
    shown = kosmos.run("documents", "show", "pages.pdf").stdout
    for words in (
        "status     READY",
        "converter  pdf/",
        "type       pdf",
        "indexing COMPLETED",
        "cost 0.0000",
    ):
        assert words in shown
    failed = kosmos.run("documents", "show", "bad.ipynb").stdout
    assert "status     FAILED" in failed
    assert "document_processing FAILED" in failed
    reason = next(line[11:] for line in failed.split("\n") if line.startswith("error "))
    listed = kosmos.run("documents", "list").stdout
    assert reason in listed
    assert listed.split("\n")[0].split() == ["id", "source", "title", "lines", "version", "status", "error"]


def test_an_address_that_may_not_be_fetched(kosmos: Kosmos) -> None:
    done = kosmos.run("add", "http://127.0.0.1/secret.md")
    assert done.returncode == 1
    assert "failed: http://127.0.0.1/secret.md: " in done.stdout
    assert "Traceback" not in done.stderr + done.stdout
