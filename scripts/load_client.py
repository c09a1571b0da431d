"""A good client of several servers: takes them in turn, notes every try, tries again.

Does nothing when run.
"""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

PATIENCE = 120.0  # seconds until a client gives up
LONGEST_PAUSE = 4.0
RECOVERY = 3.0  # seconds after a server is back in which others may still notice that it was away
TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
KEPT = 2.0  # idle seconds of a connection; servers close theirs after five
_RETRIED = (409, 429)


class GaveUp(Exception):
    """A request brought nothing but errors for longer than anybody would wait."""


@dataclass(frozen=True, slots=True)
class Try:
    """One request as it went: `status` 0 is a connection that broke."""

    operation: str
    server: int
    began: float
    seconds: float
    status: int
    clean: bool = True  # an error is told as a problem
    detail: str = ""


@dataclass(slots=True)
class Absence:
    """A time in which something was away; open until it is back."""

    what: str
    since: float
    until: float = float("inf")
    back_after: float = 0.0

    def covers(self, one: Try) -> bool:
        """Whether a try fell into it, or into the moments in which others notice."""
        if one.status == 0 and self.what.startswith("api") and self.what != f"api{one.server}":
            return False
        return one.began + one.seconds >= self.since and one.began <= self.until + RECOVERY


@dataclass(slots=True)
class Record:
    """Everything that was tried, and what was away meanwhile."""

    tries: list[Try] = field(default_factory=list)
    felt: list[tuple[str, float, float]] = field(default_factory=list)  # operation, when, with all retries
    absences: list[Absence] = field(default_factory=list)

    def excused(self, one: Try) -> bool:
        """Whether an error is explained by something that was away; a bare 500 never is."""
        if one.status and (one.status != 503 or not one.clean):
            return False
        return any(absence.covers(one) for absence in self.absences)


class Client:
    """What the users of a load run share: connections, the turn of the servers, the record."""

    def __init__(self, bases: tuple[str, ...], record: Record, seed: int) -> None:
        self._bases = bases
        self._turn = itertools.cycle(range(len(bases)))
        self._rng = random.Random(seed)  # noqa: S311  (repeatable on purpose)
        self.record = record
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=40, keepalive_expiry=KEPT)
        self._http = httpx2.AsyncClient(timeout=TIMEOUT, limits=limits, trust_env=False)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def call(
        self, operation: str, method: str, path: str, *, token: str, expect: tuple[int, ...] = (), **more: Any
    ) -> httpx2.Response:
        """One request with its retries: the first answer that is no passing failure."""
        began = time.monotonic()
        async for attempt in self._attempts(operation):
            response = await self._try(operation, method, path, token=token, **more)
            if response is not None and (response.status_code in expect or not _passing(response)):
                self.record.felt.append((operation, began, time.monotonic() - began))
                return response
            await self._pause(attempt, response)
        raise GaveUp(operation)

    @asynccontextmanager
    async def stream(
        self,
        operation: str,
        method: str,
        path: str,
        *,
        token: str,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> AsyncIterator[httpx2.Response | None]:
        """One try at a stream; None when it cannot be had now. It is noted as the time to its first byte."""
        server = next(self._turn)
        began = time.monotonic()
        every = {**_headers(token), **(headers or {})}
        request = self._http.build_request(method, self._bases[server] + path, headers=every, **more)
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TransportError as error:
            self._note(operation, server, began, None, repr(error))
            yield None
            return
        try:
            if response.status_code >= 400:
                await response.aread()
            self._note(operation, server, began, response)
            yield response
        except httpx2.TransportError as error:  # it broke on the way
            self._note(f"{operation} (broken)", server, began, None, repr(error))
        finally:
            await response.aclose()

    async def pause(self, attempt: int) -> None:
        """Wait before trying again."""
        await self._pause(attempt, None)

    async def _attempts(self, operation: str) -> AsyncIterator[int]:
        deadline = time.monotonic() + PATIENCE
        for attempt in itertools.count():
            yield attempt
            if time.monotonic() > deadline:
                raise GaveUp(operation)

    async def _try(
        self, operation: str, method: str, path: str, *, token: str, **more: Any
    ) -> httpx2.Response | None:
        server = next(self._turn)
        began = time.monotonic()
        try:
            response = await self._http.request(
                method, self._bases[server] + path, headers=_headers(token), **more
            )
        except httpx2.TransportError as error:
            self._note(operation, server, began, None, repr(error))
            return None
        self._note(operation, server, began, response)
        return response

    def _note(
        self, operation: str, server: int, began: float, response: httpx2.Response | None, detail: str = ""
    ) -> None:
        status = response.status_code if response is not None else 0
        clean = True
        if response is not None and status >= 400:
            clean = response.headers.get("content-type", "").startswith("application/problem+json")
            detail = response.text[:300]
        seconds = time.monotonic() - began
        self.record.tries.append(Try(operation, server, began, seconds, status, clean, detail))

    async def _pause(self, attempt: int, response: httpx2.Response | None) -> None:
        told = float(response.headers.get("retry-after", 0)) if response is not None else 0.0
        own = min(LONGEST_PAUSE, 0.25 * 2**attempt) * self._rng.uniform(0.5, 1.0)
        await asyncio.sleep(max(told, own))


def _passing(response: httpx2.Response) -> bool:
    return response.status_code >= 500 or response.status_code in _RETRIED


def _headers(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}
