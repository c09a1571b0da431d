"""An MCP server for tests: `note` writes a line into a file, `look` reads it, `crash` ends the process."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

FILE = Path(sys.argv[1])
server = MCPServer("notebook", version=os.environ.get("NOTEBOOK_VERSION", "1"), log_level="ERROR")


def write(line: str) -> None:
    """Put a line at the end."""
    with FILE.open("a") as file:
        file.write(f"{line}\n")


@server.tool(description=os.environ.get("NOTEBOOK_WORDS", "Write a line."))
async def note(line: str, seconds: float = 0) -> str:
    write(line)
    await asyncio.sleep(seconds)
    return f"wrote {line}"


@server.tool()
def look() -> str:
    """Read all lines."""
    return FILE.read_text() if FILE.exists() else "(empty)"


@server.tool()
def crash() -> str:
    """End at once."""
    os._exit(3)


@server.tool()
async def sleep(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
def surroundings() -> str:
    """What the server was started with."""
    kept = {key: os.environ[key] for key in sorted(os.environ) if key != "LC_CTYPE"}
    return f"{Path.cwd()} {kept}"


server.run("stdio")
