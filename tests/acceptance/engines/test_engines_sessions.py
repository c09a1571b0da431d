"""Sessions: talks are kept, replayed, stopped, renamed and removed; a restart loses nothing."""

import signal
from typing import Any

from acceptance.engines.double import SLOW
from acceptance.engines.instance import Caller, Instance, read_events

Events = list[dict[str, Any]]


def _session(owner: Caller) -> str:
    agents = owner.ok("GET", "/agents")["items"]
    if "teller" not in {agent["name"] for agent in agents}:
        owner.ok("POST", "/agents", {"name": "teller", "allowed_tools": []})
    return str(owner.ok("POST", "/sessions", {"agent": "teller", "title": "slow talk"})["id"])


def _begin(owner: Caller, session: str, most: int) -> tuple[str, Events]:
    """Ask, read so many events, and hang up."""
    seen: Events = []
    form = {"question": "Tell me slowly."}
    with owner.http.stream("POST", f"/sessions/{session}/runs", json=form) as response:
        run = response.headers["kosmos-run-id"]
        for event in read_events(response):
            seen.append(event)
            if len(seen) == most:
                break
    return run, seen


def _check_once(seen: Events) -> None:
    assert [int(event["id"]) for event in seen] == list(range(1, len(seen) + 1))


def _said(seen: Events) -> str:
    return "".join(event["data"]["payload"]["text"] for event in seen if event["event"] == "answer_chunk")


def test_whoever_hangs_up_goes_on_where_they_were(instance: Instance, owner: Caller) -> None:
    session = _session(owner)
    run, seen = _begin(owner, session, 8)
    path = f"/sessions/{session}/runs/{run}/events"
    seen += owner.events(path, headers={"last-event-id": seen[-1]["id"]})
    _check_once(seen)
    assert seen[-1]["data"]["payload"]["status"] == "COMPLETED"
    assert _said(seen).strip() == SLOW.strip()
    assert owner.events(path) == seen
    messages = owner.ok("GET", f"/sessions/{session}/messages")["items"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[-1]["content"].strip() == SLOW.strip()
    printed = instance.cli("sessions", "show", session)
    assert SLOW.strip()[:40] in str(printed)


def test_stopped_renamed_and_removed(instance: Instance, owner: Caller) -> None:
    session = _session(owner)
    run, seen = _begin(owner, session, 6)
    path = f"/sessions/{session}/runs/{run}"
    assert owner.call("POST", f"/sessions/{session}/runs", {"question": "Now?"}).status_code == 409
    assert owner.ok("POST", f"{path}/stop")["status"] == "STOPPED"
    seen += owner.events(f"{path}/events", headers={"last-event-id": seen[-1]["id"]})
    _check_once(seen)
    assert owner.ok("PATCH", f"/sessions/{session}", {"title": "证书轮换"})["title"] == "证书轮换"
    assert "证书轮换" in {item["title"] for item in instance.cli("sessions", "list")}
    assert owner.call("DELETE", f"/sessions/{session}").status_code == 204
    assert owner.call("GET", f"/sessions/{session}").status_code == 404
    assert owner.call("GET", f"{path}/events").status_code == 404


def test_a_run_outlives_its_server_as_far_as_it_was_told(instance: Instance, owner: Caller) -> None:
    session = _session(owner)
    run, seen = _begin(owner, session, 12)
    instance.end("serve", signal.SIGKILL)
    instance.serve()
    path = f"/sessions/{session}/runs/{run}"
    seen += owner.events(f"{path}/events", headers={"last-event-id": seen[-1]["id"]})
    _check_once(seen)
    assert owner.ok("GET", path)["status"] == "INTERRUPTED"
    last = owner.ok("GET", f"/sessions/{session}/messages")["items"][-1]
    assert last["content"].strip() == _said(seen).strip() != ""
    found = owner.ok("POST", "/search", {"query": "叶子证书多久轮换一次？", "k": 3})["items"]
    assert "叶子证书每九十天轮换一次" in found[0]["text"]
