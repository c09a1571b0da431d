"""Jobs over HTTP: made, followed, controlled, by a server that works on them itself."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from acceptance.http.serving import Served
from acceptance.http.world import Person, World, add, first_person
from kosmos.config import load_settings

STRUCTURE = {"producer": "structure"}
LONG = "\n\n".join(f"## Part {part}\n\nThe pump {part} 泵 is blue." for part in range(3000))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that works on jobs."""
    home: Path = tmp_path_factory.mktemp("busy")
    with Served(load_settings({"KOSMOS_HOME": str(home)})) as served:
        yield served


@pytest.fixture(scope="module")
def ada(busy: Served) -> Person:
    return first_person(busy)


def _events(answer: httpx2.Response) -> Iterator[dict[str, Any]]:
    """The events of a stream, each with its id."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line == "" and fields:
            yield {**json.loads(fields["data"]), "id": int(fields["id"]), "event": fields["event"]}
            fields = {}
        elif ": " in line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def _space(person: Person) -> str:
    return str(person.ok("GET", "/api/v1/spaces")["items"][0]["id"])


def _create(person: Person, document: str, kind: str = "chunking", **form: Any) -> dict[str, Any]:
    context = STRUCTURE if kind == "chunking" else {}
    body = {"type": kind, "document_id": document, "context": context, **form}
    made: dict[str, Any] = person.ok("POST", "/api/v1/jobs", body)
    return made


def _end(person: Person, job_id: str) -> list[dict[str, Any]]:
    with person.http.stream("GET", f"/api/v1/jobs/{job_id}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        return list(_events(answer))


def test_a_job_is_made_done_and_followed(busy: Served, ada: Person) -> None:
    document = add(busy, _space(ada), "long.md", LONG)
    chunking = _create(ada, document)
    after = [chunking["job"]["id"]]
    indexing = _create(ada, document, "indexing", after=after)
    assert chunking["existing"] is False
    assert chunking["estimate"] == {"prompt_tokens": 0, "output_tokens": 0, "cost": 0.0, "credential": None}
    seen = _end(ada, chunking["job"]["id"])
    lines = [item["progress"]["current_line"] for item in seen if "current_line" in item["progress"]]
    assert seen[-1]["status"] == "COMPLETED"
    assert lines == sorted(lines)
    assert len(set(lines)) > 10  # progress is seen batch by batch
    assert _end(ada, indexing["job"]["id"])[-1]["status"] == "COMPLETED"
    shown = ada.ok("GET", f"/api/v1/jobs/{indexing['job']['id']}")
    assert [item["status"] for item in shown["waits_for"]] == ["COMPLETED"]
    assert shown["result"]["generation"] == 2
    assert ada.ok("GET", f"/api/v1/documents/{document}")["status"] == "READY"


def test_a_watcher_goes_on_where_it_was(busy: Served, ada: Person) -> None:
    document = add(busy, _space(ada), "again.md", LONG)
    job = _create(ada, document)["job"]["id"]
    seen = _end(ada, job)
    middle = seen[len(seen) // 2]["id"]
    for query, headers in ((f"?after={middle}", {}), ("", {"last-event-id": str(middle)})):
        answer = ada.http.get(f"/api/v1/jobs/{job}/events{query}", headers=headers)
        with_ids = [line for line in answer.text.split("\n") if line.startswith("id: ")]
        assert with_ids == [f"id: {item['id']}" for item in seen if item["id"] > middle]


def test_cancel_stops_within_one_batch(busy: Served, ada: Person) -> None:
    text = "\n\n".join(f"## Part {part}\n\nThe pump {part}." for part in range(8_000))
    document = add(busy, _space(ada), "endless.md", text)
    job = _create(ada, document)["job"]["id"]
    at_cancel: list[int] = []
    for event in _follow(ada, job):
        line = event["progress"].get("current_line", 0)
        if line > 0 and not at_cancel:
            answer = ada.ok("POST", f"/api/v1/jobs/{job}/cancel")
            assert answer["status"] == "CANCELLED"
            at_cancel.append(answer["progress"]["current_line"])
            total = answer["progress"]["total_lines"]
    shown = ada.ok("GET", f"/api/v1/jobs/{job}")
    assert (shown["status"], shown["reason"]) == ("CANCELLED", "Cancelled by hand.")
    assert shown["progress"]["current_line"] == at_cancel[0] <= total
    time.sleep(0.3)
    assert ada.ok("GET", f"/api/v1/jobs/{job}")["updated_at"] == shown["updated_at"]
    refused = ada.call("POST", f"/api/v1/jobs/{job}/resume")
    assert (refused.status_code, refused.json()["remedy"]) == (409, "Retry it.")
    assert ada.ok("POST", f"/api/v1/jobs/{job}/retry")["status"] == "PENDING"
    assert _end(ada, job)[-1]["status"] == "COMPLETED"


def _follow(person: Person, job_id: str) -> Iterator[dict[str, Any]]:
    client = httpx2.Client(base_url=person.http.base_url, headers=person.http.headers, timeout=60)
    with client, client.stream("GET", f"/api/v1/jobs/{job_id}/events") as answer:
        yield from _events(answer)


def test_a_model_that_is_not_there_is_named_before_anything_is_stored(world: World) -> None:
    person = world.join("penniless")
    document = world.add(person.ok("POST", "/api/v1/spaces", {"name": "no model"})["id"])
    before = person.ok("GET", "/api/v1/jobs")["items"]
    wanted = {"type": "chunking", "document_id": document, "context": {"producer": "indexer"}}
    answer = person.call("POST", "/api/v1/jobs", wanted)
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["title"] == "NoCredential"
    assert "needs a credential of type SLM or LLM" in problem["detail"]
    assert "kosmos credentials add" in problem["remedy"]
    assert person.ok("GET", "/api/v1/jobs")["items"] == before


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"type": "nope"}, 422),
        ({"type": "no pe"}, 422),
        ({"type": "crawling"}, 422),
        ({"document_id": "missing"}, 404),
        ({"document_id": None}, 422),
        ({"context": {"colour": "blue"}}, 422),
        ({"context": {"producer": "x" * 100_000}}, 422),
        ({"priority": 5000}, 422),
        ({"after": ["missing"]}, 404),
        ({"on_failure": "shrug"}, 422),
        ({"deadline_seconds": 0}, 422),
        ({"extra": 1}, 422),
    ],
)
def test_what_cannot_be_made(world: World, change: dict[str, Any], status: int) -> None:
    person = world.stranger
    form = {"type": "chunking", "document_id": world.own["document_id"], "context": STRUCTURE}
    before = person.ok("GET", "/api/v1/jobs")["items"]
    answer = person.call("POST", "/api/v1/jobs", {**form, **change})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["remedy"]
    assert person.ok("GET", "/api/v1/jobs")["items"] == before


def test_a_payload_of_ten_megabytes_is_refused(world: World) -> None:
    form = {"type": "chunking", "document_id": world.own["document_id"], "context": {"a": "x" * 10_000_000}}
    assert world.stranger.call("POST", "/api/v1/jobs", form).status_code == 413


def test_two_resumes_at_once(world: World) -> None:
    person = world.stranger
    job = _create(person, world.own["document_id"])["job"]["id"]
    clients = [world.served.client(person.token) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            person.ok("POST", f"/api/v1/jobs/{job}/pause")
            answers = pool.map(lambda client: client.post(f"/api/v1/jobs/{job}/resume"), clients)
            assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    person.ok("POST", f"/api/v1/jobs/{job}/cancel")


def test_lists_have_filters_and_pages(world: World) -> None:
    person = world.join("Lister")
    space = person.ok("POST", "/api/v1/spaces", {"name": "listed"})["id"]
    documents = [world.add(space, f"{number}.md") for number in range(3)]
    made = [_create(person, document)["job"]["id"] for document in documents]
    person.ok("POST", f"/api/v1/jobs/{made[0]}/cancel")

    def ids(query: str) -> list[str]:
        return [item["id"] for item in person.ok("GET", f"/api/v1/jobs?{query}")["items"]]

    assert ids("")[:3] == made[::-1]  # before them those that have made the documents
    assert ids(f"space_id={space}&status=PENDING") == [made[2], made[1]]
    assert ids(f"document_id={documents[0]}")[0] == made[0]
    assert ids("type=crawling") == []
    first = person.ok("GET", "/api/v1/jobs?limit=2")
    assert person.ok("GET", f"/api/v1/jobs?limit=2&before={first['next']}")["items"][0]["id"] == made[0]
    assert person.call("GET", "/api/v1/jobs?status=SLEEPING").status_code == 422
    assert person.call("GET", "/api/v1/jobs?colour=blue").status_code == 422
