"""The outbound client over real HTTP on loopback: pinned, limited, redirect by redirect."""

import asyncio
import gzip
import hashlib
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kosmos.errors import FetchFailed, FetchRefused
from kosmos.net import Fetcher, Limits, Policy, Validators, guarded_transport

from .wire import Serve, Wire, say

METADATA = "169.254.169.254"


async def test_content_headers_and_a_polite_name(serve: Serve) -> None:
    server = await serve(lambda path, fields: say("文档".encode(), Content_Type="text/plain; charset=utf-8"))
    net = Wire(server.port)
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        got = await fetcher.fetch("http://docs.example/a?b=1#c")
    assert (got.status, got.content.decode(), got.media_type) == (200, "文档", "text/plain")
    assert (got.url, got.size, got.redirects) == ("http://docs.example/a?b=1", 6, ())
    assert got.sha256 == hashlib.sha256("文档".encode()).hexdigest()
    head = server.heads[0].lower()
    assert head.startswith("get /a?b=1 http/1.1")
    assert "host: docs.example\r\n" in head
    assert "user-agent: kosmos/" in head


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:8080/",
        f"http://{METADATA}/latest",
        "http://[::1]/",
        "http://0x7f.1/",
        "http://user@docs.example/",
        "ftp://docs.example/",
        "http://inside.example/",
        "http://mixed.example/",
        "http://meta.example/",
    ],
)
async def test_refused_before_any_connection(url: str) -> None:
    names = {
        "inside.example": ["10.0.0.1"],
        "mixed.example": ["93.184.216.34", "127.0.0.1"],
        "meta.example": [METADATA],
    }
    net = Wire(1, names)
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        with pytest.raises(FetchRefused):
            await fetcher.fetch(url)
    assert net.dialled == []


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:9/",
        f"http://{METADATA}/",
        "//2130706433/",
        "http://inside.example/",
        "file:///etc/passwd",
        "http://user:word@docs.example/",
        "http://[::ffff:10.0.0.1]/",
    ],
)
async def test_every_redirect_is_decided_anew(target: str, serve: Serve) -> None:
    server = await serve(lambda path, fields: say(status=302, Location=target))
    net = Wire(server.port, {"inside.example": ["192.168.0.1"]})
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        with pytest.raises(FetchRefused):
            await fetcher.fetch("http://docs.example/")
    assert len(net.dialled) == len(server.heads) == 1


async def test_a_name_that_changes_its_mind_is_looked_up_once(serve: Serve) -> None:
    server = await serve(lambda path, fields: say(b"public"))
    net = Wire(server.port)
    turns = iter([["93.184.216.34"], ["127.0.0.1"]])

    async def rebinding(host: str, port: int) -> list[str]:
        return next(turns)

    async with Fetcher(resolver=rebinding, dial=net.dial) as fetcher:
        assert (await fetcher.fetch("http://rebind.example/")).content == b"public"
        with pytest.raises(FetchRefused):
            await fetcher.fetch("http://rebind.example/")
    assert net.dialled == [("93.184.216.34", 80)]


async def test_redirects_carry_no_secrets_to_others(serve: Serve) -> None:
    steps = {"/1": "/2", "/2": "http://other.example/3", "/3": "/4"}
    server = await serve(
        lambda path, fields: say(status=307, Location=steps[path]) if path in steps else say(b"end")
    )
    net = Wire(server.port)
    headers = {"Authorization": "Bearer x", "X-Api-Key": "y", "Accept-Language": "zh"}
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        got = await fetcher.fetch(
            "http://docs.example/1", headers=headers, conditional=Validators('"v1"', "yesterday")
        )
    assert (got.url, got.content) == ("http://other.example/4", b"end")
    assert got.redirects == ("http://docs.example/1", "http://docs.example/2", "http://other.example/3")
    heads = [head.lower() for head in server.heads]
    assert ["x-api-key" in head and "authorization" in head for head in heads] == [True, True, False, False]
    assert ["if-none-match" in head for head in heads] == [True, False, False, False]
    assert all("accept-language: zh" in head for head in heads)
    assert "host: other.example" in heads[2]


async def test_redirects_end(serve: Serve) -> None:
    server = await serve(lambda path, fields: say(status=301, Location=path + "x"))
    net = Wire(server.port)
    async with Fetcher(Policy(limits=Limits(redirects=3)), resolver=net.resolve, dial=net.dial) as fetcher:
        with pytest.raises(FetchFailed, match="redirects too often"):
            await fetcher.fetch("http://docs.example/")
        one = await fetcher.fetch("http://docs.example/a", follow=False)
    assert (one.status, one.location) == (301, "http://docs.example/ax")
    assert len(server.heads) == 5


