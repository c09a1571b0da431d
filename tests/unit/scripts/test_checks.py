"""The checks of `make check` find what they are for and leave a clean tree alone."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


def run_check(name: str, root: Path) -> tuple[int, list[str]]:
    """Exit code and printed lines of a check over a tree."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", SCRIPTS / f"{name}.py", root],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.rstrip("\n").split("\n")


def plant(root: Path, path: str, text: str) -> None:
    """Write a file of the tree under test."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def function_of(lines: int, *, name: str = "long", docstring: str = "") -> str:
    """A function whose body has so many lines after its docstring."""
    return "\n".join([f"def {name}():", *([docstring] if docstring else []), *["    x = 1"] * lines, ""])


@pytest.mark.parametrize("folder", ["src", "tests", "scripts", "bench"])
def test_a_long_function_is_found_in_every_folder(tmp_path: Path, folder: str) -> None:
    plant(tmp_path, f"{folder}/room/a.py", "\n\n" + function_of(61))
    code, lines = run_check("check_sizes", tmp_path)
    assert code == 1
    assert lines[0].startswith(f"{folder}/room/a.py:3 long: 61 lines")


def test_a_docstring_does_not_count_and_sixty_lines_pass(tmp_path: Path) -> None:
    docstring = '    """One.\n' + "\n    Two.\n" * 20 + '    """'
    plant(tmp_path, "src/a.py", function_of(60, docstring=docstring))
    assert run_check("check_sizes", tmp_path) == (0, ["1 files, 1 functions, length median 60, p95 60"])


def test_methods_and_nested_functions_are_named_in_full(tmp_path: Path) -> None:
    inner = "".join(f"        {line}\n" for line in function_of(61).rstrip("\n").split("\n"))
    plant(tmp_path, "src/a.py", f"class Room:\n    async def enter(self):\n{inner}        return long\n")
    code, lines = run_check("check_sizes", tmp_path)
    assert code == 1
    assert [line.partition(",")[0] for line in lines[:2]] == [
        "src/a.py:2 Room.enter: 63 lines",
        "src/a.py:3 Room.enter.long: 61 lines",
    ]


@pytest.mark.parametrize(
    ("lines", "code", "start"), [(501, 1, "src/a.py:1 file: 501 lines"), (301, 0, "note: ")]
)
def test_a_large_source_file_is_found_or_noted(tmp_path: Path, lines: int, code: int, start: str) -> None:
    plant(tmp_path, "src/a.py", "x = 1\n" * lines)
    plant(tmp_path, "src/small.py", "x = 1\n" * 300)
    plant(tmp_path, "tests/test_a.py", "x = 1\n" * 600)
    found, printed = run_check("check_sizes", tmp_path)
    assert found == code
    assert len(printed) == 2
    assert printed[0].startswith(start)


def test_parameters_are_counted_without_self_and_in_source_only(tmp_path: Path) -> None:
    eight = "def f(a, /, b, c, d, *e, g, h, **i): ...\n"
    seven = "class A:\n    def f(self, a, b, c, d, *, e, g, h): ...\n"
    plant(tmp_path, "src/eight.py", eight)
    plant(tmp_path, "src/seven.py", seven)
    plant(tmp_path, "tests/test_eight.py", eight)
    code, lines = run_check("check_sizes", tmp_path)
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith("src/eight.py:1 f: 8 parameters")


def test_splitlines_is_refused_in_source_but_may_be_spoken_of(tmp_path: Path) -> None:
    plant(tmp_path, "src/a.py", '# .splitlines( is wrong\nx = ".splitlines()"\ny = x.splitlines()\n')
    plant(tmp_path, "scripts/b.py", 'x = "a".splitlines()\n')
    code, lines = run_check("check_sizes", tmp_path)
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith("src/a.py:3 .splitlines: also splits at")


def test_a_decorator_belongs_to_the_body_it_opens(tmp_path: Path) -> None:
    plant(tmp_path, "src/a.py", "def outer():\n    @cache\n" + "    def inner(): ...\n" + "    x = 1\n" * 59)
    code, lines = run_check("check_sizes", tmp_path)
    assert code == 1
    assert lines[0].startswith("src/a.py:1 outer: 61 lines")


def test_a_file_that_cannot_be_parsed_is_a_finding(tmp_path: Path) -> None:
    plant(tmp_path, "src/a.py", "x = 1\ndef (:\n")
    code, lines = run_check("check_sizes", tmp_path)
    assert code == 1
    assert lines[0].startswith("src/a.py:2 file: cannot be parsed")


def test_the_summary_counts_files_and_functions(tmp_path: Path) -> None:
    for length in range(1, 21):
        plant(tmp_path, f"src/a{length}.py", function_of(length))
    plant(tmp_path, "src/.hidden/b.py", function_of(99))
    assert run_check("check_sizes", tmp_path) == (0, ["20 files, 20 functions, length median 10.5, p95 19"])


@pytest.mark.parametrize("name", ["check_sizes", "check_links"])
def test_a_tree_with_nothing_to_check_does_not_pass(tmp_path: Path, name: str) -> None:
    assert run_check(name, tmp_path)[0] == 2


CLEAN = """# Guide: `kosmos init` & more!

