"""The page over HTTP: its files, its policy, its cookie, and who may use that."""

import json
from datetime import timedelta

import httpx2
import pytest

from acceptance.http.serving import Served
from acceptance.http.world import TEXT, Person, World
from kosmos.accounts.links import make_link
from kosmos.accounts.tokens import authenticate
from kosmos.doubles.clock import FixedClock

FORBIDDEN = ("unsafe-inline", "unsafe-eval", "http:", "https:", "*", "wss:", "strict-dynamic")


def _link(served: Served, person: Person) -> str:
    async def make() -> str:
        bench = served.app.bench
        async with bench.db.write() as conn:
            who = await authenticate(conn, person.token, bench.clock())
            return await make_link(conn, who, bench.clock())

    return served.run(make())


def _sign_in(served: Served, body: dict[str, str], **headers: str) -> httpx2.Response:
    return served.client().post("/page/sign-in", json=body, headers={"origin": served.url, **headers})


def _cookie(answer: httpx2.Response) -> str:
    return answer.headers["set-cookie"].split(";")[0]


@pytest.fixture
def cookie(served: Served, world: World) -> str:
    """The cookie of the stranger."""
    return _cookie(_sign_in(served, {"token": world.stranger.token}))


def test_the_front_page_and_its_policy(served: Served) -> None:
    http = served.client()
    answer = http.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    parts = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == parts["style-src"] == parts["connect-src"] == "'self'"
    assert parts["img-src"] == "'self' data: blob:"
    assert parts["frame-ancestors"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert parts["require-trusted-types-for"] == "'script'"
    assert not any(word in policy.replace("data: blob:", "") for word in FORBIDDEN)
    assert answer.headers["x-content-type-options"] == "nosniff"
    tag = answer.headers["etag"]
    assert http.get("/", headers={"if-none-match": tag}).status_code == 304


@pytest.mark.parametrize(
    "path", ["nothing.js", "../callers.py", "%2e%2e/app.py", "text/", "", "text/en.json%00"]
)
def test_nothing_but_the_files_of_the_page(served: Served, path: str) -> None:
    assert served.client().get(f"/page/{path}").status_code == 404


def test_files_have_their_type(served: Served) -> None:
    http = served.client()
    assert http.get("/page/main.js").headers["content-type"] == "text/javascript; charset=utf-8"
    assert http.get("/page/text/zh.json").json()["room.documents"] == "文档"
    assert http.get("/page/style/ground.css").headers["content-type"].startswith("text/css")


def test_a_link_signs_in_once(served: Served, world: World) -> None:
    code = _link(served, world.owner)
    first = _sign_in(served, {"code": code})
    assert first.status_code == 204
    whole = first.headers["set-cookie"].lower()
    assert "httponly" in whole
    assert "samesite=strict" in whole
    assert "secure" not in whole  # the server of the tests speaks plain HTTP
    me = served.client().get("/api/v1/me", headers={"cookie": _cookie(first)})
    assert me.json()["name"] == world.owner.name
    again = _sign_in(served, {"code": code})
    assert again.status_code == 401
    assert "kosmos serve" in again.json()["remedy"]


def test_a_link_is_no_token_and_a_token_no_link(served: Served, world: World) -> None:
    code = _link(served, world.owner)
    assert served.client(f"kosmos_{code}").get("/api/v1/me").status_code == 401
    assert _sign_in(served, {"token": f"kosmos_{code}"}).status_code == 401
    token = world.owner.token.removeprefix("kosmos_")
    assert _sign_in(served, {"code": token}).status_code == 401
    for odd in ("", "_", "x" * 199, "\x00_\x00", code[:-1], code + "a"):
        assert _sign_in(served, {"code": odd}).status_code == 401
    assert _sign_in(served, {"code": code}).status_code == 204


def test_a_link_runs_out_and_leaves_nothing(served: Served, world: World, clock: FixedClock) -> None:
    code = _link(served, world.owner)
    clock.advance(timedelta(days=1).total_seconds() + 1)
    assert _sign_in(served, {"code": code}).status_code == 401
    _link(served, world.owner)
    names = [item["name"] for item in world.owner.ok("GET", "/api/v1/tokens")["items"]]
    assert names.count("link for the page") == 1


def test_a_link_needs_the_whole_right(served: Served, world: World) -> None:
    narrow = world.with_token(world.owner, scope="write")
    with pytest.raises(Exception, match="scope"):
        _link(served, narrow)


@pytest.mark.parametrize(
    ("method", "headers", "allowed"),
    [
        ("GET", {}, True),
        ("GET", {"sec-fetch-site": "same-origin"}, True),
        ("GET", {"sec-fetch-site": "none"}, True),
        ("GET", {"sec-fetch-site": "same-site"}, False),
        ("GET", {"sec-fetch-site": "cross-site"}, False),
        ("GET", {"origin": "http://evil.invalid"}, False),
        ("POST", {}, False),
        ("POST", {"origin": "http://evil.invalid"}, False),
        ("POST", {"origin": "null"}, False),
        ("POST", {"sec-fetch-site": "none"}, False),
        ("POST", {"sec-fetch-site": "same-origin", "origin": "http://evil.invalid"}, False),
        ("POST", {"sec-fetch-site": "same-origin"}, True),
        ("POST", {"origin": "OWN"}, True),
    ],
)
def test_only_the_page_itself_may_use_the_cookie(
    served: Served, cookie: str, method: str, headers: dict[str, str], allowed: bool
) -> None:
    sent = {key: served.url if value == "OWN" else value for key, value in headers.items()}
    body = json.dumps({"texts": ["x"]}) if method == "POST" else None
    path = "/api/v1/markdown" if method == "POST" else "/api/v1/me"
    kind = {"content-type": "application/json"} if body else {}
    answer = served.client().request(method, path, content=body, headers={**sent, **kind, "cookie": cookie})
    assert answer.status_code == (200 if allowed else 403), answer.text


def test_signing_in_and_out_from_another_site_is_refused(served: Served, world: World, cookie: str) -> None:
    foreign = {"origin": "http://evil.invalid", "sec-fetch-site": "cross-site"}
    answer = served.client().post("/page/sign-in", json={"token": world.stranger.token}, headers=foreign)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    out = served.client().post("/page/sign-out", headers={**foreign, "cookie": cookie})
    assert out.status_code == 403
    own = served.client().post("/page/sign-out", headers={"origin": served.url, "cookie": cookie})
    assert own.status_code == 204
    assert 'kosmos_8420=""' in own.headers["set-cookie"]


def test_a_header_works_from_anywhere_and_comes_before_the_cookie(
    served: Served, world: World, cookie: str
) -> None:
    foreign = {"origin": "http://evil.invalid", "sec-fetch-site": "cross-site"}
    http = served.client(world.owner.token)
    assert http.get("/api/v1/me", headers={**foreign, "cookie": cookie}).json()["id"] == world.owner.id
    bad = served.client("kosmos_x_y").get("/api/v1/me", headers={"cookie": cookie})
    assert bad.status_code == 401


def test_a_cookie_reaches_as_far_as_its_token(served: Served, world: World) -> None:
    narrow = world.with_token(world.stranger, scope="read")
    cookie = _cookie(_sign_in(served, {"token": narrow.token}))
    headers = {"cookie": cookie, "origin": served.url, "sec-fetch-site": "same-origin"}
    made = served.client().post("/api/v1/spaces", json={"name": "no"}, headers=headers)
    assert made.status_code == 403
    world.stranger.ok("DELETE", f"/api/v1/tokens/{narrow.token.split('_')[1]}")
    assert served.client().get("/api/v1/me", headers=headers).status_code == 401


def test_evaluations_are_told_without_single_questions(served: Served, world: World) -> None:
    folder = served.settings.home / "evals"
    folder.mkdir(exist_ok=True)
    report = {"questions": 2, "each": {"secret question": {}}, "overall": {"MRR@10": {"value": 0.5}}}
    names = (
        "mine-20260101T000000000000",
        "mine-20260201T000000000000",
        "mine",
        "broken-20260301T000000000000",
    )
    for name in names:
        text = "{" if name.startswith("broken") else json.dumps({"name": "mine", "report": report})
        (folder / f"{name}.json").write_text(text)
    (folder / "chunks-20251201T000000000000.json").write_text(json.dumps({"rows": [], "k": 5}))
    found = world.admin.ok("GET", "/api/v1/evaluations")["items"]
    assert [(item["kind"], item["at"][:10]) for item in found] == [
        ("retrieval", "2026-02-01"),
        ("retrieval", "2026-01-01"),
        ("chunking", "2025-12-01"),
    ]
    assert "secret question" not in json.dumps(found)
    assert found[0]["body"]["report"]["overall"]["MRR@10"]["value"] == 0.5
    assert len(world.admin.ok("GET", "/api/v1/evaluations?limit=1")["items"]) == 1


def test_all_jobs_are_told_as_they_change(served: Served, world: World) -> None:
    space = world.owner.ok("POST", "/api/v1/spaces", {"name": "told"})["id"]
    document = world.add(space, text=TEXT)
    first = world.owner.call("GET", "/api/v1/jobs/events?seconds=0").text
    assert first.startswith("id: ")
    assert "event: open" in first
    assert "event: job" not in first
    last = first.split("\n", maxsplit=1)[0].removeprefix("id: ")
    job = world.owner.ok("POST", "/api/v1/jobs", {"type": "indexing", "document_id": document})
    told = world.owner.call("GET", f"/api/v1/jobs/events?seconds=0&after={last}").text
    bodies = [json.loads(line[6:]) for line in told.split("\n") if line.startswith('data: {"id"')]
    mine = [body for body in bodies if body["id"] == job["job"]["id"]]
    assert mine[-1]["status"] == "PENDING"
    other = world.stranger.call("GET", f"/api/v1/jobs/events?seconds=0&after={last}").text
    assert job["job"]["id"] not in other
    world.owner.ok("POST", f"/api/v1/jobs/{job['job']['id']}/cancel")
    again = world.owner.http.get(
        "/api/v1/jobs/events?seconds=0", headers={"last-event-id": str(int(last) + 1)}
    ).text
    assert '"status":"CANCELLED"' in again


def test_markdown_in_bounds(served: Served, world: World) -> None:
    found = world.stranger.ok("POST", "/api/v1/markdown", {"texts": ["**a**", "<b>"]})
    assert found["items"] == ["<p><strong>a</strong></p>\n", "<p>&lt;b&gt;</p>\n"]
    assert world.stranger.call("POST", "/api/v1/markdown", {"texts": ["x" * 100_001]}).status_code == 422
    assert world.stranger.call("POST", "/api/v1/markdown", {"texts": ["x"] * 101}).status_code == 422
