"""What may be fetched and how much of it, as the operator says."""

from dataclasses import dataclass, field

from kosmos import __version__
from kosmos.errors import ConfigError
from kosmos.net.addresses import Address, Network, network_of

AGENT_TOKEN = "kosmos"  # noqa: S105 - the name by which robots.txt speaks to us
USER_AGENT = f"Kosmos/{__version__} (reads documentation; robots.txt name: {AGENT_TOKEN})"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one fetch may cost."""

    wire_bytes: int = 64 * 2**20  # as sent
    content_bytes: int = 64 * 2**20  # after decompression
    header_bytes: int = 64 * 2**10
    seconds: float = 60.0  # from the first lookup to the last byte, redirects included
    connect_seconds: float = 10.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of the way out.

    `allow_hosts` names what is allowed although it is not public: a host (`wiki.corp`), all hosts under a
    name (`*.corp`), an address or a network (`10.1.0.0/16`), each with a port if it is not in `ports`.
    """

    allow_hosts: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset({80, 443})
    schemes: frozenset[str] = frozenset({"http", "https"})
    downgrades: bool = False  # whether https may redirect to http
    user_agent: str = USER_AGENT
    proxy: str | None = None  # http://user:password@host:port; the environment is never asked
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry of `allow_hosts`, understood."""

    name: str = ""
    under: bool = False
    network: Network | None = None
    port: int | None = None

    def names(self, host: str) -> bool:
        """Whether this entry speaks of the host by name."""
        host = host.rstrip(".")
        return bool(self.name) and (host.endswith(f".{self.name}") if self.under else host == self.name)

    def holds(self, address: Address) -> bool:
        """Whether this entry speaks of the address."""
        return self.network is not None and address in self.network


def parse_allowed(entry: str) -> Allowed:
    """Understand one entry of `allow_hosts`; ConfigError when it is none."""
    text = entry.strip().lower()
    network = network_of(text)
    if network is not None:
        return Allowed(network=network)
    host, port = _split_port(text, entry)
    network = network_of(host.strip("[]"))
    if network is not None:
        return Allowed(network=network, port=port)
    name = host.removeprefix("*.").rstrip(".")
    # What ends in a number was meant as an address, and is none.
    if not name or not all(mark.isalnum() or mark in "-_." for mark in name) or _number(name):
        raise _unclear(entry)
    try:
        ascii_name = name.encode("idna").decode() if not name.isascii() else name
    except UnicodeError:
        raise _unclear(entry) from None
    return Allowed(name=ascii_name, under=host.startswith("*."), port=port)


def _split_port(text: str, entry: str) -> tuple[str, int | None]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, None
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise _unclear(entry)
    return host, int(port)


def _number(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def _unclear(entry: str) -> ConfigError:
    return ConfigError(
        f"{entry!r} is not a host that could be allowed.",
        remedy="Write `wiki.corp`, `*.corp`, `wiki.corp:8080`, `10.1.2.3` or `10.1.0.0/16`.",
    )
