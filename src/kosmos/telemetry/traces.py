"""Spans for whoever collects traces. Off unless a process turns them on; then by OpenTelemetry.

Attributes are ids, types and counts, never texts of users.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from kosmos.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

Attribute = str | int | float | bool
NAME = "kosmos"


class _Switch:
    """Whether spans are made, and by whom."""

    tracer: Any = None
    provider: Any = None


def tracing() -> bool:
    """Whether spans are made."""
    return _Switch.tracer is not None


def span(name: str, **attributes: Attribute | None) -> AbstractContextManager[Any]:
    """A span around a block; nothing at all while traces are off."""
    if _Switch.tracer is None:
        return nullcontext()
    return _span(name, {key: value for key, value in attributes.items() if value is not None})


@contextmanager
def _span(name: str, attributes: dict[str, Attribute]) -> Iterator[Any]:
    """The message of an error stays out: it may repeat what a user wrote."""
    from opentelemetry.trace import Status, StatusCode

    names = {f"kosmos.{key}": value for key, value in attributes.items()}
    with _Switch.tracer.start_as_current_span(
        name, attributes=names, record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield made
        except BaseException as error:
            made.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def add(made: Any, **attributes: Attribute | None) -> None:
    """Say more about a span that is open."""
    if made is not None:
        for key, value in attributes.items():
            if value is not None:
                made.set_attribute(f"kosmos.{key}", value)


def begin(name: str, **attributes: Attribute | None) -> Any:
    """A span that is ended by `end`: for generators, in which none can be the current one."""
    if _Switch.tracer is None:
        return None
    made = _Switch.tracer.start_span(name)
    add(made, **attributes)
    return made


def end(made: Any) -> None:
    """End a span of `begin`."""
    if made is not None:
        made.end()


def trace_to(endpoint: str) -> None:
    """Send spans to a collector over HTTP (OTLP) from now on; once for a process."""
    if tracing():
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise ConfigError(
            "Traces are wanted, but OpenTelemetry is not installed.", remedy="Run: pip install 'kosmos[otel]'"
        ) from None
    turn_on(OTLPSpanExporter(endpoint=endpoint), at_once=False)


def turn_on(exporter: "SpanExporter", *, at_once: bool) -> None:
    """Make spans, for this exporter; `at_once` without waiting for more of them."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": NAME}), shutdown_on_exit=True)
    provider.add_span_processor(SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(exporter))
    _Switch.provider, _Switch.tracer = provider, provider.get_tracer(NAME)


def turn_off() -> None:
    """Send what is left, and make no more spans."""
    provider, _Switch.provider, _Switch.tracer = _Switch.provider, None, None
    if provider is not None:
        provider.shutdown()
