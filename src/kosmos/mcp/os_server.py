"""The OS server: commands and files of one workspace for any MCP client, over standard input and output."""

import logging
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from kosmos import __version__
from kosmos.errors import ConfigError, KosmosError
from kosmos.mcp.os_calls import OsCalls, Result, open_calls
from kosmos.sandbox.grants import load_key
from kosmos.sandbox.policy import default_policy, load_policy

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

logger = logging.getLogger(__name__)
Argv = Annotated[list[str], Field(min_length=1, max_length=256, description="The program and its arguments")]
Approval = Annotated[str | None, Field(description="The approval of exactly this call, when it needs one")]
Place = Annotated[str, Field(max_length=4096, description="A path relative to the workspace")]


def build_server(calls: OsCalls) -> "MCPServer[Any]":
    """The server with its tools; every check is made when a tool is called."""
    from mcp.server.mcpserver import MCPServer

    server: MCPServer[Any] = MCPServer("kosmos-os", version=__version__, log_level="WARNING")
    _add_reading(server, calls)
    _add_changing(server, calls)
    return server


async def _told(work: Awaitable[Result]) -> Result:
    """The result, or the words of our own errors: any other exception says nothing of what is inside."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        return await work
    except KosmosError as error:
        raise ToolError(f"{error.message} {error.remedy or ''}".strip()) from None
    except Exception:
        logger.exception("a tool failed")
        raise ToolError("The tool failed; the server's log tells more.") from None


def _add_reading(server: "MCPServer[Any]", calls: OsCalls) -> None:
    from mcp.types import ToolAnnotations

    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)

    @server.tool(annotations=reads)
    async def read_file(path: Place, offset: int = 0, limit: int | None = None) -> Result:
        """Read part of a file of the workspace; offset and limit count bytes."""
        return await _told(calls.read_file(path, offset=offset, limit=limit))

    @server.tool(annotations=reads)
    async def list_files(path: Place = ".") -> Result:
        """List the names of a folder of the workspace."""
        return await _told(calls.list_files(path))

    @server.tool(annotations=reads)
    async def search_files(
        text: str, path: Place = ".", ignore_case: bool = False, limit: int = 200
    ) -> Result:
        """Find the lines of the files below a folder that hold a text to the letter."""
        return await _told(calls.search_files(text, path, ignore_case=ignore_case, limit=limit))

    @server.tool(annotations=reads)
    async def system_info() -> Result:
        """Say what this machine is, which programs may run, and how they are held."""
        return await _told(calls.system_info())


def _add_changing(server: "MCPServer[Any]", calls: OsCalls) -> None:
    from mcp.types import ToolAnnotations

    changes = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)

    # No hints: what a command does is read from its words, call by call.
    @server.tool()
    async def run_command(argv: Argv, stdin: str = "", approval: Approval = None) -> Result:
        """Run a program in the sandbox, as a list of words; there is no shell."""
        return await _told(calls.run_command(argv, stdin=stdin, approval=approval))

    @server.tool(annotations=changes)
    async def write_file(path: Place, content: str, approval: Approval = None) -> Result:
        """Write a whole file of the workspace."""
        return await _told(calls.write_file(path, content, approval=approval))

    @server.tool(annotations=changes)
    async def move_file(source: Place, target: Place, approval: Approval = None) -> Result:
        """Move a file or folder inside the workspace; never over another."""
        return await _told(calls.move_file(source, target, approval=approval))

    @server.tool(annotations=changes)
    async def delete_file(path: Place, approval: Approval = None) -> Result:
        """Delete a file or an empty folder of the workspace."""
        return await _told(calls.delete_file(path, approval=approval))


def serve(root: Path, *, state: Path, policy_file: Path | None = None, key_file: Path | None = None) -> None:
    """Serve one workspace on standard input and output until the client goes."""
    if not root.is_dir():
        raise ConfigError(f"{root} is no folder.", remedy="Give the workspace by --root.")
    if state.resolve().is_relative_to(root.resolve()):
        raise ConfigError(
            "The audit log would be inside the workspace, where commands can change it.",
            remedy="Give a folder outside it by --state.",
        )
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError:
        raise ConfigError("The MCP library is not installed.", remedy="pip install 'kosmos[ops]'") from None
    policy = load_policy(policy_file) if policy_file else default_policy()
    calls = open_calls(root, state=state, policy=policy, grants_key=load_key(key_file))
    build_server(calls).run("stdio")
