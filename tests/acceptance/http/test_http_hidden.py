"""Over HTTP: what is hidden from whom, settings that are refused, the proof and the costs."""

import json
from typing import Any

import pytest

from acceptance.http.world import Person, World

SECRET = "13812345678"
TEXT = f"# Duty\n\nCall {SECRET} when the pump leaks.\n\n## More\n\nWords."


@pytest.fixture
def shared(world: World) -> tuple[Person, str, str]:
    """A viewer, the space and a document that hides something."""
    count = len(world.owner.ok("GET", "/api/v1/spaces?limit=1000")["items"])
    space = world.owner.ok("POST", "/api/v1/spaces", {"name": f"hidden {count}"})["id"]
    viewer = world.join(f"viewer {count} of {space[-6:]}")
    world.owner.ok("PUT", f"/api/v1/spaces/{space}/members", {"user": viewer.id, "role": "viewer"})
    return viewer, space, world.add(space, "duty.md", TEXT)


def _text(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)


def test_nothing_hidden_leaves_but_to_owners(world: World, shared: tuple[Person, str, str]) -> None:
    viewer, space, document = shared
    place = f"/api/v1/documents/{document}"
    seen = [
        viewer.ok("GET", f"{place}/lines"),
        viewer.ok("GET", f"{place}/chunks"),
        viewer.ok("GET", f"{place}/overview"),
        viewer.ok("POST", "/api/v1/search", {"query": "pump leaks"}),
        viewer.ok("POST", "/api/v1/ask", {"question": "Whom to call when the pump leaks?"}),
        viewer.ok("POST", "/api/v1/grep", {"pattern": "pump", "context": 2}),
    ]
    assert SECRET not in _text(seen)
    assert "⟦phone⟧" in _text(seen[0])
    assert [item["hidden"] for item in seen[1]["items"]] == [{}, {"phone": 1}, {}, {}]
    assert viewer.ok("POST", "/api/v1/grep", {"pattern": SECRET})["matches"] == []
    verbatim: list[tuple[str, str, Any]] = [
        ("GET", f"{place}/lines?verbatim=true", None),
        ("GET", f"{place}/chunks?verbatim=true", None),
        ("POST", "/api/v1/grep", {"pattern": SECRET, "verbatim": True, "document_id": document}),
        ("POST", "/api/v1/grep", {"pattern": SECRET, "verbatim": True, "space_ids": [space]}),
    ]
    for method, path, body in verbatim:
        refused = viewer.call(method, path, body)
        assert (refused.status_code, refused.json()["title"]) == (403, "Forbidden")
        assert "owner is needed" in refused.json()["detail"]
        assert refused.json()["remedy"]
        assert SECRET in _text(world.owner.ok(method, path, body))
    assert viewer.call("GET", f"{place}/original").status_code == 403
    assert SECRET in world.owner.call("GET", f"{place}/original").text
    everywhere = viewer.call("POST", "/api/v1/grep", {"pattern": SECRET, "verbatim": True})
    assert everywhere.status_code == 422


def test_settings(world: World, shared: tuple[Person, str, str]) -> None:
    viewer, space, _ = shared
    path = f"/api/v1/spaces/{space}"
    for settings in ({"redaction": "perhaps"}, {"chunking": {"producer": "magic"}}, {"chunking": 1}):
        refused = world.owner.call("PATCH", path, {"settings": settings})
        assert (refused.status_code, bool(refused.json()["remedy"])) == (422, True)
    given = {"chunking": {"producer": "indexer", "batch_lines": 100}, "redaction": ["email"], "mine": 1}
    assert viewer.call("PATCH", path, {"settings": given}).status_code == 403
    assert world.owner.ok("PATCH", path, {"settings": given})["settings"] == given
    refused = world.owner.call("POST", f"{path}/documents?filename=a.md", b"--kosmos--")
    assert (refused.status_code, refused.json()["title"]) == (409, "NoCredential")
    assert "producer=structure" in refused.json()["remedy"]
    odd = world.owner.call("POST", f"{path}/documents?filename=a.md&producer=magic", b"")
    assert odd.status_code == 422


def test_proof_failures_and_costs(world: World, shared: tuple[Person, str, str]) -> None:
    viewer, space, document = shared
    world.add(space, "second.md", "Words.")
    path = f"/api/v1/spaces/{space}"
    page = viewer.ok("POST", f"{path}/verify?limit=1")
    assert (page["documents"], page["verified"], page["next"]) == (1, 1, document)
    last = viewer.ok("POST", f"{path}/verify?after={document}")
    assert last == {"documents": 1, "verified": 1, "waiting": 0, "faults": [], "next": None}
    assert viewer.ok("GET", f"{path}/chunk-errors") == {"items": [], "next": None}
    assert viewer.call("GET", f"{path}/chunk-errors?after=x.y").status_code == 422
    cost = viewer.ok("GET", f"/api/v1/documents/{document}/cost?estimate=true&producer=indexer")
    assert (cost["sum"]["calls"], cost["forecast"]["asked"], cost["forecast"]["documents"]) == (0, 0, 1)
    assert viewer.ok("GET", f"{path}/cost")["forecast"] is None
    assert viewer.ok("GET", f"/api/v1/documents/{document}/calls")["items"] == []
    (first, *_) = viewer.ok("GET", f"/api/v1/documents/{document}/chunks")["items"]
    refused = world.owner.call("POST", f"/api/v1/chunks/{first['id']}/retry")
    assert (refused.status_code, refused.json()["title"]) == (409, "NoCredential")
