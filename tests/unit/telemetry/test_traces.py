"""Spans: none while traces are off, ids and no messages while they are on."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kosmos.errors import ConfigError, InvalidInput
from kosmos.telemetry import traces
from kosmos.telemetry.measures import ROUTE_SECONDS
from kosmos.telemetry.routes import watched_route


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What is exported while the test runs."""
    exporter = InMemorySpanExporter()
    traces.turn_on(exporter, at_once=True)
    yield exporter
    traces.turn_off()


def test_there_are_no_spans_unless_somebody_wants_them() -> None:
    assert not traces.tracing()
    with traces.span("request", method="GET") as made:
        assert made is None
        traces.add(made, status=200)
    assert traces.begin("model call") is None
    traces.end(None)


def test_spans_lie_within_each_other(spans: InMemorySpanExporter) -> None:
    with traces.span("job", job_id="j", space_id=None), traces.span("search") as inner:
        traces.add(inner, hits=3)
    search, job = spans.get_finished_spans()
    assert job.attributes == {"kosmos.job_id": "j"}
    assert search.attributes == {"kosmos.hits": 3}
    assert job.context is not None
    assert search.parent is not None
    assert search.parent.span_id == job.context.span_id


def test_the_message_of_an_error_is_not_told(spans: InMemorySpanExporter) -> None:
    with pytest.raises(InvalidInput), traces.span("request"):
        raise InvalidInput("what a user wrote")
    (made,) = spans.get_finished_spans()
    assert made.status.description == "InvalidInput"
    assert not made.events


def test_a_span_of_a_generator_is_ended_by_hand(spans: InMemorySpanExporter) -> None:
    made = traces.begin("model call", type="LLM")
    assert not spans.get_finished_spans()
    traces.end(made)
    assert [item.name for item in spans.get_finished_spans()] == ["model call"]


def test_a_route_is_timed_and_traced(spans: InMemorySpanExporter) -> None:
    before = ROUTE_SECONDS.count("test_route")
    with watched_route("test_route"):
        pass
    assert ROUTE_SECONDS.count("test_route") == before + 1
    assert spans.get_finished_spans()[0].attributes == {"kosmos.route": "test_route"}


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError) as caught:
        traces.trace_to("http://127.0.0.1:9/v1/traces")
    assert "kosmos[otel]" in (caught.value.remedy or "")
    assert not traces.tracing()
