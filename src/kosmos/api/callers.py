"""What routes receive: the open application and who is calling."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from kosmos.accounts.tokens import authenticate
from kosmos.api.rates import SharedPace
from kosmos.api.requests import note_caller
from kosmos.app import App
from kosmos.domain.accounts import Principal
from kosmos.errors import Forbidden, Unauthenticated

_bearer = HTTPBearer(auto_error=False, description="An API token: `kosmos tokens create NAME`")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
_READING = {"GET", "HEAD"}


def _app(request: Request) -> App:
    app: App = request.app.state.kosmos
    return app


def cookie_name(app: App) -> str:
    """The cookie of the page. Cookies know no ports, so that two servers of a machine need two names."""
    return f"kosmos_{app.settings.port}"


def refuse_cross_site(request: Request) -> None:
    """Let only the page itself use a cookie: browsers say from where a request comes."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    reading = request.method in _READING
    if site is not None:
        allowed = own and (site == "same-origin" or (site == "none" and reading))
    else:
        allowed = own and (origin is not None or reading)
    if not allowed:
        raise Forbidden(
            "The request comes from another site.", remedy="Use the page itself, or send a token as a header."
        )


async def _caller(
    request: Request,
    app: Annotated[App, Depends(_app)],
    given: Bearer,
) -> Principal:
    text = given.credentials if given else None
    if text is None and "authorization" not in request.headers:
        text = request.cookies.get(cookie_name(app))
        if text is not None:
            refuse_cross_site(request)
    if text is None:
        raise Unauthenticated(remedy="Send it as: Authorization: Bearer kosmos_…")
    async with app.bench.db.read() as conn:
        who = await authenticate(conn, text, app.bench.clock())
    note_caller(request.scope, who.user.id, who.token_id)
    pace: SharedPace = request.app.state.pace
    await pace.take(who.token_id)
    return who


TheApp = Annotated[App, Depends(_app)]
Caller = Annotated[Principal, Depends(_caller)]
Id = Annotated[str, Path(pattern=r"^[0-9a-zA-Z-]{1,36}$", examples=["0190b1d2-7c3a-7b3e-9d1f-0c5a3e1f2a4b"])]
After = Annotated[
    str, Query(pattern=r"^[0-9a-zA-Z-]{0,36}$", description="Id of the last item already seen.")
]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many items at most.")]
