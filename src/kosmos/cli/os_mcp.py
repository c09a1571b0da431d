"""`kosmos os-mcp`: commands and files of one folder for an MCP client."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

_STATE_HELP = "Folder of the audit log and the used approvals; `os-mcp` in the home if not given."


def os_mcp(
    root: Annotated[Path, typer.Option("--root", help="The workspace: nothing outside it can be reached.")],
    policy: Annotated[Path | None, typer.Option("--policy", help="TOML file: programs and limits.")] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="Key that approvals are signed with.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help=_STATE_HELP)] = None,
) -> None:
    """Serve a sandboxed workspace to an MCP client on standard input and output."""
    from kosmos.config import load_settings

    place = state or load_settings().home / "os-mcp"
    # By name: the rooms of one row know nothing of each other.
    server = import_module("kosmos.mcp.os_server")
    server.serve(root, state=place, policy_file=policy, key_file=key_file)
