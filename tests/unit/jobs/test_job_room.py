"""Limits: no type and no lane ever exceeds its own, and nobody is left out who would fit."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kosmos.db.jobs import Candidate
from kosmos.jobs.claiming import Room

LIMITS = {"a": 1, "b": 3}
LANE_LIMIT = 2
candidates = st.builds(
    Candidate,
    id=st.uuids().map(str),
    type=st.sampled_from(("a", "b", "free")),
    lane=st.sampled_from((None, "left", "right")),
    lane_limit=st.none(),
    status=st.sampled_from(("PENDING", "PAUSED", "RUNNING")),
).map(lambda item: Candidate(item.id, item.type, item.lane, LANE_LIMIT if item.lane else None, item.status))
counts = st.integers(0, 4)


@given(
    st.lists(candidates, max_size=12),
    st.fixed_dictionaries({"a": counts, "b": counts, "free": counts}),
    st.fixed_dictionaries({"left": counts, "right": counts}),
)
def test_room_is_given_as_long_as_there_is_some(
    items: list[Candidate], types: dict[str, int], lanes: dict[str, int]
) -> None:
    room = Room(LIMITS, dict(types), dict(lanes))
    of_type, in_lane = Counter(types), Counter(lanes)
    for item in items:
        fits = of_type[item.type] < LIMITS.get(item.type, 100)
        fits = fits and (item.lane is None or in_lane[item.lane] < LANE_LIMIT)
        runs = item.status == "RUNNING"
        assert room.admit(item) is (fits or runs)
        if fits and not runs:
            of_type[item.type] += 1
            in_lane[item.lane or ""] += 1
        assert fits or runs or item.type in room.full.types or item.lane in room.full.lanes
    assert all(of_type[name] >= LIMITS[name] for name in room.full.types)
    assert all(in_lane[name] >= LANE_LIMIT for name in room.full.lanes)
