"""The decision whether an address may be fetched: on its text first, on what it resolves to second."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

from kosmos.errors import FetchRefused
from kosmos.net.addresses import Address, Fault, fault_of, plain_address
from kosmos.net.policy import Policy, parse_allowed
from kosmos.net.resolving import Resolver, system_resolver

MAX_URL = 8000
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# What some resolvers read as a number, and so as an address: 2130706433, 0x7f.1, 127.1, 0177.0.0.1
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """An address that may be fetched as far as its text says."""

    url: httpx2.URL
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        """Who answers: scheme, host and port."""
        return self.scheme, self.host, self.port


class Guard:
    """Applies a policy to texts of addresses, and to what names resolve to."""

    def __init__(self, policy: Policy, resolver: Resolver = system_resolver) -> None:
        self.policy = policy
        self._resolver = resolver
        self._allowed = tuple(parse_allowed(entry) for entry in policy.allow_hosts)

    def target(self, url: str | httpx2.URL) -> Target:
        """What an address asks for; FetchRefused when its text alone forbids it."""
        parsed = _parsed(url)
        if parsed.scheme not in self.policy.schemes or parsed.scheme not in _PORTS:
            raise _refused(parsed, f"{parsed.scheme or 'an address without scheme'} is not allowed")
        if parsed.userinfo:
            raise _refused(parsed, "it carries a user name or password", "Leave out what stands before `@`.")
        host, port = _host(parsed), parsed.port or _PORTS[parsed.scheme]
        target = Target(parsed, parsed.scheme, host, port)
        if port not in self.policy.ports and port not in {entry.port for entry in self._allowed}:
            raise self._wrong_port(target)
        address = plain_address(host)
        if address is not None:
            self._check(target.host, port, address)
        return target

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """The addresses to connect to; FetchRefused unless every single one is allowed."""
        literal = plain_address(host)
        texts: Sequence[str] = (host,) if literal else await self._resolver(host, port)
        found = tuple(_understood(host, text) for text in texts)
        if not found:
            raise FetchRefused(f"{host} has no address.", remedy="Check the spelling of the address.")
        for address in found:
            self._check(host, port, address)
        return tuple(dict.fromkeys(found))

    def _check(self, host: str, port: int, address: Address) -> None:
        named = [entry for entry in self._allowed if entry.names(host) and entry.port in {None, port}]
        inside = [entry for entry in self._allowed if entry.holds(address) and entry.port in {None, port}]
        fault = fault_of(address)
        if fault and not inside and (fault.grave or not named):
            raise _not_public(host, address, fault)
        if port not in self.policy.ports and all(entry.port is None for entry in (*named, *inside)):
            raise FetchRefused(
                f"Port {port} of {host} is not allowed.", remedy=f"An operator can allow `{host}:{port}`."
            )

    def _wrong_port(self, target: Target) -> FetchRefused:
        usual = ", ".join(str(port) for port in sorted(self.policy.ports))
        return _refused(
            target.url,
            f"port {target.port} is not one of {usual}",
            f"An operator can allow `{target.host}:{target.port}`.",
        )


def shown(url: str | httpx2.URL) -> str:
    """An address for messages and logs: short, without credentials and query."""
    text = str(url)
    head = re.sub(r"[?#].*", "", text, flags=re.DOTALL)
    return re.sub(r"//[^/@]*@", "//", head)[:200]


def _parsed(url: str | httpx2.URL) -> httpx2.URL:
    if isinstance(url, str) and (len(url) > MAX_URL or "\\" in url):
        raise _refused(url[:200], "it is too long or contains a backslash")
    try:
        return httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise _refused(url, "it is not a complete address", "Write it like https://host/path.") from None


def _host(url: httpx2.URL) -> str:
    """The one spelling of the host; anything that another reader could take for something else is refused."""
    host = url.raw_host.decode("ascii").lower()
    if plain_address(host) is not None:
        return host
    name = host.removesuffix(".")
    if not _NAME.fullmatch(name):
        raise _refused(url, "its host is not a name and not an address")
    if _NUMBER.fullmatch(name):
        raise _refused(url, "its host is a disguised number", "Write IPv4 as four decimal numbers.")
    return host


def _understood(host: str, text: str) -> Address:
    address = plain_address(text)
    if address is None:  # an address with a zone is one of the local link
        raise FetchRefused(f"{host} resolves to {text[:60]}, which is not a public address.")
    return address


def _refused(url: str | httpx2.URL, why: str, remedy: str | None = None) -> FetchRefused:
    return FetchRefused(f"{shown(url)} may not be fetched: {why}.", remedy=remedy)


def _not_public(host: str, address: Address, fault: Fault) -> FetchRefused:
    entry = str(address) if fault.grave else host
    spelled = f"{host} is" if host == str(address) else f"{host} resolves to {address},"
    return FetchRefused(
        f"{spelled} {fault.what}; it may not be fetched.",
        remedy=f"If that is wanted, an operator can allow `{entry}` in `allow_hosts`.",
    )
