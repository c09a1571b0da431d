"""`kosmos doctor` names what is missing and what to do about it."""

import json
from pathlib import Path

import pytest

from acceptance.cli.running import Kosmos
from kosmos.doctor import EXTRAS

BLOCKER = """
import importlib.machinery

BLOCKED = {blocked!r}
find = importlib.machinery.PathFinder.find_spec

def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in BLOCKED else find(name, path, target)

importlib.machinery.PathFinder.find_spec = find_spec
"""


@pytest.fixture
def bare(tmp_path: Path) -> Kosmos:
    """Kosmos without any of its extras, in a home that is not there yet."""
    blocked = {module for modules, _ in EXTRAS.values() for module in modules}
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(BLOCKER.format(blocked=blocked))
    return Kosmos(tmp_path / "home", {"PYTHONPATH": str(tmp_path / "site")})


def test_a_fresh_home_is_in_order_and_every_extra_is_named(bare: Kosmos) -> None:
    done = bare.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "PROBLEM" not in done.stdout
    lines = done.stdout.split("\n")
    for name, (_, purpose) in EXTRAS.items():
        place = next(number for number, line in enumerate(lines) if f"extra {name} " in line)
        assert f"not installed: {purpose}" in lines[place]
        assert f"-m pip install 'kosmos[{name}]'" in lines[place + 1]
    assert "credentials add" in done.stdout
    assert not (bare.home / "token").exists()
    assert not (bare.home / "secret.key").exists()


def test_postgres_without_its_driver(bare: Kosmos) -> None:
    settings = {**bare.settings, "KOSMOS_DATABASE_URL": "postgresql://u:geheim@127.0.0.1:9/x"}
    done = Kosmos(bare.home, settings).run("doctor", "--json")
    assert done.returncode == 1
    assert "geheim" not in done.stdout
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["database"]["state"] == "problem"
    assert "pip install 'kosmos[postgres]'" in checks["database"]["remedy"]
    assert checks["extra postgres"]["state"] == "note"
    assert checks["home"]["state"] == checks["blobs"]["state"] == "ok"


def test_several_problems_at_once_are_all_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "kosmos.db").write_text("no database " * 100)
    (home / "secret.key").write_text("no key")
    (home / "blobs").write_text("no folder")
    done = Kosmos(home, {"KOSMOS_HOST": "0.0.0.0"}, quick=True).run("doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    for name in ("database", "encryption key", "blobs"):
        assert checks[name]["state"] == "problem", name
    for name in ("home", "server"):
        assert checks[name]["state"] == "note", name
    assert all(check["remedy"] for check in checks.values() if check["state"] != "ok")
    assert (home / "kosmos.db").read_text().startswith("no database")
