"""Which addresses are public: tables against the standard library, and every disguise."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.net.addresses import fault_of, plain_address

PUBLIC = ("8.8.8.8", "93.184.216.34", "2606:4700::6810:1", "2002:5db8:d822::1", "64:ff9b::8.8.8.8")
BAD = {
    "10.0.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "169.254.1.1": "link-local",
    "169.254.169.254": "metadata",
    "100.100.100.200": "metadata",
    "168.63.129.16": "metadata",
    "100.64.0.1": "shared",
    "192.0.2.1": "reserved",
    "198.18.0.1": "reserved",
    "224.0.0.1": "multicast",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::127.0.0.1": "hides",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:169.254.169.254": "metadata",
    "::ffff:7f00:1": "loopback",
    "64:ff9b::127.0.0.1": "hides",
    "64:ff9b::a9fe:a9fe": "hides",
    "64:ff9b:1::8.8.8.8": "hides",
    "2002:7f00:1::": "hides",
    "2002:a9fe:a9fe::1": "hides",
    "2001:0:53aa:64c:0:5efe:8000:1": "hides",
    "fd00:ec2::254": "metadata",
    "fc00::1": "private",
    "fe80::1": "link-local",
    "fec0::1": "private",
    "ff02::1": "multicast",
    "2001:db8::1": "reserved",
    "3fff::1": "reserved",
    "100::1": "reserved",
    "5f00::1": "reserved",
}


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_have_no_fault(text: str) -> None:
    assert fault_of(ip_address(text)) is None


@pytest.mark.parametrize(("text", "word"), BAD.items())
def test_every_other_address_is_named_for_what_it_is(text: str, word: str) -> None:
    fault = fault_of(ip_address(text))
    assert fault is not None
    assert word in fault.what


@given(st.integers(0, 2**32 - 1))
def test_nothing_the_standard_library_calls_local_is_public(number: int) -> None:
    address = IPv4Address(number)
    if not address.is_global or address.is_multicast:
        assert fault_of(address) is not None


@given(st.integers(0, 2**128 - 1))
def test_only_the_global_block_of_ipv6_is_public(number: int) -> None:
    address = IPv6Address(number)
    if fault_of(address) is None:
        assert number >> 125 == 1 or number >> 32 == 0x64FF9B << 64 or address.ipv4_mapped


@given(st.integers(0, 2**32 - 1))
def test_an_address_in_disguise_is_as_public_as_itself(number: int) -> None:
    naked = fault_of(IPv4Address(number)) is None
    mapped, translated = IPv6Address(number | 0xFFFF << 32), IPv6Address(number | 0x64FF9B << 96)
    relayed = IPv6Address(0x2002 << 112 | number << 80 | 1)
    assert [fault_of(each) is None for each in (mapped, translated, relayed)] == [naked] * 3


@pytest.mark.parametrize("text", ["fe80::1%eth0", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "", "a"])
def test_only_the_canonical_spelling_is_an_address(text: str) -> None:
    assert plain_address(text) is None
