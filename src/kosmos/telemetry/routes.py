"""How long each route of a search takes."""

from collections.abc import Iterator
from contextlib import contextmanager

from kosmos.telemetry.measures import ROUTE_SECONDS, timed
from kosmos.telemetry.traces import span


@contextmanager
def watched_route(route: str) -> Iterator[None]:
    """Count the time of the block for a route, and trace it."""
    with span("search route", route=route), timed(ROUTE_SECONDS, route):
        yield
