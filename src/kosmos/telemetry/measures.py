"""What this process counts. Whoever does something counts it here; `/metrics` shows it."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from kosmos.domain.jobs import Spent
from kosmos.telemetry.metrics import Counter, Family, Histogram

HTTP_REQUESTS = Counter("kosmos_http_requests_total", "Answered requests.", ("method", "route", "status"))
HTTP_SECONDS = Histogram(
    "kosmos_http_request_seconds", "Seconds until the last byte; streams are not in it.", ("method", "route")
)
STREAMS_OPEN = Counter("kosmos_streams_open", "Event streams open now.", ("route",), kind="gauge")
STREAMS = Counter("kosmos_streams_total", "Event streams begun.", ("route",))
JOBS_CLAIMED = Counter("kosmos_jobs_claimed_total", "Jobs taken by workers of this process.", ("type",))
JOBS_ENDED = Counter(
    "kosmos_job_claims_ended_total",
    "Claims that ended, by the status that the job has since; lost: not this worker's any more.",
    ("type", "status"),
)
JOB_SECONDS = Histogram("kosmos_job_claim_seconds", "Seconds that a job was held at once.", ("type",))
LEASES_LOST = Counter("kosmos_job_leases_lost_total", "Claims that were taken away.", ("type",))
RUNS_ENDED = Counter("kosmos_runs_ended_total", "Runs of agents that ended.", ("status",))
MODEL_CALLS = Counter("kosmos_model_calls_total", "Answered calls of chat models.", ("type",))
MODEL_TOKENS = Counter(
    "kosmos_model_tokens_total", "Tokens of those calls; cached ones are also input.", ("type", "kind")
)
MODEL_COST = Counter("kosmos_model_cost_total", "Their cost, where credentials name prices.", ("type",))
MODEL_SECONDS = Histogram("kosmos_model_call_seconds", "Seconds of one call of a chat model.", ("type",))
ROUTE_SECONDS = Histogram(
    "kosmos_retrieval_route_seconds", "Seconds that one route of a search took.", ("route",)
)
SEARCH_SECONDS = Histogram("kosmos_search_seconds", "Seconds of one search over all its routes.")
CACHE_LOOKUPS = Counter("kosmos_cache_lookups_total", "Looks into caches.", ("cache", "found"))
REFUSALS = Counter("kosmos_refusals_total", "Requests refused by a limit.", ("limit",))

_ALL = (
    HTTP_REQUESTS,
    HTTP_SECONDS,
    STREAMS_OPEN,
    STREAMS,
    JOBS_CLAIMED,
    JOBS_ENDED,
    JOB_SECONDS,
    LEASES_LOST,
    RUNS_ENDED,
    MODEL_CALLS,
    MODEL_TOKENS,
    MODEL_COST,
    MODEL_SECONDS,
    ROUTE_SECONDS,
    SEARCH_SECONDS,
    CACHE_LOOKUPS,
    REFUSALS,
)


def families() -> list[Family]:
    """Everything that was counted."""
    return [metric.family() for metric in _ALL]


def count_lookups(cache: str, *, hits: int = 0, misses: int = 0) -> None:
    """Note how often a cache had what was looked for."""
    for found, count in (("yes", hits), ("no", misses)):
        if count:
            CACHE_LOOKUPS.add(cache, found, by=count)


def count_model_call(kind: str, spent: Spent) -> None:
    """Note an answered call of a model and what it took."""
    MODEL_CALLS.add(kind)
    for name, tokens in (
        ("input", spent.prompt_tokens),
        ("cached", spent.cached_tokens),
        ("output", spent.output_tokens),
    ):
        if tokens:
            MODEL_TOKENS.add(kind, name, by=tokens)
    if spent.cost:
        MODEL_COST.add(kind, by=spent.cost)


@contextmanager
def timed(histogram: Histogram, *labels: str) -> Iterator[None]:
    """Count how long the block takes, however it ends."""
    began = perf_counter()
    try:
        yield
    finally:
        histogram.observe(perf_counter() - began, *labels)
