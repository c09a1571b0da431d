"""Whatever is sent, the answer is never an error of the server's own."""

import json
import socket
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import httpx2
import pytest

from acceptance.http.operations import Operation, operations
from acceptance.http.world import Person, World, furnish

TEXTS = (
    "",
    "a\x00b",
    "a\ud800b",
    "abc\u202etxt.exe\u200b\ufeff\u2028",
    "👩‍👩‍👧‍👦🏳️‍🌈" + "Z" + "\u0301" * 200,
    "长" * 10_000,
    """'";--\\%00${x}{{y}}<script>../..""",
)
VALUES: tuple[Any, ...] = (
    None,
    -1,
    10**30,
    float("nan"),
    float("-inf"),
    [],
    [[[]], {}],
    {"\x00": 1},
    {"\ud800": 1},
    {"a": "\ud800"},
    {"a": [float("nan"), 10**400]},
)


T = TypeVar("T")
EACH = 4  # odd values at each place
ODD = ("%00", "%ff%fe", "%ED%A0%80", "%F0%9F%98%80", "a" * 5000, "%2e%2e%2f", "1%0a2", "💥", "-", "%", "%zz")


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def _odd_values() -> Iterator[Any]:
    yield from TEXTS
    yield from ([text] for text in TEXTS[:3])
    yield from VALUES
    yield from (_nested(depth) for depth in (90, 900))


def _fields(world: World, operation: Operation) -> list[str]:
    """The names that the body of an operation may have, as OpenAPI says."""
    body = operation.schema.get("requestBody")
    if body is None or "application/json" not in body["content"]:
        return []
    name = body["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
    return list(world.served.api.openapi()["components"]["schemas"][name]["properties"])


def _fine(answer: httpx2.Response) -> bool:
    """Whether an answer is a success, or a refusal in the right form that does not say it all again."""
    if answer.is_success or answer.is_redirect:
        return True
    kind = answer.headers.get("content-type")
    return answer.status_code < 500 and kind == "application/problem+json" and len(answer.content) < 8000


@pytest.fixture(scope="module")
def fuzzer(world: World) -> Person:
    """Somebody who sends nonsense."""
    return world.join("Fuzzer")


@pytest.fixture(scope="module")
def things(world: World, fuzzer: Person) -> dict[str, str]:
    """What the nonsense is about."""
    return furnish(world.served, fuzzer, "Fuzzthing")


def _some(values: Iterable[T], at: int, most: int) -> list[T]:
    """Some of the odd values, others at each place: together all of them stand at many places.

    All values at all places are what `scripts/fuzz_api.py` is for.
    """
    found = list(values)
    return [found[(at * most + step) % len(found)] for step in range(min(most, len(found)))]


def _fuzz(person: Person, operation: Operation, things: dict[str, str], fields: list[str]) -> list[str]:
    """What was not answered as it should: each field with odd values, the others being right."""
    bad = []
    first = sum(operation.name.encode())
    for at, name in enumerate(fields, first):
        for value in _some(_odd_values(), at, EACH):
            body = {**operation.bodies(things)[0], name: value}
            answer = person.call(operation.method, operation.fill(things), body)
            away = operation.name == "add_address" and answer.status_code == 502  # nobody listens there
            if not _fine(answer) and not away:
                bad.append(f"{operation.name} {name}={ascii(value)[:60]}: {answer.status_code}")
    return bad


NOT_MINE = ("list_users", "list_evaluations", "metrics")


def test_every_field_with_odd_values(world: World, fuzzer: Person, things: dict[str, str]) -> None:
    known = operations(world.served.api)
    bad = [line for item in known for line in _fuzz(fuzzer, item, things, _fields(world, item))]
    assert bad == []
    for operation in known:  # what was taken in can be given out again
        if operation.method == "GET" and operation.name not in NOT_MINE:
            assert fuzzer.call("GET", operation.fill(things)).status_code == 200, operation.name


def _odd_paths(operation: Operation, things: dict[str, str]) -> Iterator[str]:
    """Paths with odd ids, and the right path with odd queries."""
    first = sum(operation.name.encode())
    for at, parameter in enumerate(operation.parameters, first):
        yield from (operation.fill({**things, parameter: value}) for value in _some(ODD, at, EACH))
    path = operation.fill(things)
    path += "&" if "?" in path else "?"
    for at, item in enumerate(operation.schema.get("parameters", []), first):
        if item["in"] == "query":
            odd = _some((*ODD, "", "-1", "1e9", "9" * 30), at, EACH)
            yield from (f"{path}{item['name']}={value}" for value in odd)


def test_odd_paths_and_queries(world: World, fuzzer: Person, things: dict[str, str]) -> None:
    for operation in operations(world.served.api):
        for path in _odd_paths(operation, things):
            answer = fuzzer.call(operation.method, path, operation.bodies(things)[0])
            assert _fine(answer), (operation.method, path[:200], answer.status_code)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"nul",
        b"[]",
        b'"text"',
        b"123",
        b"NaN",
        b"-Infinity",
        b"\xff\xfe\x00",
        b'{"query": "\xff", "name": "\xff"}',
        b'{"name": "\xed\xa0\x80"}',
        b'{"name": "a", "name": "b", "nome": 1}',
        b'{"name": "x", "\\ud800": 1}',
        pytest.param(b'{"name": "x", "' + b"k" * 100_000 + b'": 1}', id="long key"),
        pytest.param(
            b'{"name": "x"' + b"".join(b', "k%d": 1' % n for n in range(20_000)) + b"}", id="many keys"
        ),
        pytest.param(b'{"name": ' + b"9" * 5000 + b"}", id="long number"),
        b'{"name": 1e400}',
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="deep lists"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="deep objects"),
        pytest.param(b'{"name":"x","metadata":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001, id="deep inside"),
    ],
)
def test_bodies_that_are_no_form(fuzzer: Person, content: bytes) -> None:
    for path in ("/api/v1/spaces", "/api/v1/search", "/api/v1/credentials"):
        answer = fuzzer.http.post(path, content=content, headers={"content-type": "application/json"})
        assert _fine(answer), answer.status_code
        assert answer.status_code in (413, 422)


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/json; charset=nonsense",
        "/",
        ";;;",
        "application/vnd.api+json",
    ],
)
def test_content_types(fuzzer: Person, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    body = json.dumps({"query": "x"}).encode()
    assert _fine(fuzzer.http.post("/api/v1/search", content=body, headers=headers))


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PROPFIND", "get", "X"])
def test_methods_that_no_route_has(world: World, fuzzer: Person, things: dict[str, str], method: str) -> None:
    paths = {operation.fill(things) for operation in operations(world.served.api)}
    for path in [*sorted(paths), "/api/v1/openapi.json", "/nothing", "//", "/api/v1/../v1/me"]:
        answer = fuzzer.http.request(method, path)
        assert answer.status_code < 500
        assert answer.is_success or answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"POST /api/v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/v1/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\x00b\r\n\r\n",
    ],
)
def test_bytes_that_are_no_http(world: World, raw: bytes) -> None:
    port = int(world.served.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as conn:
        conn.sendall(raw)
        conn.shutdown(socket.SHUT_WR)
        answer = conn.recv(10_000)
    assert answer == b"" or answer.split(b" ")[1][:1] == b"4"
    assert world.served.client().get("/healthz").status_code == 200
