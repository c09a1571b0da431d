"""Errors as RFC 9457 problem details. The only place where HTTP codes are chosen."""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from kosmos import errors
from kosmos.api.requests import request_id

log = logging.getLogger(__name__)

# The most special class first: the first that an error is an instance of decides.
_STATUS: tuple[tuple[type[errors.KosmosError], int], ...] = (
    (errors.TooLarge, 413),
    (errors.InvalidInput, 422),
    (errors.Unauthenticated, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.NoCredential, 409),
    (errors.SlowDown, 429),
    (errors.FetchRefused, 422),
    (errors.FetchFailed, 502),
    (errors.ProviderError, 502),
    (errors.EngineUnavailable, 503),
    (errors.KosmosError, 500),
)


AGAIN_SECONDS = 2  # an engine that restarts is back about then
_REMEDIES = {413: "Send less at a time, or raise KOSMOS_MAX_BODY_BYTES."}


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "about:blank",
                "title": "NotFound",
                "status": 404,
                "detail": "There is no space 0190b1d2-7c3a-7b3e-9d1f-0c5a3e1f2a4b.",
                "remedy": "List yours with: kosmos spaces list",
                "request_id": "5f0c6d1e",
            }
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    remedy: str | None = None
    request_id: str
    errors: list[dict[str, Any]] | None = None
    error: dict[str, Any] | None = None  # the same in the words of OpenAI, below /v1


def _described(texts: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    return {
        code: {"model": Problem, "description": text, "content": {"application/problem+json": {}}}
        for code, text in texts.items()
    }


PROBLEMS = _described(
    {
        401: "No valid token",
        403: "Seen, but not allowed",
        404: "Not there, or not for you",
        409: "Does not fit the present state",
        413: "Too large",
        422: "Not understood",
        429: "Too much in too short a time",
    }
)
AWAY = _described({502: "Somebody else does not answer, or not as it should"})


MAX_ERRORS = 20


class _ProblemResponse(JSONResponse):
    media_type = "application/problem+json"

    def render(self, content: Any) -> bytes:
        """As JSON; a message may repeat what was sent, were it half a surrogate pair."""
        return json.dumps(content, ensure_ascii=False).encode(errors="replace")


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI with problems under their own media type: FastAPI knows one type for a whole route."""
    for item in schema["paths"].values():
        for operation in item.values():
            for response in operation["responses"].values():
                content = response.get("content", {})
                if "application/problem+json" in content and "application/json" in content:
                    content["application/problem+json"] = content.pop("application/json")
    return schema


def status_of(error: errors.KosmosError) -> int:
    """The HTTP status for an error."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def problem_response(
    problem: Problem, headers: Mapping[str, str] | None = None, *, path: str = ""
) -> JSONResponse:
    """The problem as an HTTP answer; OpenAI's clients look for `error`."""
    if path.startswith("/v1/"):
        kind = "server_error" if problem.status >= 500 else "invalid_request_error"
        problem.error = {"message": problem.detail, "type": kind, "code": problem.title, "param": None}
    return _ProblemResponse(
        problem.model_dump(exclude_none=True), problem.status, headers=dict(headers or {})
    )


def install(api: FastAPI) -> None:
    """Let every error of the application leave as a problem."""
    api.add_exception_handler(errors.KosmosError, _ours)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _http)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, errors.KosmosError)  # noqa: S101
    status = status_of(error)
    if status >= 500:
        log.error("request failed", exc_info=error, extra={"request_id": request_id(request.scope)})
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if isinstance(error, errors.ProviderBusy | errors.SlowDown) and error.retry_after is not None:
        headers["Retry-After"] = str(int(error.retry_after) + 1)
    if isinstance(error, errors.EngineUnavailable):
        headers["Retry-After"] = str(AGAIN_SECONDS)
    return problem_response(
        Problem(
            title=type(error).__name__,
            status=status,
            detail=error.message,
            remedy=error.remedy,
            request_id=request_id(request.scope),
        ),
        headers,
        path=request.url.path,
    )


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    # What was sent is not repeated: it may hold a key, and may be no JSON that could be sent back.
    found = [
        {"where": [str(part)[:100] for part in e["loc"]], "what": str(e["msg"])}
        for e in error.errors()[:MAX_ERRORS]
    ]
    return problem_response(
        Problem(
            title="InvalidInput",
            status=422,
            detail="The request does not have the form that is needed.",
            remedy="See `errors`; the form is described in /api/v1/openapi.json.",
            request_id=request_id(request.scope),
            errors=found,
        ),
        path=request.url.path,
    )


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    # A body that is no UTF-8 is refused like one that is no JSON, whatever the framework calls it.
    status = 422 if error.status_code == 400 else error.status_code
    return problem_response(
        Problem(
            title="InvalidInput" if status == 422 else HTTPStatus(status).phrase,
            status=status,
            detail=f"{request.method} {request.url.path}: {error.detail}.",
            remedy=_REMEDIES.get(status, "The routes are described in /api/v1/openapi.json."),
            request_id=request_id(request.scope),
        ),
        error.headers,
        path=request.url.path,
    )
