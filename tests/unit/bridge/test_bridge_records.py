"""The board of the bridge: storms become one line, everything expires, secrets do not get in."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kosmos.bridge.records import EVENT_TTL, STATE_TTL, Board, describe

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def event(message: str = "Back-off restarting", name: str = "web", **more: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "shop", "name": name}
    return {
        "kind": "Event",
        "involvedObject": about,
        "type": "Warning",
        "reason": "BackOff",
        "message": message,
        **more,
    }


def pod(phase: str = "Running", name: str = "web", **status: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"namespace": "shop", "name": name},
        "status": {"phase": phase, **status},
    }


def test_a_storm_is_one_line() -> None:
    board = Board()
    for second in range(50):
        board.observe("ADDED", event(), NOW + timedelta(seconds=second))
    assert board.suppressed == 49
    (record,) = board.records.values()
    assert record.count == 50
    board.dirty.clear()
    board.observe("ADDED", event(), NOW + timedelta(seconds=59))
    assert not board.dirty
    board.observe("ADDED", event(), NOW + timedelta(seconds=61))
    assert board.dirty == {"shop"}
    assert "52 times since 12:00:00" in board.render("shop", "prod", NOW, stale_since=None)


def test_other_events_are_not_the_same() -> None:
    board = Board()
    for thing in (event("a"), event("b"), event("a", "api"), event("a", reason="Failed")):
        board.observe("ADDED", thing, NOW)
    assert len(board.records) == 4


def test_states_follow_the_object() -> None:
    board = Board()
    board.observe("ADDED", pod("Pending"), NOW)
    board.observe("MODIFIED", pod("Running"), NOW)
    assert "is Running" in board.render("shop", "prod", NOW, stale_since=None)
    assert "is Pending" not in board.render("shop", "prod", NOW, stale_since=None)
    board.observe("DELETED", pod(), NOW)
    assert "was deleted" in board.render("shop", "prod", NOW, stale_since=None)
    board.confirm(NOW + STATE_TTL)
    board.prune(NOW + STATE_TTL)
    assert board.render("shop", "prod", NOW, stale_since=None) == ""


def test_what_is_confirmed_lives_on_and_events_expire() -> None:
    board = Board()
    board.observe("ADDED", pod(), NOW)
    board.observe("ADDED", event(), NOW)
    later = NOW + EVENT_TTL
    board.confirm(later)
    board.prune(later)
    assert [record.event for record in board.records.values()] == [False]
    assert board.dirty == {"shop"}


def test_stale_is_said() -> None:
    board = Board()
    board.observe("ADDED", pod(), NOW)
    text = board.render("shop", "prod", NOW, stale_since=NOW)
    assert "stale: true" in text
    assert "STALE: the cluster has not been heard of since 2026-05-01 12:00:00 UTC" in text


def test_why_a_pod_does_not_run() -> None:
    status = {
        "name": "app",
        "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"reason": "OOMKilled"}},
    }
    said = describe(pod("Running", containerStatuses=[status]))
    assert said == "is Running; container app: CrashLoopBackOff, last ended: OOMKilled, 7 restarts"
    workload = {"kind": "Deployment", "spec": {"replicas": 3}, "status": {"readyReplicas": 1}}
    assert describe(workload) == "has 1 of 3 replicas ready"


def test_secrets_stay_out() -> None:
    board = Board()
    board.observe("ADDED", event("failed: password=hunter2-Zx81 refused"), NOW)
    assert "hunter2" not in board.render("shop", "prod", NOW, stale_since=None)


_value = st.none() | st.text(max_size=10) | st.integers() | st.lists(st.text(max_size=3), max_size=2)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
            st.fixed_dictionaries({"kind": st.sampled_from(["Event", "Pod", "Node"]), "message": _value}),
            st.integers(0, 4000),
        ),
        max_size=30,
    )
)
def test_the_board_forgets_everything_in_the_end(changes: list[tuple[str, dict[str, Any], int]]) -> None:
    board = Board()
    for change, thing, seconds in sorted(changes, key=lambda item: item[2]):
        board.observe(change, thing, NOW + timedelta(seconds=seconds))
        board.render("", "prod", NOW, stale_since=None)
    board.prune(NOW + timedelta(seconds=4000) + EVENT_TTL)
    assert board.records == {}