[top](#guide-kosmos-init--more) [中文](docs/指南.md#第一步安装) [again](docs/指南.md#安装-1) [top](#)
[folder](docs/) [root](/docs/指南.md) [by name][guide] [code](tool.py#L3) ![logo](docs/a%20b.svg?raw=true)
[web](https://example.org/none#x) [mail](mailto:a@example.org) <https://example.org> [raw](#raw)

<a id="raw"></a>
<p align="center">
  <img src="docs/a b.svg"> <a href="docs/指南.md">x</a>
</p>

| a | b |
| - | - |
| [guide](docs/指南.md) | `[not](a-link.md)` |

```md
[not](checked.md)
```

    [not](checked.md)

<!-- [not](checked.md) <a href="checked.md"> -->

[guide]: docs/指南.md#安装
"""
CHINESE = "# 指南\n\n## 第一步：安装！\n\n## 安装\n\n## 安装\n\n[back](../README.md)\n"


def plant_clean_pages(root: Path) -> None:
    """A tree in which every link leads somewhere."""
    plant(root, "README.md", CLEAN)
    plant(root, "docs/指南.md", CHINESE)
    plant(root, "docs/a b.svg", "<svg/>")
    plant(root, "tool.py", "")


def test_a_clean_tree_has_no_dead_links(tmp_path: Path) -> None:
    plant_clean_pages(tmp_path)
    code, lines = run_check("check_links", tmp_path)
    assert (code, len(lines)) == (0, 1), lines
    assert lines[0].startswith("2 files, ")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("one\n[x](gone.md)", "4: gone.md: no such file"),
        ("![x](docs/gone.svg)", "3: docs/gone.svg: no such file"),
        ("[x](没有.md)", "3: 没有.md: no such file"),
        ("[x](/gone.md)", "3: /gone.md: no such file"),
        ("[x](../outside.md)", "3: ../outside.md: outside the repository"),
        ("[x](#gone)", "3: #gone: no such heading"),
        ("[x](#Page)", "3: #Page: no such heading"),
        ("[x](#page-1)", "3: #page-1: no such heading"),
        ("[x](docs/指南.md#第二步)", "3: docs/指南.md#第二步: no such heading"),
        ("[x](docs/指南.md#安装-2)", "3: docs/指南.md#安装-2: no such heading"),
        ("[x](docs/#指南)", "3: docs/#指南: no such heading"),
        ("[x]()", "3: : empty target"),
        ("[x][y]\n\n[y]: gone.md", "3: gone.md: no such file"),
        ("| a |\n| - |\n| [x](gone.md) |", "5: gone.md: no such file"),
        ('<p>\n<img src="gone.png">\n</p>', "4: gone.png: no such file"),
        ('text <a href="gone.md">x</a>', "3: gone.md: no such file"),
        ('<source srcset="tool.py 1x, gone.png 2x">', "3: gone.png: no such file"),
    ],
)
def test_a_dead_link_is_found(tmp_path: Path, text: str, finding: str) -> None:
    plant_clean_pages(tmp_path)
    plant(tmp_path, "CHANGELOG.md", f"# Page\n\n{text}\n")
    code, lines = run_check("check_links", tmp_path)
    assert (code, lines[:-1]) == (1, [f"CHANGELOG.md:{finding}"])


@pytest.mark.parametrize(
    "path", ["CONTRIBUTING.md", "docs/design/a.md", "examples/README.md", "tests/README.md"]
)
def test_pages_are_found_where_readers_look(tmp_path: Path, path: str) -> None:
    plant(tmp_path, path, "[x](gone.md)\n")
    code, lines = run_check("check_links", tmp_path)
    assert (code, lines[0]) == (1, f"{path}:1: gone.md: no such file")


@pytest.mark.parametrize(
    "path", [".venv/a.md", "docs/.cache/a.md", "src/kosmos/prompts/a.md", "tests/data/a.md"]
)
def test_hidden_folders_prompts_and_test_material_are_skipped(tmp_path: Path, path: str) -> None:
    plant_clean_pages(tmp_path)
    plant(tmp_path, path, "[x](gone.md)\n")
    assert run_check("check_links", tmp_path)[0] == 0