async def test_a_condition_is_asked_and_answered(serve: Serve) -> None:
    def handler(path: str, fields: dict[str, str]) -> bytes:
        return (
            say(status=304, Content_Length="", ETag='"v1"')
            if fields.get("if-none-match") == '"v1"'
            else say(b"x", ETag='"v1"')
        )

    server = await serve(handler)
    net = Wire(server.port)
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        first = await fetcher.fetch("http://docs.example/")
        again = await fetcher.fetch("http://docs.example/", conditional=first.validators)
    assert (first.status, again.status, again.content) == (200, 304, b"")


async def test_sizes_are_limited_on_the_wire_and_after_unpacking(serve: Serve) -> None:
    bodies = {
        "/declared": say(b"x", Content_Length="999999"),
        "/long": b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n" + b"x" * 5000,
        "/bomb": say(gzip.compress(b"\0" * 10**6), Content_Encoding="gzip"),
        "/fits": say(gzip.compress(b"x" * 3000), Content_Encoding="gzip"),
        "/headers": say(b"", X_Big="x" * 9000),
        "/flood": b"HTTP/1.1 200 X\r\n" + b"A: " + b"b" * 300_000 + b"\r\n\r\n",
        "/odd": say(b"x", Content_Encoding="br"),
        "/noise": b"\0" * 100,
        "/short": b"HTTP/1.1 200 X\r\nContent-Length: 10\r\nConnection: close\r\n\r\nabc",
    }
    server = await serve(lambda path, fields: bodies[path])
    net = Wire(server.port)
    limits = Limits(wire_bytes=4000, content_bytes=4000, header_bytes=8000, seconds=20)
    async with Fetcher(Policy(limits=limits), resolver=net.resolve, dial=net.dial) as fetcher:
        assert (await fetcher.fetch("http://docs.example/fits")).content == b"x" * 3000
        for path in bodies.keys() - {"/fits"}:
            with pytest.raises(FetchFailed):
                await fetcher.fetch(f"http://docs.example{path}")


async def test_an_answer_that_trickles_is_given_up(serve: Serve) -> None:
    async def slow(path: str, fields: dict[str, str]) -> bytes:
        await asyncio.sleep(30)
        return b""

    server = await serve(slow)
    net = Wire(server.port)
    async with Fetcher(Policy(limits=Limits(seconds=0.2)), resolver=net.resolve, dial=net.dial) as fetcher:
        with pytest.raises(FetchFailed) as caught:
            await fetcher.fetch("http://docs.example/")
    assert caught.value.retryable


async def test_types_not_wanted_are_not_read(serve: Serve) -> None:
    server = await serve(lambda path, fields: say(b"x" * 100, Content_Type=path[1:].replace("-", "/")))
    net = Wire(server.port)
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        image = await fetcher.fetch("http://docs.example/image-png", types=("text/", "application/pdf"))
        text = await fetcher.fetch("http://docs.example/text-html", types=("text/", "application/pdf"))
    assert (image.read, image.content) == (False, b"")
    assert (text.read, text.size) == (True, 100)


async def test_downloads_go_to_a_file_or_leave_none(serve: Serve, tmp_path: Path) -> None:
    server = await serve(lambda path, fields: say(b"x" * (5000 if path == "/big" else 3000)))
    net = Wire(server.port)
    policy = Policy(limits=Limits(content_bytes=4000, wire_bytes=9000))
    async with Fetcher(policy, resolver=net.resolve, dial=net.dial) as fetcher:
        got = await fetcher.download("http://docs.example/ok", tmp_path / "ok")
        with pytest.raises(FetchFailed):
            await fetcher.download("http://docs.example/big", tmp_path / "big")
    assert (got.size, got.content) == (3000, b"")
    assert not await asyncio.to_thread((tmp_path / "big").exists)
    assert (tmp_path / "ok").read_bytes() == b"x" * 3000


async def test_an_allowed_loopback_port_is_reached_for_real(serve: Serve) -> None:
    server = await serve(lambda path, fields: say(b"mine"))
    async with Fetcher(Policy(allow_hosts=(f"127.0.0.1:{server.port}",))) as fetcher:
        assert (await fetcher.fetch(f"http://127.0.0.1:{server.port}/")).content == b"mine"
        with pytest.raises(FetchRefused):
            await fetcher.fetch(f"http://127.0.0.1:{server.port + 1}/")


