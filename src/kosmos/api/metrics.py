"""The route that Prometheus reads."""

import hmac
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from kosmos.accounts.access import require_admin
from kosmos.accounts.tokens import authenticate
from kosmos.api.callers import Bearer, TheApp
from kosmos.app import App
from kosmos.errors import Unauthenticated
from kosmos.tasks.standing import StandingCache, gauges
from kosmos.telemetry.measures import families
from kosmos.telemetry.metrics import CONTENT_TYPE, exposition

router = APIRouter(tags=["health"])
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Counters of this process, gauges of the instance.", "content": {"text/plain": {}}}
}


def _cache(request: Request) -> StandingCache:
    """One look at the database for all who ask within some seconds."""
    state = request.app.state
    if not hasattr(state, "standing"):
        state.standing = StandingCache()
    cache: StandingCache = state.standing
    return cache


@router.get("/metrics", response_class=Response, responses=_TEXT)
async def metrics(app: TheApp, given: Bearer, cache: Annotated[StandingCache, Depends(_cache)]) -> Response:
    """What this process has counted, and how the instance stands. With KOSMOS_METRICS_TOKEN, or a token of an
    administrator."""
    await _admit(app, given.credentials if given else None)
    lines = exposition([*gauges(await cache.get(app.bench)), *families()])
    return Response(lines, media_type=CONTENT_TYPE)


async def _admit(app: App, text: str | None) -> None:
    if text is None:
        raise Unauthenticated(remedy="Send it as: Authorization: Bearer …")
    secret = app.settings.metrics_token
    if secret is not None and hmac.compare_digest(secret.get_secret_value().encode(), text.encode()):
        return
    async with app.bench.db.read() as conn:
        require_admin(await authenticate(conn, text, app.bench.clock()))
