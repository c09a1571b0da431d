"""Search, recall, read and grep: the same answers whatever the engines are."""

import json
from pathlib import Path
from typing import Any

import pytest

from acceptance.engines.conftest import LIBRARY
from acceptance.engines.instance import Caller, Instance
from acceptance.engines.material import CERTIFICATES, QUESTIONS, SEARCHES

ROUTES = ("vector", "summary_vector", "sparse_vector", "title_sparse")
Hits = list[dict[str, Any]]


def _search(owner: Caller, library: str, query: str, **more: Any) -> Hits:
    items: Hits = owner.ok("POST", "/search", {"query": query, "space_ids": [library], **more})["items"]
    return items


def _place(hit: dict[str, Any]) -> list[Any]:
    return [hit["source"], hit["start_line"], hit["end_line"]]


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_the_right_lines_are_found(owner: Caller, library: str, question: str) -> None:
    name, words = QUESTIONS[question]
    hits = _search(owner, library, question, k=5)
    assert any(hit["source"].endswith(name) and words in hit["text"] for hit in hits[:2]), hits
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_the_command_finds_what_the_server_finds(instance: Instance, owner: Caller, library: str) -> None:
    query = "叶子证书多久轮换一次？"
    printed = instance.cli("search", query, "--space", LIBRARY, "--k", "5", "--explain")
    served = _search(owner, library, query, k=5, explain=True)
    assert [_place(hit) for hit in printed] == [_place(hit) for hit in served]
    assert served[0]["explain"]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_alone(owner: Caller, library: str, route: str) -> None:
    weights = {name: float(name == route) for name in ROUTES}
    hits = _search(owner, library, "storage classes volume policy", routes=weights)
    assert hits
    assert all(set(hit["routes"]) == {route} for hit in hits)
    assert hits[0]["source"].endswith("storage.html")


FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "languages": ({"languages": ["zh"]}, {"证书.md", "network.html"}),
    "filetypes": ({"filetypes": ["pdf"]}, {"tide.pdf"}),
    "path": ({"path": "资料 library/网页/"}, {"storage.html", "network.html"}),
    "heading": ({"heading": "Pump guide > Batteries"}, {"pumps.md"}),
    "metadata": ({"metadata": {"site": "north"}}, {"pumps.md"}),
    "pages": ({"pages": [1, 1]}, {"tide.pdf"}),
    "nobody": ({"metadata": {"site": "south"}}, set()),
}


@pytest.mark.parametrize("name", list(FILTERS))
def test_filters(owner: Caller, library: str, name: str) -> None:
    given, expected = FILTERS[name]
    query = "certificate 证书 volume pump 入站流量 deviation cells"
    hits = _search(owner, library, query, k=50, filter=given)
    assert {hit["source"].rsplit("/", 1)[-1] for hit in hits} == expected


def test_grouped_with_neighbours_and_pages(owner: Caller, library: str) -> None:
    grouped = _search(owner, library, "pump cells", k=20, group_by_document=True, neighbours=1)
    assert len({hit["document_id"] for hit in grouped}) == len(grouped) > 1
    assert any(hit["neighbours"] for hit in grouped)
    whole = [_place(hit) for hit in _search(owner, library, "pump cells", k=6)]
    parts = [_place(hit) for at in (0, 3) for hit in _search(owner, library, "pump cells", k=3, offset=at)]
    assert parts == whole


def test_recall(owner: Caller, library: str) -> None:
    form = {
        "question": "叶子证书多久轮换一次？",
        "index_names": [LIBRARY],
        "top_n": 3,
        "similarity_threshold": 0,
    }
    data = owner.ok("POST", "/retrieval", form)["data"]
    assert "叶子证书每九十天轮换一次" in data["chunks"][0]["content"]
    assert data["chunks"][0]["document_name"].endswith("证书.md")


def test_read_and_grep(instance: Instance, owner: Caller, library: str) -> None:
    name = next(hit["source"] for hit in _search(owner, library, "私钥 吊销") if "证书" in hit["source"])
    read = instance.cli("read", name, "--space", LIBRARY, "--heading", "吊销")
    assert read["lines"][-1] == "泄露的私钥必须在一小时内吊销，并通知安全组。"
    printed = instance.cli("grep", "证书.*轮换|blue pump", "--space", LIBRARY)
    served = owner.ok("POST", "/grep", {"pattern": "证书.*轮换|blue pump", "space_ids": [library]})
    assert len(printed["matches"]) == len(served["matches"]) == 2
    line = CERTIFICATES.split("\n").index("叶子证书每九十天轮换一次，由正式值班操作。") + 1
    assert line in {match["line"] for match in served["matches"]}


def _ranks(owner: Caller, library: str) -> dict[str, Any]:
    """The first five of every question, all routes together and each of them alone."""
    found: dict[str, Any] = {}
    for query in SEARCHES:
        found[query] = [_place(hit) for hit in _search(owner, library, query, k=5)]
        for route in ROUTES:
            weights = {name: float(name == route) for name in ROUTES}
            found[f"{route}: {query}"] = [
                _place(hit) for hit in _search(owner, library, query, k=5, routes=weights)
            ]
    return found


def test_every_set_of_engines_ranks_alike(
    request: pytest.FixtureRequest, owner: Caller, library: str, meeting_place: Path
) -> None:
    """Whoever comes later compares with all that were there before."""
    ranks = _ranks(owner, library)
    assert all(ranks[query] for query in SEARCHES)
    own = meeting_place / f"ranks of {request.node.callspec.params['instance']}.json"
    own.write_text(json.dumps(ranks, ensure_ascii=False))
    for other in meeting_place.glob("ranks of *.json"):
        assert json.loads(other.read_text()) == ranks, other.name
