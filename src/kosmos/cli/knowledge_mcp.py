"""`kosmos mcp`: the documents for any MCP client."""

import asyncio
from importlib import import_module
from typing import Annotated

import typer


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP at /mcp; every request needs a token.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to bind to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to bind to.")] = 8421,
) -> None:
    """Serve search, read, grep, outline and ask to MCP clients: on stdin and stdout, or over HTTP."""
    from kosmos.config import load_settings
    from kosmos.config.logs import configure_logging

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    # By name: the rooms of one row know nothing of each other.
    server = import_module("kosmos.mcp.knowledge")
    work = server.serve_http(settings, host=host, port=port) if http else server.serve_stdio(settings)
    asyncio.run(work)
