"""Jobs: made, followed, paused, cancelled, tried again, and gone on with after a worker was killed."""

import os
import signal
from typing import Any

from acceptance.engines.instance import ENDED, Caller, Instance, read_events
from acceptance.engines.material import LONG

STRUCTURE = {"producer": "structure"}


def _create(owner: Caller, document: str, **context: str) -> dict[str, Any]:
    body = {"type": "chunking", "document_id": document, "context": context or STRUCTURE}
    made: dict[str, Any] = owner.ok("POST", "/jobs", body)["job"]
    return made


def test_a_worker_steps_back_for_the_server(instance: Instance) -> None:
    nice = {
        name: os.getpriority(os.PRIO_PROCESS, instance.processes[name].pid) for name in ("serve", "worker")
    }
    assert nice["worker"] == min(19, nice["serve"] + 10)


def test_made_followed_and_listed(instance: Instance, owner: Caller) -> None:
    space = owner.space("jobs")
    document = owner.add(space, "long.md", LONG)
    job = _create(owner, document)["id"]
    events = owner.events(f"/jobs/{job}/events")
    assert events[-1]["data"]["status"] == "COMPLETED"
    middle = events[len(events) // 2]["id"]
    later = owner.events(f"/jobs/{job}/events", headers={"last-event-id": middle})
    assert later == [event for event in events if int(event["id"]) > int(middle)]
    listed = owner.ok("GET", "/jobs", params={"space_id": space, "type": "chunking"})["items"]
    printed = instance.cli("jobs", "list", "--space", "jobs")
    assert job in {item["id"] for item in listed} <= {item["id"] for item in printed}
    assert instance.cli("jobs", "show", job)["job"]["status"] == "COMPLETED"


def test_stopped_and_let_go_on(instance: Instance, owner: Caller) -> None:
    """While the worker is away nothing is claimed, so that every state can be seen."""
    space = owner.space("stopped")
    document = owner.add(space, "long.md", LONG)
    assert instance.end("worker") == 0
    job = _create(owner, document)["id"]
    assert owner.ok("POST", f"/jobs/{job}/pause")["status"] == "PAUSED"
    assert instance.cli("jobs", "resume", job)["status"] == "PENDING"
    assert instance.cli("jobs", "cancel", job)["status"] == "CANCELLED"
    refused = owner.call("POST", f"/jobs/{job}/resume")
    assert (refused.status_code, refused.json()["remedy"]) == (409, "Retry it.")
    assert owner.ok("POST", f"/jobs/{job}/retry")["status"] == "PENDING"
    instance.start_worker()
    assert owner.until(f"/jobs/{job}", "status", ENDED)["status"] == "COMPLETED"


def test_all_jobs_of_a_space_are_seen_as_they_change(owner: Caller) -> None:
    space = owner.space("seen")
    seen: set[str] = set()
    with owner.http.stream("GET", "/jobs/events") as response:
        added = owner.upload(space, "one.md", "# One\n\nThe first pump.\n")
        wanted = {job["id"] for job in added["jobs"]}
        for event in read_events(response):
            if event["event"] == "job" and event["data"]["status"] == "COMPLETED":
                seen.add(event["data"]["id"])
            if wanted <= seen:
                break
    owner.settle(space)


def test_a_killed_worker_is_followed_by_another(instance: Instance, owner: Caller) -> None:
    space = owner.space("killed")
    instance.cli("spaces", "set", "killed", "--producer", "indexer")
    double = instance.double
    double.waiting.clear()
    double.held = True
    added = owner.upload(space, "long.md", f"# Held\n\n{LONG}")  # what was pointed at once is not asked again
    assert double.waiting.wait(60)
    (running,) = owner.ok("GET", "/jobs", params={"space_id": space, "status": "RUNNING"})["items"]
    assert running["type"] == "chunking"
    assert instance.end("worker", signal.SIGKILL) == -signal.SIGKILL
    double.held = False
    instance.start_worker()
    owner.settle(space)
    after = owner.ok("GET", f"/jobs/{running['id']}")
    assert after["status"] == "COMPLETED"
    assert after["epoch"] > running["epoch"]
    assert owner.ok("GET", f"/documents/{added['document']['id']}")["status"] == "READY"
    assert owner.ok("POST", f"/spaces/{space}/verify")["faults"] == []
