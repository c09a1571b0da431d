"""The reference pages say what the code says, and leave nothing out."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from kosmos import errors
from kosmos.api.application import create_api
from kosmos.cli.main import app
from kosmos.config import Settings

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT / "docs" / "reference"
PAGES = ("cli.md", "settings.md", "http.md", "errors.md", "openapi.json")


def make_reference(*arguments: str | Path, **environ: str) -> tuple[int, list[str]]:
    """Exit code and printed lines of the script."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", ROOT / "scripts" / "make_reference.py", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environ},
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.split("\n")[:-1]


def section(page: str, heading: str) -> str:
    """What stands below a heading of a page."""
    _, found, rest = (REFERENCE / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found, f"{page} has no section {heading!r}"
    return rest.partition("\n## ")[0]


def command_names(group: TyperGroup, path: str = "kosmos") -> list[str]:
    """The full name of every command."""
    names: list[str] = []
    for name, command in group.commands.items():
        full = f"{path} {name}"
        names += command_names(command, full) if isinstance(command, TyperGroup) else [full]
    return names


def error_names(kind: type[errors.KosmosError]) -> list[str]:
    """The names of an error and all its kinds."""
    children = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return [kind.__name__, *(name for child in children for name in error_names(child))]


def test_the_reference_is_up_to_date() -> None:
    assert make_reference("--check") == (0, [])


def test_neither_terminal_nor_environment_change_it(tmp_path: Path) -> None:
    code, lines = make_reference(
        tmp_path, COLUMNS="20", FORCE_COLOR="1", HOME=str(tmp_path), KOSMOS_PORT="1", PYTHONHASHSEED="1"
    )
    assert (code, len(lines)) == (0, len(PAGES))
    for name in PAGES:
        assert (tmp_path / name).read_text(encoding="utf-8") == (REFERENCE / name).read_text(encoding="utf-8")


def test_stale_and_missing_pages_are_named_and_left_alone(tmp_path: Path) -> None:
    shutil.copytree(REFERENCE, tmp_path, dirs_exist_ok=True)
    stale, missing = tmp_path / "cli.md", tmp_path / "openapi.json"
    stale.write_text("old\n", encoding="utf-8")
    missing.unlink()
    code, lines = make_reference("--check", tmp_path)
    assert code == 1
    assert [line.partition(" is stale")[0] for line in lines] == [str(stale), str(missing)]
    assert stale.read_text(encoding="utf-8") == "old\n"
    assert not missing.exists()


def test_every_command_has_a_section_with_its_parameters() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    names = command_names(root)
    assert {"kosmos add", "kosmos credentials link", "kosmos db upgrade"} <= set(names)
    for name in names:
        text = section("cli.md", name)
        command: object = root
        for part in name.split(" ")[1:]:
            assert isinstance(command, TyperGroup)
            command = command.commands[part]
        for parameter in getattr(command, "params", []):
            shown = getattr(parameter, "metavar", None) or parameter.opts[0]
            assert shown in text.replace("\\|", "|"), f"{name}: {shown}"


@pytest.mark.parametrize("key", Settings.model_fields)
def test_every_setting_has_a_row(key: str) -> None:
    text = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    assert f"\n| `{key}` | `KOSMOS_{key.upper()}` | " in text


def test_every_route_has_a_row_and_openapi_is_whole() -> None:
    openapi = create_api(Settings()).openapi()
    page = (REFERENCE / "http.md").read_text(encoding="utf-8")
    for path, methods in openapi["paths"].items():
        for method in methods:
            assert f"| `{method.upper()}` | `{path}` | " in page
    assert json.loads((REFERENCE / "openapi.json").read_text(encoding="utf-8")) == openapi


def test_every_error_has_a_row() -> None:
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    for name in error_names(errors.KosmosError):
        assert f"`{name}` | " in page
    assert "`NotFound` | There is no such thing, or you may not see it. | 404 | 1 | no |" in page
    assert "`ProviderBusy` | The model provider asks to slow down. | 502 | 1 | yes |" in page