async def test_the_environment_names_no_proxy(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server = await serve(lambda path, fields: say(b"direct"))
    net = Wire(server.port)
    async with Fetcher(resolver=net.resolve, dial=net.dial) as fetcher:
        assert (await fetcher.fetch("http://docs.example/")).content == b"direct"


async def test_a_configured_proxy_is_told_the_checked_address(serve: Serve) -> None:
    def handler(path: str, fields: dict[str, str]) -> bytes:
        if path == "93.184.216.34:80":
            return b"HTTP/1.1 200 Connected\r\n\r\n"
        return say(b"through " + fields["host"].encode())

    proxy = await serve(handler)
    net = Wire(proxy.port, {"inside.example": ["10.0.0.1"]})
    policy = Policy(proxy=f"http://me:word@127.0.0.1:{proxy.port}")
    async with Fetcher(policy, resolver=net.resolve) as fetcher:
        assert (await fetcher.fetch("http://docs.example/")).content == b"through docs.example"
        with pytest.raises(FetchRefused):
            await fetcher.fetch("http://inside.example/")
    assert "Proxy-Authorization: Basic bWU6d29yZA==" in proxy.heads[0]
    assert len(proxy.heads) == 2


def _certificate(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of that name shows, and a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "cert", folder / "key")
    return server, ssl.create_default_context(cafile=str(folder / "cert"))


async def test_the_certificate_is_checked_by_name(serve: Serve, tmp_path: Path) -> None:
    shown, trusted = _certificate("docs.example", tmp_path)
    names: list[str] = []
    shown.sni_callback = lambda sock, name, context: names.append(str(name))
    server = await serve(lambda path, fields: say(b"safe", Connection="keep-alive"), shown)
    net = Wire(server.port)
    async with Fetcher(resolver=net.resolve, dial=net.dial, trusted=trusted) as fetcher:
        assert (await fetcher.fetch("https://docs.example/")).content == b"safe"
        # Another name at the same address must not ride on the open connection.
        with pytest.raises(FetchFailed, match="certificate of evil"):
            await fetcher.fetch("https://evil.example/")
    assert names == ["docs.example", "evil.example"]
    assert net.dialled == [("93.184.216.34", 443)] * 2


async def test_protection_is_not_given_up_on_the_way(serve: Serve, tmp_path: Path) -> None:
    shown, trusted = _certificate("docs.example", tmp_path)
    server = await serve(lambda path, fields: say(status=302, Location="http://docs.example/"), shown)
    net = Wire(server.port)
    async with Fetcher(resolver=net.resolve, dial=net.dial, trusted=trusted) as fetcher:
        with pytest.raises(FetchRefused, match="not protected"):
            await fetcher.fetch("https://docs.example/")
    assert len(net.dialled) == 1


async def test_other_clients_are_guarded_through_the_transport(serve: Serve) -> None:
    server = await serve(
        lambda path, fields: say(b"ok") if path == "/ok" else say(status=302, Location="http://10.0.0.1/")
    )
    net = Wire(server.port)
    transport = guarded_transport(Policy(), resolver=net.resolve, dial=net.dial)
    async with httpx2.AsyncClient(transport=transport, follow_redirects=True) as client:
        assert (await client.post("http://api.example/ok", json={"a": 1})).text == "ok"
        with pytest.raises(FetchRefused):
            await client.get("http://api.example/away")
    assert net.dialled == [("93.184.216.34", 80)] * 2


async def test_closed_doors_and_other_addresses(serve: Serve) -> None:
    server = await serve(lambda path, fields: say(b"second"))
    net = Wire(server.port, {"docs.example": ["8.8.8.8", "93.184.216.34"]})

    async def dial(address: str, port: int, seconds: float | None) -> Any:
        if address == "8.8.8.8":
            raise httpcore2.ConnectError("refused")
        return await net.dial(address, port, seconds)

    async with Fetcher(resolver=net.resolve, dial=dial) as fetcher:
        assert (await fetcher.fetch("http://docs.example/")).content == b"second"
        net.names["docs.example"] = ["8.8.8.8"]
        with pytest.raises(FetchFailed, match="cannot be reached") as caught:
            await fetcher.fetch("http://docs.example/")
    assert caught.value.retryable
