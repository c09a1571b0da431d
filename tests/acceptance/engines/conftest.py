"""One running instance for each set of engines, shared by all tests of this folder."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from acceptance.engines.double import scripted_model
from acceptance.engines.instance import Caller, Instance, running
from acceptance.engines.material import write_files
from acceptance.engines.sets import SETS

LIBRARY = "图书馆 library"


@pytest.fixture(scope="session", params=list(SETS))
def instance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A server, a worker and a model, with a library that the command has filled."""
    folder = tmp_path_factory.mktemp(request.param)

    def postgres() -> str:
        return str(request.getfixturevalue("postgres_server"))

    with ExitStack() as stack:
        double = stack.enter_context(scripted_model())
        engines = stack.enter_context(SETS[request.param](folder, postgres))
        made = stack.enter_context(running(folder, engines, double))
        made.cli("spaces", "create", LIBRARY)
        report = made.cli("add", write_files(folder), "--space", LIBRARY, "--wait-dense")
        assert (report["skipped"], report["failed"], report["unencoded"]) == ([], [], 0)
        yield made


@pytest.fixture(scope="session")
def owner(instance: Instance) -> Caller:
    """The local user over HTTP, with a model."""
    made = instance.owner()
    form = {"name": "double", "type": "LLM", "base_url": instance.double.url, "model": "scripted"}
    credential = made.ok("POST", "/credentials", {**form, "is_default": True, "key": "sk-double"})
    assert made.ok("POST", f"/credentials/{credential['id']}/test")["model"] == "scripted"
    return made


@pytest.fixture(scope="session")
def library(owner: Caller) -> str:
    """The id of the space with all the files."""
    listed = owner.ok("GET", "/spaces")["items"]
    return next(str(item["id"]) for item in listed if item["name"] == LIBRARY)


@pytest.fixture(scope="session")
def meeting_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of one run of the tests share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base
