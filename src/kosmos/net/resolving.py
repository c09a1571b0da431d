"""Names to addresses, once for each connection."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

from kosmos.errors import FetchFailed

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

# The system says these when the name itself is at fault, not the way to the name server.
_FINAL = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """All addresses of a name as the system knows them, best first; FetchFailed when there are none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise FetchFailed(
            f"The host {host} cannot be found: {error.strerror or error}.",
            retryable=error.errno not in _FINAL,
            remedy="Check the spelling of the address and this machine's name server.",
        ) from error
    except (UnicodeError, OSError) as error:
        raise FetchFailed(f"The host {host} cannot be looked up.", remedy="Check the address.") from error
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
