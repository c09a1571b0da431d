"""A workspace that whoever runs the commands can enter, and the parts that can hold them."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kosmos.sandbox.isolation import NOBODY, Isolation, Kind, probe


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that everybody may read; the workspace is elsewhere."""
    folder = Path(tempfile.mkdtemp(prefix="kosmos-outside-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def workspace() -> Iterator[Path]:
    """A folder for commands. Root gives it away, since root runs no command itself."""
    folder = Path(tempfile.mkdtemp(prefix="kosmos-box-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def bubblewrap() -> Isolation:
    found = probe(fallback=False)
    if found.kind is not Kind.BUBBLEWRAP:
        pytest.skip(f"there is no bubblewrap that works here: {found.detail}")
    return found


@pytest.fixture(scope="session")
def landlock() -> Isolation:
    found = probe(bubblewrap=False)
    if found.kind is not Kind.LANDLOCK:
        pytest.skip(f"there is no Landlock that works here: {found.detail}")
    return found


@pytest.fixture(scope="session")
def python() -> str:
    """A Python that is part of the system, since nothing else can be seen inside."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if found is None or not os.path.realpath(found).startswith("/usr/"):
        pytest.skip("there is no python3 below /usr to try escapes with")
    return found
