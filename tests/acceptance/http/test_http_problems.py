"""Every error is a problem+json that carries the id of its request."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from acceptance.http.conftest import MAX_BODY
from acceptance.http.world import Person, World
from kosmos.errors import EngineUnavailable
from kosmos.tasks import asking

ID = re.compile(r"[0-9a-f]{12}")


def check_problem(answer: httpx2.Response, status: int) -> dict[str, Any]:
    """The problem that an answer holds."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert all(isinstance(problem[name], str) and problem[name] for name in ("type", "title", "detail"))
    assert set(problem) <= {"type", "title", "status", "detail", "remedy", "request_id", "errors"}
    if status != 500:
        assert problem["remedy"]
    return problem


@pytest.fixture
def who(world: World) -> Person:
    """Somebody with a space of their own."""
    return world.stranger


def _broken_body() -> Iterator[bytes]:
    yield b'{"name": "' + b"x" * MAX_BODY
    yield b'"}'


def test_each_kind_of_refusal(world: World, who: Person) -> None:
    nobody = world.served.client()
    check_problem(nobody.get("/api/v1/me"), 401)
    check_problem(who.call("GET", "/api/v1/users"), 403)
    check_problem(who.call("GET", f"/api/v1/spaces/{world.ids['space_id']}"), 404)
    check_problem(who.call("GET", "/api/v1/nothing"), 404)
    check_problem(who.call("GET", "/nothing"), 404)
    check_problem(who.call("PUT", "/api/v1/me"), 405)
    check_problem(who.call("POST", "/api/v1/spaces", {"name": "ownthing SPACE"}), 409)
    problem = check_problem(who.call("POST", "/api/v1/spaces", {"nme": "x"}), 422)
    assert [item["where"] for item in problem["errors"]] == [["body", "name"], ["body", "nme"]]
    check_problem(who.call("POST", "/api/v1/spaces", {"name": "x" * 121}), 422)


def test_a_wrong_method_is_told_which_are_right(who: Person) -> None:
    answer = who.call("PUT", "/api/v1/spaces")
    check_problem(answer, 405)
    assert answer.headers["allow"]


def test_something_unexpected(who: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret inner detail")

    monkeypatch.setattr(asking, "find", broken)
    answer = who.call("POST", "/api/v1/search", {"query": "x"})
    problem = check_problem(answer, 500)
    assert "secret inner detail" not in answer.text
    assert problem["request_id"] in str(problem)
    monkeypatch.undo()
    assert who.call("POST", "/api/v1/search", {"query": "x"}).status_code == 200


def test_an_engine_that_is_away_says_when_to_come_back(who: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise EngineUnavailable("The index cannot be used.", remedy="Check that it runs.")

    monkeypatch.setattr(asking, "find", away)
    answer = who.call("POST", "/api/v1/search", {"query": "x"})
    check_problem(answer, 503)
    assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("given", ["abc-1.2_X", "x" * 64])
def test_a_well_formed_request_id_is_kept(who: Person, given: str) -> None:
    for path, status in (("/api/v1/me", 200), ("/api/v1/nothing", 404)):
        answer = who.http.get(path, headers={"x-request-id": given})
        assert answer.status_code == status
        assert answer.headers.get_list("x-request-id") == [given]
    assert answer.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "two words", 'a"b', "a\tb", "证书", "a;b", "../.."])
def test_an_ill_formed_request_id_is_replaced(who: Person, given: str) -> None:
    answer = who.http.get("/api/v1/nothing", headers={b"x-request-id": given.encode()})
    assert ID.fullmatch(check_problem(answer, 404)["request_id"])


def test_ids_differ(who: Person) -> None:
    assert len({who.call("GET", "/api/v1/me").headers["x-request-id"] for _ in range(20)}) == 20


def test_a_body_over_the_limit_is_refused_with_and_without_its_length(who: Person) -> None:
    headers = {"content-type": "application/json"}
    whole = b"".join(_broken_body())
    check_problem(who.http.post("/api/v1/spaces", content=whole, headers=headers), 413)
    check_problem(who.http.post("/api/v1/spaces", content=_broken_body(), headers=headers), 413)


def test_a_body_at_the_limit_is_read(who: Person) -> None:
    start = b'{"name": "'
    exact = start + b"x" * (MAX_BODY - len(start) - 2) + b'"}'
    assert len(exact) == MAX_BODY
    answer = who.http.post("/api/v1/spaces", content=exact, headers={"content-type": "application/json"})
    assert "120" in check_problem(answer, 422)["detail"]
