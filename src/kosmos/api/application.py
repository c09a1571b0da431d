"""The HTTP application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI
from pydantic import BaseModel

from kosmos import __version__
from kosmos.api import (
    agents,
    approvals,
    chunks,
    crawls,
    credentials,
    documents,
    evaluations,
    jobs,
    markdown,
    metrics,
    openai,
    page,
    people,
    problems,
    reading,
    runs,
    sessions,
    spaces,
)
from kosmos.api.callers import TheApp
from kosmos.api.problems import PROBLEMS
from kosmos.api.rates import Pace, SharedPace
from kosmos.api.requests import RequestShell
from kosmos.app import open_app
from kosmos.config import Settings, load_settings
from kosmos.domain.clock import Clock, system_clock
from kosmos.llm.client import warm_up
from kosmos.sessions.streams import LEAVE_STREAMS
from kosmos.tasks.run_resuming import revive_dead, tend_runs
from kosmos.workers import working_beside

API = "/api/v1"
_ROUTERS = (
    people.router,
    spaces.router,
    credentials.router,
    documents.router,
    chunks.router,
    reading.router,
    jobs.router,
    crawls.router,
    agents.router,
    sessions.router,
    runs.router,
    approvals.router,
    markdown.router,
    evaluations.router,
)


class Health(BaseModel):
    """The server answers and reaches its database."""

    status: str = "ok"
    version: str = __version__


class _Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """The description of every route."""
        return problems.describe(super().openapi())


def create_api(settings: Settings, *, clock: Clock = system_clock) -> FastAPI:
    """The application, which opens Kosmos when it starts and closes it when it ends."""

    @asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[dict[str, Any]]:
        async with open_app(settings, clock=clock) as app, working_beside(app):
            api.state.kosmos = app
            await revive_dead(app.bench)  # runs of a server that is gone
            warming = asyncio.create_task(asyncio.to_thread(warm_up))
            tending = asyncio.create_task(tend_runs(app.bench))
            yield {LEAVE_STREAMS: app.streams.leave}
            tending.cancel()
            await asyncio.gather(warming, tending, return_exceptions=True)
            await api.state.pace.close()

    api = _Api(
        title="Kosmos",
        version=__version__,
        summary="Documents as knowledge that agents can rely on.",
        lifespan=lifespan,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # the ready-made page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    api.state.pace = SharedPace(Pace(settings.rate_limit), settings.redis_url)
    problems.install(api)
    for router in _ROUTERS:
        api.include_router(router, prefix=API, responses=PROBLEMS)
    api.include_router(openai.router, responses=PROBLEMS)
    api.include_router(page.router)
    api.include_router(metrics.router, responses=PROBLEMS)
    api.get("/healthz", tags=["health"])(healthz)
    api.add_middleware(RequestShell, max_body=settings.max_body_bytes)
    return api


def from_environment() -> FastAPI:
    """The application as the environment and `kosmos.toml` configure it; what `kosmos serve` runs."""
    return create_api(load_settings())


async def healthz(app: TheApp) -> Health:
    """Whether the server works. Needs no token and tells nothing else."""
    async with app.bench.db.read() as conn:
        await conn.execute(sa.text("SELECT 1"))
    return Health()
