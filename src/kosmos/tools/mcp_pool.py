"""All MCP servers of an instance, kept warm. Only what is trusted is offered."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kosmos.errors import KosmosError, NotFound
from kosmos.net import Policy
from kosmos.tools.contract import Tool
from kosmos.tools.mcp_config import Entry, load_entries
from kosmos.tools.mcp_connection import Connection
from kosmos.tools.mcp_tools import make_mcp_tool
from kosmos.tools.mcp_trust import Trusted, TrustFile, changed_tools, definition_hash, entry_trusted

log = logging.getLogger(__name__)
Definitions = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A server as it is now. `untrusted` says which tools are not offered, and why; `error` why none is."""

    entry: Entry
    tools: Definitions = ()
    untrusted: Mapping[str, str] = ()  # type: ignore[assignment]
    error: str = ""


class McpPool:
    """The servers of one configuration file. The file is read anew when it has changed."""

    def __init__(self, config: Path, trust: Path, policy: Policy | None = None) -> None:
        self._config, self._policy = config, policy or Policy()
        self._trust = TrustFile(trust)
        self._connections: dict[str, Connection] = {}
        self._lock = asyncio.Lock()
        self._definitions: dict[str, Definitions] = {}
        self._seen: tuple[float, list[Entry]] = (-1.0, [])

    def entries(self) -> list[Entry]:
        """The servers that are switched on."""
        stamp = self._config.stat().st_mtime if self._config.is_file() else 0.0
        if stamp != self._seen[0]:
            found, warnings = load_entries(self._config)
            for warning in warnings:
                log.warning("%s", warning)
            self._seen = (stamp, found)
        return self._seen[1]

    async def tools(self) -> list[Tool]:
        """The tools that may be offered: those of trusted servers, as they were when they were trusted."""
        known = await asyncio.to_thread(self._trust.read)
        entries = [entry for entry in self.entries() if entry_trusted(entry, known)]
        surveyed = await asyncio.gather(*(self._survey(entry, known) for entry in entries))
        return [
            make_mcp_tool(item.entry, tool, self._connection_of(item.entry).call)
            for item in surveyed
            for tool in item.tools
            if tool["name"] not in item.untrusted
        ]

    async def survey(self, *, start_untrusted: bool = False) -> list[Surveyed]:
        """Every server with its tools. One that is not trusted is started only if that is asked for."""
        known = await asyncio.to_thread(self._trust.read)
        made = []
        for entry in self.entries():
            if start_untrusted or entry_trusted(entry, known):
                made.append(await self._survey(entry, known))
            else:
                made.append(Surveyed(entry, error="not trusted: kosmos tools trust " + entry.name))
        return made

    async def trust(self, name: str) -> Surveyed:
        """Trust a server and all its tools as they are now."""
        entry = self._entry(name)
        tools = await self._connection_of(entry).list_tools()
        hashes = {str(tool["name"]): definition_hash(tool) for tool in tools}
        await asyncio.to_thread(self._trust.write, name, Trusted(entry.hash, hashes))
        return Surveyed(entry, tools, {})

    async def close(self) -> None:
        """Let all servers go."""
        connections, self._connections = list(self._connections.values()), {}
        await asyncio.gather(*(one.close() for one in connections), return_exceptions=True)

    def _entry(self, name: str) -> Entry:
        for entry in self.entries():
            if entry.name == name:
                return entry
        raise NotFound(f"There is no MCP server {name!r}.", remedy=f"Add it to {self._config}.")

    async def _survey(self, entry: Entry, known: Mapping[str, Trusted]) -> Surveyed:
        try:
            # Asked every time: a definition that changes behind our back must not slip in.
            tools = await self._connection_of(entry).list_tools()
        except KosmosError as error:
            log.warning("an MCP server cannot be used: %s", error.message)
            return Surveyed(entry, error=error.message)
        return Surveyed(entry, tools, changed_tools(entry, tools, known))

    def _connection_of(self, entry: Entry) -> Connection:
        """The warm connection; a changed entry gets a new one."""
        found = self._connections.get(entry.hash)
        if found is None:
            found = self._connections[entry.hash] = Connection(entry, self._policy)
        return found
