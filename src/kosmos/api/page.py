"""The page at `/`: its files, and how somebody signs in to it. All else it does through the API."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from fastapi import APIRouter, Request, Response
from pydantic import Field, SecretStr
from starlette.exceptions import HTTPException

from kosmos.accounts.links import PAGE_DAYS, use_link
from kosmos.accounts.tokens import authenticate
from kosmos.api.callers import TheApp, cookie_name, refuse_cross_site
from kosmos.api.shapes import Form

router = APIRouter(include_in_schema=False)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
# Nothing inline, nothing foreign; HTML from a string only through the one policy of `parts/html.js`.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types kosmos"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page."""

    content: bytes
    media_type: str
    tag: str


class SignIn(Form):
    """The code of a link, or a token."""

    code: str | None = Field(default=None, max_length=200)
    token: SecretStr | None = Field(default=None, max_length=200)


@cache
def load_page() -> dict[str, Asset]:
    """Every file of the page by its path; nothing else can be asked for."""
    found: dict[str, Asset] = {}
    _collect(files("kosmos") / "web", "", found)
    return found


def _collect(folder: Traversable, prefix: str, found: dict[str, Asset]) -> None:
    for item in folder.iterdir():
        path = f"{prefix}{item.name}"
        if item.is_dir():
            _collect(item, f"{path}/", found)
        elif (kind := _TYPES.get(PurePosixPath(item.name).suffix)) is not None:
            content = item.read_bytes()
            found[path] = Asset(content, kind, f'"{hashlib.sha256(content).hexdigest()[:24]}"')


@router.get("/")
async def front(request: Request) -> Response:
    """The page."""
    return _give(request, "index.html")


@router.get("/page/{path:path}")
async def part(request: Request, path: str) -> Response:
    """A file of the page."""
    return _give(request, path)


def _give(request: Request, path: str) -> Response:
    asset = load_page().get(path)
    if asset is None:
        raise HTTPException(404)
    headers = {**_HEADERS, "ETag": asset.tag}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)


@router.post("/page/sign-in", status_code=204)
async def sign_in(app: TheApp, request: Request, form: SignIn) -> Response:
    """Take a link or a token, and give the cookie that stands for it."""
    refuse_cross_site(request)
    now = app.bench.clock()
    if form.token is not None:
        text = form.token.get_secret_value()
        async with app.bench.db.read() as conn:
            await authenticate(conn, text, now)
    else:
        async with app.bench.db.write() as conn:
            text = await use_link(conn, form.code or "", now)
    answer = Response(status_code=204)
    answer.set_cookie(
        cookie_name(app),
        text,
        max_age=PAGE_DAYS * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/page/sign-out", status_code=204)
async def sign_out(app: TheApp, request: Request) -> Response:
    """Forget the cookie."""
    refuse_cross_site(request)
    answer = Response(status_code=204)
    answer.delete_cookie(cookie_name(app), httponly=True, samesite="strict")
    return answer
