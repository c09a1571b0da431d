"""Metrics and their text, as Prometheus reads it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kosmos.domain.jobs import Spent
from kosmos.telemetry import measures
from kosmos.telemetry.metrics import MAX_SERIES, OTHER, SECONDS, Counter, Histogram, exposition

LINE = re.compile(r'^[a-z_:]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? [0-9.e+-]+$|^[a-z_]+\{.*\} \+Inf$')


def test_a_counter_counts_by_labels() -> None:
    counter = Counter("kosmos_things_total", "Things.", ("kind",))
    counter.add("a")
    counter.add("a", by=2)
    counter.add("b", by=0.5)
    text = exposition([counter.family()])
    assert text == (
        "# HELP kosmos_things_total Things.\n# TYPE kosmos_things_total counter\n"
        'kosmos_things_total{kind="a"} 3\nkosmos_things_total{kind="b"} 0.5\n'
    )


def test_a_metric_without_labels_has_no_braces() -> None:
    counter = Counter("kosmos_now", "Now.", kind="gauge")
    counter.add(by=-2)
    assert exposition([counter.family()]).endswith("# TYPE kosmos_now gauge\nkosmos_now -2\n")


@given(st.lists(st.floats(0, 60, allow_nan=False), max_size=30))
def test_the_buckets_of_a_histogram_add_up(seconds: list[float]) -> None:
    histogram = Histogram("kosmos_x_seconds", "X.", ("route",))
    for value in seconds:
        histogram.observe(value, "r")
    samples = {(item.name, dict(item.labels).get("le")): item.value for item in histogram.family().samples}
    if not seconds:
        assert samples == {}
        return
    for limit in SECONDS:
        shown = str(int(limit)) if limit == int(limit) else repr(limit)
        assert samples["kosmos_x_seconds_bucket", shown] == sum(value <= limit for value in seconds)
    assert samples["kosmos_x_seconds_bucket", "+Inf"] == len(seconds) == histogram.count("r")
    assert samples["kosmos_x_seconds_count", None] == len(seconds)
    assert abs(samples["kosmos_x_seconds_sum", None] - sum(seconds)) < 1e-6


@given(st.text(max_size=20))
def test_whatever_a_label_holds_stays_on_its_line(value: str) -> None:
    counter = Counter("kosmos_odd_total", "Odd.", ("name",))
    counter.add(value)
    lines = exposition([counter.family()]).split("\n")
    assert len(lines) == 4
    assert lines[3] == ""
    assert lines[2].startswith('kosmos_odd_total{name="')
    assert lines[2].endswith('"} 1')
    inner = lines[2].removeprefix('kosmos_odd_total{name="').removesuffix('"} 1')
    assert re.fullmatch(r'(?:[^"\\\n]|\\["\\n])*', inner)


def test_too_many_series_become_one() -> None:
    counter = Counter("kosmos_many_total", "Many.", ("name",))
    for number in range(MAX_SERIES + 50):
        counter.add(str(number))
    assert len(counter.family().samples) == MAX_SERIES + 1
    assert counter.value(OTHER) == 50


def test_a_model_call_is_counted_with_its_tokens() -> None:
    before = [measures.MODEL_CALLS.value("VLM"), measures.MODEL_TOKENS.value("VLM", "input")]
    cost = measures.MODEL_COST.value("VLM")
    measures.count_model_call("VLM", Spent(10, 4, 3, 0.5))
    assert measures.MODEL_CALLS.value("VLM") == before[0] + 1
    assert measures.MODEL_TOKENS.value("VLM", "input") == before[1] + 10
    assert measures.MODEL_COST.value("VLM") == cost + 0.5


def test_everything_that_is_declared_is_shown_in_lines_that_can_be_read() -> None:
    measures.HTTP_SECONDS.observe(0.2, "GET", "/x/{id}")
    families = measures.families()
    assert len({family.name for family in families}) == len(families)
    for line in exposition(families).strip().split("\n"):
        assert line.startswith("# ") or LINE.fullmatch(line), line
