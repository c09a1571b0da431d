"""Which addresses belong to the public internet, and what the others are.

Own tables instead of `is_global` of the standard library: its answers changed between patch releases,
and it does not look inside addresses that carry another one.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an address is not public. A grave one cannot be allowed by naming a host, only by its network."""

    what: str
    grave: bool = False


_LOCAL = Fault("a private address")
_LOOPBACK = Fault("a loopback address")
_SHARED = Fault("an address shared inside a provider's network")
_LINK = Fault("a link-local address", grave=True)
_METADATA = Fault("a cloud metadata address", grave=True)
_NOWHERE = Fault("an unspecified address", grave=True)
_MULTICAST = Fault("a multicast address", grave=True)
_RESERVED = Fault("a reserved address", grave=True)
_TUNNEL = Fault("an address that hides another one", grave=True)

# The first that matches decides.
_TABLE_4: tuple[tuple[IPv4Network, Fault], ...] = tuple(
    (IPv4Network(network), fault)
    for network, fault in (
        ("169.254.169.254/32", _METADATA),
        ("100.100.100.200/32", _METADATA),
        ("168.63.129.16/32", _METADATA),
        ("192.0.0.192/32", _METADATA),
        ("0.0.0.0/8", _NOWHERE),
        ("10.0.0.0/8", _LOCAL),
        ("100.64.0.0/10", _SHARED),
        ("127.0.0.0/8", _LOOPBACK),
        ("169.254.0.0/16", _LINK),
        ("172.16.0.0/12", _LOCAL),
        ("192.0.0.0/24", _RESERVED),
        ("192.0.2.0/24", _RESERVED),
        ("192.31.196.0/24", _RESERVED),
        ("192.52.193.0/24", _RESERVED),
        ("192.88.99.0/24", _RESERVED),
        ("192.168.0.0/16", _LOCAL),
        ("192.175.48.0/24", _RESERVED),
        ("198.18.0.0/15", _RESERVED),
        ("198.51.100.0/24", _RESERVED),
        ("203.0.113.0/24", _RESERVED),
        ("224.0.0.0/4", _MULTICAST),
        ("240.0.0.0/4", _RESERVED),
    )
)
_TABLE_6: tuple[tuple[IPv6Network, Fault], ...] = tuple(
    (IPv6Network(network), fault)
    for network, fault in (
        ("::1/128", _LOOPBACK),
        ("::/128", _NOWHERE),
        ("::/96", _TUNNEL),
        ("64:ff9b:1::/48", _TUNNEL),
        ("fd00:ec2::254/128", _METADATA),
        ("fd20:ce::254/128", _METADATA),
        ("fc00::/7", _LOCAL),
        ("fe80::/10", _LINK),
        ("fec0::/10", _LOCAL),
        ("ff00::/8", _MULTICAST),
        ("2001::/32", _TUNNEL),
        ("2001::/23", _RESERVED),
        ("2001:db8::/32", _RESERVED),
        ("2620:4f:8000::/48", _RESERVED),
        ("3fff::/20", _RESERVED),
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")


def plain_address(text: str) -> Address | None:
    """The address that a text spells in its one canonical way (IPv4 inside IPv6 unwrapped), or None."""
    if "%" in text:
        return None
    try:
        return unwrapped(ip_address(text))
    except ValueError:
        return None


def unwrapped(address: Address) -> Address:
    """IPv4 written as IPv6 is IPv4: the system connects to it as such."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def network_of(text: str) -> Network | None:
    """The network or single address that a text names, or None."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def fault_of(address: Address) -> Fault | None:
    """What is wrong with an address as a public one; None when it is public."""
    address = unwrapped(address)
    if isinstance(address, IPv4Address):
        return next((fault for network, fault in _TABLE_4 if address in network), None)
    carried = _carried(address)
    if carried is not None:
        return _TUNNEL if fault_of(carried) else None
    found = next((fault for network, fault in _TABLE_6 if address in network), None)
    return found or (None if address in _GLOBAL_6 else _RESERVED)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which a translator or relay would pass this one on."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return None
