"""Chunks by structure and by a model, made again, indexed again, encoded again."""

from typing import Any

from acceptance.engines.conftest import LIBRARY
from acceptance.engines.double import SUMMARY
from acceptance.engines.instance import Caller, Instance
from acceptance.engines.material import LONG, PUMPS

Chunks = list[dict[str, Any]]


def _chunks(owner: Caller, document: str) -> Chunks:
    items: Chunks = owner.ok("GET", f"/documents/{document}/chunks", params={"limit": 1000})["items"]
    return items


def _check_whole(owner: Caller, document: str, chunks: Chunks) -> None:
    """The chunks are the text: every line once, in order."""
    lines = owner.ok("GET", f"/documents/{document}/lines")["lines"]
    held = [(chunk["start_line"], chunk["end_line"]) for chunk in chunks if chunk["type"] == "content"]
    assert held == sorted(held)
    for chunk in chunks:
        if chunk["type"] == "content":
            shown = "\n".join(lines[chunk["start_line"] - 1 : chunk["end_line"]])
            assert chunk["text"].strip("\n") == shown.strip("\n")


def test_structure_makes_a_tree_of_exact_lines(owner: Caller) -> None:
    space = owner.space("structure")
    document = owner.add(space, "pumps.md", PUMPS)
    chunks = _chunks(owner, document)
    _check_whole(owner, document, chunks)
    before: set[str | None] = {None}
    for chunk in chunks:
        assert chunk["parent_id"] in before  # a parent comes before what is below it
        before.add(chunk["id"])
    assert sum(chunk["parent_id"] is not None for chunk in chunks) > 2


def test_a_model_points_at_lines(instance: Instance, owner: Caller) -> None:
    space = owner.space("indexer")
    instance.cli("spaces", "set", "indexer", "--producer", "indexer")
    asked = instance.double.calls
    document = owner.add(space, "long.md", LONG)
    chunks = _chunks(owner, document)
    _check_whole(owner, document, chunks)
    assert instance.double.calls > asked
    assert any(chunk["summary"] == SUMMARY for chunk in chunks)
    cost = instance.cli("documents", "cost", document)
    assert cost["sum"]["calls"] == instance.double.calls - asked
    done = instance.cli("rechunk", document, "--producer", "structure")  # an id needs no space
    assert (done["done"], done["failed"]) == (["long.md"], [])
    owner.settle(space)
    again = _chunks(owner, document)
    _check_whole(owner, document, again)
    found = owner.ok("POST", "/search", {"query": "valve number 17 red", "space_ids": [space]})["items"]
    assert "number 17 " in found[0]["text"]


def _found(owner: Caller, space: str) -> list[tuple[str, int, int]]:
    form = {"query": "oiled every 40 days", "space_ids": [space], "k": 20}
    items = owner.ok("POST", "/search", form)["items"]
    return [(item["source"], item["start_line"], item["end_line"]) for item in items]


def test_indexed_and_encoded_again_it_is_found_as_before(instance: Instance, owner: Caller) -> None:
    space = owner.space("again")
    owner.add(space, "pumps.md", PUMPS)
    before = _found(owner, space)
    assert before
    instance.cli("reindex", "--space", "again")
    assert _found(owner, space) == before
    instance.cli("reindex", "--space", "again", "--encoder", "none")
    words = owner.ok("POST", "/search", {"query": "oiled every 40 days", "space_ids": [space]})["items"]
    assert all("vector" not in item["routes"] for item in words)
    instance.cli("reindex", "--space", "again", "--encoder", "builtin")
    owner.settle(space)
    assert _found(owner, space) == before
    both = owner.ok("POST", "/search", {"query": "oiled every 40 days", "space_ids": [space]})["items"]
    assert {"vector", "sparse_vector"} <= set(both[0]["routes"])


def test_every_document_is_proved(instance: Instance, owner: Caller, library: str) -> None:
    report = instance.cli("verify", "--space", LIBRARY)
    served = owner.ok("POST", f"/spaces/{library}/verify")
    assert report["faults"] == served["faults"] == []
    assert report["verified"] == served["verified"] == report["documents"] > 0
