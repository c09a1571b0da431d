"""A short run of `scripts/fuzz_api.py` against the served instance, and proof that it would notice."""

import copy
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "scripts"))

from fuzzing.api_run import Plan, fuzz
from fuzzing.cases import load, name_of
from fuzzing.scene import PRIVATE, Scene
from fuzzing.sending import Sender
from fuzzing.tally import Tally

from acceptance.http.serving import Served

SEEDS = {"sqlite": 7, "postgres": 8}


@pytest.fixture(scope="module")
def scene(served: Served) -> Scene:
    """The silent victim, and those who try."""
    return Scene(served)


def test_nothing_is_found(scene: Scene) -> None:
    tally = Tally()
    engine = "postgres" if "postgres" in scene.served.settings.database else "sqlite"
    fuzz(scene, Plan(120, SEEDS[engine], sockets=False), tally)
    assert tally.found == {}, tally.table("operation")
    assert tally.cases >= 100
    assert scene.intact() == []


@pytest.fixture
def sender(scene: Scene) -> Iterator[Sender]:
    """A stranger."""
    made = Sender(scene, scene.actors["stranger"], Tally(), sockets=True)
    yield made
    made.close()


def _case(scene: Scene, name: str, **given: Any) -> Any:
    _, operations = load(copy.deepcopy(scene.served.api.openapi()))
    operation = next(item for item in operations if name_of(item) == name)
    return operation.Case(**given)


def test_a_leak_is_noticed(scene: Scene, sender: Sender) -> None:
    person = sender.actor.person
    assert person is not None
    person.ok("POST", "/api/v1/spaces", {"name": f"about {PRIVATE}"})
    sender.send(_case(scene, "list_spaces"))
    assert {what for _, what in sender.tally.found} >= {f"LEAK to stranger: {PRIVATE}"}


def test_being_let_in_is_noticed(scene: Scene, sender: Sender) -> None:
    person = sender.actor.person
    assert person is not None
    own = person.ok("POST", "/api/v1/spaces", {"name": "own"})["id"]
    sender.actor = replace(sender.actor, forbidden=frozenset({own}))
    sender.send(_case(scene, "get_space", path_parameters={"space_id": own}))
    assert any(what.startswith("LET IN") for _, what in sender.tally.found)


def test_an_undocumented_answer_is_noticed(scene: Scene, sender: Sender) -> None:
    case = _case(scene, "get_space", path_parameters={"space_id": scene.private["space_id"]})
    case.operation.definition.raw["responses"].pop("404")
    case.operation.responses._inner.pop("404", None)
    sender.send(case)
    assert any("status" in what.lower() for _, what in sender.tally.found)
