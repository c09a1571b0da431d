"""What the guard lets through: by the text of an address, by what it resolves to, by what operators allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.errors import ConfigError, FetchRefused
from kosmos.net.addresses import fault_of
from kosmos.net.guard import Guard, shown
from kosmos.net.policy import Policy, parse_allowed

PUBLIC = "93.184.216.34"


def guard(*answers: str, allow: tuple[str, ...] = (), ports: frozenset[int] = frozenset({80, 443})) -> Guard:
    async def resolver(host: str, port: int) -> tuple[str, ...]:
        return answers

    return Guard(Policy(allow_hosts=allow, ports=ports), resolver)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "//example.com/",
        "example.com",
        "http:///x",
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com:22/",
        "http://example.com:8080/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://1.2.3.4.5/",
        "http://127.0.0.1./",
        "http://127%2e0%2e0%2e1/",
        "http://１２７．０．０．１/",
        "http://127。0。0。1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://[fe80::1%25eth0]/",
        "http://[::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://exa mple.com/",
        "http://a..b/",
        "http://" + "a" * 300 + ".com/",
        "http://example.com/" + "a" * 9000,
    ],
)
def test_the_text_alone_forbids_these(url: str) -> None:
    with pytest.raises(FetchRefused):
        guard(PUBLIC).target(url)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://example.com", ("http", "example.com", 80)),
        ("https://EXAMPLE.com:443/a?b#c", ("https", "example.com", 443)),
        ("https://文档.example/路径", ("https", "xn--3iq79d.example", 443)),
        ("http://93.184.216.34/", ("http", PUBLIC, 80)),
    ],
)
def test_ordinary_addresses_pass(url: str, origin: tuple[str, str, int]) -> None:
    got = guard(PUBLIC).target(url).origin
    assert (got[0], got[2]) == (origin[0], origin[2])
    assert got[1] == origin[1] or got[1].startswith("xn--")


@pytest.mark.parametrize(
    "answers",
    [
        ("127.0.0.1",),
        (PUBLIC, "10.0.0.1"),
        ("10.0.0.1", PUBLIC),
        ("169.254.169.254",),
        ("::ffff:10.0.0.1",),
        ("fe80::1%2",),
        ("2002:7f00:1::",),
        ("not an address",),
        (),
    ],
)
async def test_one_bad_address_among_many_refuses_the_host(answers: tuple[str, ...]) -> None:
    with pytest.raises(FetchRefused):
        await guard(*answers).addresses("example.com", 443)


@given(st.lists(st.ip_addresses().map(str), max_size=4))
async def test_only_public_addresses_are_ever_handed_out(answers: list[str]) -> None:
    try:
        found = await guard(*answers).addresses("example.com", 443)
    except FetchRefused:
        return
    assert found
    assert all(fault_of(address) is None for address in found)


@pytest.mark.parametrize(
    ("allow", "host", "answer"),
    [
        ("wiki.corp", "wiki.corp", "10.0.0.7"),
        ("WIKI.corp.", "wiki.corp", "127.0.0.1"),
        ("*.corp", "a.b.corp", "192.168.0.1"),
        ("10.0.0.0/8", "any.example", "10.9.9.9"),
        ("10.9.9.9", "any.example", "10.9.9.9"),
        ("fd00::/8", "any.example", "fd00::1"),
        ("169.254.169.254", "any.example", "169.254.169.254"),
        ("127.0.0.1", "any.example", "::ffff:127.0.0.1"),
    ],
)
async def test_an_operator_can_allow_hosts_and_networks(allow: str, host: str, answer: str) -> None:
    assert await guard(answer, allow=(allow,)).addresses(host, 80)


@pytest.mark.parametrize(
    ("allow", "host", "answer"),
    [
        ("wiki.corp", "evilwiki.corp", "10.0.0.7"),
        ("wiki.corp", "a.wiki.corp", "10.0.0.7"),
        ("*.corp", "corp", "10.0.0.7"),
        ("*.corp", "xcorp", "10.0.0.7"),
        ("10.0.0.0/8", "any.example", "11.0.0.1, 192.168.0.1"),
        ("wiki.corp", "wiki.corp", "169.254.169.254"),
        ("wiki.corp", "wiki.corp", "0.0.0.0"),
        ("wiki.corp:8080", "wiki.corp", "10.0.0.7"),
    ],
)
async def test_allowing_one_thing_allows_no_other(allow: str, host: str, answer: str) -> None:
    with pytest.raises(FetchRefused):
        await guard(*answer.split(", "), allow=(allow,)).addresses(host, 80)


async def test_a_port_is_opened_for_its_host_alone() -> None:
    checked = guard("10.0.0.7", allow=("wiki.corp:8080", "10.0.0.0/8"))
    assert checked.target("http://wiki.corp:8080/").port == 8080
    assert await checked.addresses("wiki.corp", 8080)
    with pytest.raises(FetchRefused, match="Port 8080"):
        await checked.addresses("other.corp", 8080)
    with pytest.raises(FetchRefused):
        checked.target("http://wiki.corp:8081/")


async def test_more_ports_by_setting() -> None:
    checked = guard(PUBLIC, ports=frozenset({80, 443, 8080}))
    assert checked.target("http://example.com:8080/").port == 8080
    assert await checked.addresses("example.com", 8080)


async def test_a_refusal_says_what_and_what_to_do() -> None:
    with pytest.raises(FetchRefused) as caught:
        await guard("10.0.0.7").addresses("wiki.corp", 80)
    assert caught.value.message == "wiki.corp resolves to 10.0.0.7, a private address; it may not be fetched."
    assert caught.value.remedy == "If that is wanted, an operator can allow `wiki.corp` in `allow_hosts`."
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "entry", ["", "*", "a/b", "http://x", "x:y", "x:0", "x:99999", "127.1", "300.1.1.1", "a b"]
)
def test_unclear_entries_are_refused(entry: str) -> None:
    with pytest.raises(ConfigError):
        parse_allowed(entry)


def test_entries_are_understood() -> None:
    assert parse_allowed("[::1]:8080").port == 8080
    assert str(parse_allowed("[::1]:8080").network) == "::1/128"
    assert str(parse_allowed("::1").network) == "::1/128"
    assert parse_allowed("wiki7").name == "wiki7"
    assert parse_allowed("文档.example").name.startswith("xn--")


def test_messages_hold_no_secrets() -> None:
    assert shown("http://user:word@host/path?token=1#x") == "http://host/path"
