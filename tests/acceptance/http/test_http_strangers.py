"""A token reaches nothing of anybody else, on any route."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from acceptance.http.operations import BODIES, Operation, operations, requests_for
from acceptance.http.serving import Served
from acceptance.http.world import MARK, Person, World, send

# What a stranger may do: it concerns themselves or nobody. Everything else must be refused.
OPEN = {"healthz", "me", "list_tokens", "create_token", "list_spaces", "create_space"}
OPEN |= {"list_credentials", "add_credential", "search", "retrieval", "ask", "grep_lines"}
OPEN |= {"list_jobs", "list_crawls"}
OPEN |= {"list_agents", "create_agent", "import_agent", "list_sessions", "list_models"}
OPEN |= {"list_approvals"}
OPEN |= {"render_markdown", "all_job_events"}
ADMIN = {"list_users", "create_user", "list_evaluations", "metrics"}


def _owned(world: World) -> dict[str, Any]:
    """Everything that the owner can see of their own."""
    space, document = world.ids["space_id"], world.ids["document_id"]
    paths = [f"/api/v1/spaces/{space}{part}" for part in ("", "/members", "/credentials", "/documents")]
    paths += [
        f"/api/v1/documents/{document}{part}" for part in ("", "/lines", "/assets", "/chunks", "/overview")
    ]
    paths += [f"/api/v1/jobs/{world.ids['job_id']}", "/api/v1/jobs"]
    session = f"/api/v1/sessions/{world.ids['session_id']}"
    paths += [session, f"{session}/messages", f"{session}/runs", "/api/v1/sessions"]
    paths += [f"/api/v1/agents/{world.ids['agent_id']}", "/api/v1/agents"]
    paths += [f"/api/v1/crawls/{world.ids['crawl_id']}", "/api/v1/crawls"]
    return {path: world.owner.ok("GET", path) for path in [*paths, "/api/v1/tokens", "/api/v1/credentials"]}


def _refused(answer: httpx2.Response) -> bool:
    return answer.status_code in (403, 404) and answer.headers["content-type"] == "application/problem+json"


def _shows(answer: httpx2.Response, world: World, sent: str) -> list[str]:
    """What of the owner stands in an answer that the request did not name itself."""
    marks = [MARK, MARK.lower(), *world.ids.values()]
    return [mark for mark in marks if mark in answer.text and mark not in sent]


def _try(world: World, who: Person, operation: Operation) -> list[str]:
    """What is wrong with the answers that somebody gets who asks for the owner's things."""
    wrong = []
    for path, body in requests_for(operation, world.ids, world.own):
        answer = who.call(operation.method, path, body)
        allowed = operation.name in OPEN or (operation.name in ADMIN and who is world.admin)
        if not (_refused(answer) or (allowed and answer.is_success)):
            wrong.append(f"{operation.method} {path} answered {answer.status_code}: {answer.text[:200]}")
        if operation.name not in ADMIN and (shown := _shows(answer, world, f"{path} {body}")):
            wrong.append(f"{operation.method} {path} shows {shown}")
    return wrong


def _problem(who: Person, operation: Operation, ids: Mapping[str, str]) -> str:
    """The refusal of an operation with names in place of ids."""
    answer = who.call(operation.method, operation.fill(ids), operation.bodies(ids)[0])
    text = answer.text.replace(answer.json()["request_id"], "request_id")
    for name, value in ids.items():
        text = text.replace(value, name)
    return f"{operation.name} {text}"


def test_every_operation_has_a_request_to_try(served: Served) -> None:
    declared = [operation.name for operation in operations(served.api)]
    assert sorted(declared) == sorted(BODIES), (
        "a route came or went: bring BODIES in operations.py up to date"
    )


@pytest.mark.parametrize("who", ["stranger", "former", "admin"])
def test_nobody_reaches_what_is_the_owners(world: World, who: str) -> None:
    person: Person = getattr(world, who)
    before = _owned(world)
    wrong = [line for operation in operations(world.served.api) for line in _try(world, person, operation)]
    assert wrong == []
    assert _owned(world) == before


def test_an_id_of_another_kind_opens_nothing(world: World) -> None:
    kinds = [name for name in world.ids if name != "user_id"]
    for operation in operations(world.served.api):
        for parameter in operation.parameters:
            for kind in kinds:
                if kind == parameter:
                    continue
                path = operation.fill({**world.ids, parameter: world.ids[kind]})
                for body in operation.bodies(world.ids):
                    assert _refused(world.owner.call(operation.method, path, body)), (operation.name, path)


def test_the_same_words_for_what_is_hidden_and_what_is_not_there(world: World) -> None:
    nothing = {name: f"{value[:-4]}zzzz" for name, value in world.ids.items()}
    for operation in operations(world.served.api):
        if operation.parameters:
            hidden, absent = (_problem(world.stranger, operation, ids) for ids in (world.ids, nothing))
            assert hidden == absent


def test_only_health_and_the_description_need_no_token(world: World) -> None:
    nobody = world.served.client()
    assert nobody.get("/healthz").json()["status"] == "ok"
    assert nobody.get("/api/v1/openapi.json").status_code == 200
    for operation in operations(world.served.api):
        body = operation.bodies(world.ids)[0]
        answer = send(nobody, operation.method, operation.fill(world.ids), body)
        assert answer.status_code == (200 if operation.name == "healthz" else 401), operation.name


@pytest.mark.parametrize(
    "header",
    [
        "Bearer sk-123",
        "Bearer kosmos_{space_id}_abc",
        "Bearer {token}x",
        "Bearer kosmos_é_é",
        "Bearer kosmos__",
        "Bearer",
        "Basic {token}",
        "Bearer {expired}",
        pytest.param("Bearer kosmos_" + "a" * 5000, id="endless"),
    ],
)
def test_a_token_that_is_not_valid_opens_nothing(world: World, header: str) -> None:
    sent = header.format(**world.ids, token=world.stranger.token, expired=world.expired).encode()
    nobody = world.served.client()
    for operation in operations(world.served.api):
        if operation.name == "healthz":
            continue
        body = operation.bodies(world.ids)[0]
        path = operation.fill(world.ids)
        answer = send(nobody, operation.method, path, body, {b"authorization": sent})
        assert answer.status_code == 401, operation.name
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["status"] == 401


def test_a_revoked_token_opens_nothing_any_more(world: World) -> None:
    other = world.with_token(world.stranger, scope="admin")
    assert other.call("GET", "/api/v1/me").status_code == 200
    assert other.call("DELETE", f"/api/v1/tokens/{other.token.split('_')[1]}").status_code == 204
    assert other.call("GET", "/api/v1/me").status_code == 401
