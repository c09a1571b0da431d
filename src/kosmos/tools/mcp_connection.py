"""One warm connection to an MCP server: opened when it is needed, opened again after a crash."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from kosmos.errors import ConfigError, EngineUnavailable, KosmosError
from kosmos.net import Policy, guarded_transport
from kosmos.tools.mcp_config import Entry

if TYPE_CHECKING:
    from mcp import Client

log = logging.getLogger(__name__)
OPEN_SECONDS = 30.0
MOST_STARTS, WITHIN = 5, 60.0  # a server that dies more often than that is left alone for a while
MOST_TOOLS = 500


class Connection:
    """A task of its own holds the connection; whoever calls only borrows it."""

    def __init__(self, entry: Entry, policy: Policy) -> None:
        self.entry = entry
        self._policy = policy
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._close = asyncio.Event()
        self._starts: list[float] = []

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools as the server defines them."""
        client = await self._borrow()
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while len(found) < MOST_TOOLS:
            page = await self._guarded(client.list_tools(cursor=cursor))
            found += [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        return found[:MOST_TOOLS]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool, once: what a crash interrupts is never called a second time by itself."""
        client = await self._borrow()
        return await self._guarded(client.call_tool(name, dict(arguments)))

    async def close(self) -> None:
        """Let the server go."""
        self._close.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=10)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._task = self._client = None

    async def _borrow(self) -> "Client":
        async with self._lock:
            if self._task is not None and self._task.done():
                self._task = self._client = None
            if self._client is None:
                await self._start()
            if self._client is None:
                raise self._down("it did not answer")
            return self._client

    async def _start(self) -> None:
        now = time.monotonic()
        self._starts = [at for at in self._starts if now - at < WITHIN]
        if len(self._starts) >= MOST_STARTS:
            raise self._down(f"it ended {MOST_STARTS} times within a minute")
        self._starts.append(now)
        self._close = asyncio.Event()
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(ready))
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                self._client = await ready
        except TimeoutError:
            self._task.cancel()
            raise self._down(f"it did not answer within {OPEN_SECONDS:g} s") from None

    async def _hold(self, ready: "asyncio.Future[Client]") -> None:
        """Open the connection, keep it, close it: all in this one task, as its library wants it."""
        try:
            async with self._http() as http, self._opened(http) as client:
                ready.set_result(client)
                await self._close.wait()
        except Exception as error:  # noqa: BLE001 - whatever a foreign server brings about
            if not ready.done():
                ready.set_exception(error if isinstance(error, KosmosError) else self._down(_plain(error)))
            else:
                log.warning("an MCP server is gone", extra={"server": self.entry.name})
        finally:
            if not ready.done():
                ready.cancel()
            self._client = None

    def _http(self) -> httpx2.AsyncClient:
        """The guarded way out; local servers only where the entry allows them."""
        from dataclasses import replace

        policy = self._policy
        if self.entry.url is not None and self.entry.allow_local:
            address = httpx2.URL(self.entry.url)
            host = f"[{address.host}]" if ":" in address.host else address.host
            port = address.port or (443 if address.scheme == "https" else 80)
            policy = replace(policy, allow_hosts=(*policy.allow_hosts, f"{host}:{port}"))
        return httpx2.AsyncClient(
            transport=guarded_transport(policy),
            headers=dict(self.entry.headers),
            timeout=httpx2.Timeout(self.entry.seconds, read=None),
            trust_env=False,
        )

    def _opened(self, http: httpx2.AsyncClient) -> "Client":
        try:
            from mcp import Client, StdioServerParameters
            from mcp.client.streamable_http import streamable_http_client
        except ImportError:
            raise ConfigError("MCP is not installed.", remedy="Run: pip install 'kosmos[ops]'") from None
        entry = self.entry
        if entry.url is not None:
            transport: Any = streamable_http_client(entry.url, http_client=http)
        else:
            env = dict(entry.env)
            if entry.workspace_root is not None:
                env.setdefault("WORKSPACE_ROOT", str(entry.workspace_root))
            transport = StdioServerParameters(
                command=entry.command or "", args=list(entry.args), env=env, cwd=entry.cwd
            )
        return Client(transport, read_timeout_seconds=entry.seconds, list_roots_callback=self._roots)

    async def _roots(self, context: Any) -> Any:  # noqa: ARG002 - the shape of a callback
        """The one folder that a server is told of."""
        from mcp.types import ListRootsResult, Root

        root = self.entry.workspace_root
        return ListRootsResult(roots=[Root(uri=root.as_uri(), name=root.name)] if root else [])  # type: ignore[arg-type]

    async def _guarded(self, work: Any) -> Any:
        """What the server answers within its time; a connection that broke is let go."""
        try:
            async with asyncio.timeout(self.entry.seconds):
                return await work
        except TimeoutError:
            raise self._down(f"it did not answer within {self.entry.seconds:g} s") from None
        except Exception as error:  # noqa: BLE001 - whatever a foreign server brings about
            if _is_refusal(error):
                raise self._down(_plain(error)) from None
            self._close.set()
            self._client = None
            raise self._down(f"the connection broke ({_plain(error)})") from None

    def _down(self, why: str) -> EngineUnavailable:
        return EngineUnavailable(
            f"The MCP server {self.entry.name} failed: {why}.", remedy="Look with: kosmos tools list"
        )


def _is_refusal(error: BaseException) -> bool:
    """Whether the server answered that it will not, and is still there."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.error.code != CONNECTION_CLOSED


def _plain(error: BaseException) -> str:
    """The innermost reason in one line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return " ".join(str(error).split())[:300] or type(error).__name__
