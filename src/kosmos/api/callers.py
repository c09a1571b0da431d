"""What routes receive: the open application and who is calling."""

from typing import Annotated

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from kosmos.accounts.tokens import authenticate
from kosmos.app import App
from kosmos.domain.accounts import Principal
from kosmos.errors import Unauthenticated

_bearer = HTTPBearer(auto_error=False, description="An API token: `kosmos tokens create NAME`")


def _app(request: Request) -> App:
    app: App = request.app.state.kosmos
    return app


async def _caller(
    app: Annotated[App, Depends(_app)],
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    if given is None:
        raise Unauthenticated(remedy="Send it as: Authorization: Bearer kosmos_…")
    async with app.bench.db.read() as conn:
        return await authenticate(conn, given.credentials, app.bench.clock())


TheApp = Annotated[App, Depends(_app)]
Caller = Annotated[Principal, Depends(_caller)]
Id = Annotated[str, Path(pattern=r"^[0-9a-zA-Z-]{1,36}$", examples=["0190b1d2-7c3a-7b3e-9d1f-0c5a3e1f2a4b"])]
After = Annotated[
    str, Query(pattern=r"^[0-9a-zA-Z-]{0,36}$", description="Id of the last item already seen.")
]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many items at most.")]
