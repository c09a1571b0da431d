"""Keeps a fuzz run on this machine, whatever address was generated."""

import ipaddress
import socket
import sys
from typing import Any

NEAR = frozenset(("localhost", "127.0.0.1", "::1", "", None))


def stay_on_loopback() -> None:
    """From now on no name is looked up and no connection made beyond loopback; it cannot be undone."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo" and not _near(arguments[0]):
        raise socket.gaierror(socket.EAI_NONAME, "no names are looked up here")
    away = event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple)
    if away and not _near(arguments[1][0]):
        raise PermissionError(f"no connections beyond loopback: {arguments[1]!r}")


def _near(host: Any) -> bool:
    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    if name in NEAR:
        return True
    try:
        return ipaddress.ip_address(str(name).split("%")[0]).is_loopback
    except ValueError:
        return False
