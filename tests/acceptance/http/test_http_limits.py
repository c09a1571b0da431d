"""Metrics, quotas and rate limits over HTTP, on an instance that has all of them."""

from collections.abc import Iterator

import httpx2
import pytest

from acceptance.http.serving import Served
from acceptance.http.world import Person, first_person, join
from kosmos.config import load_settings
from kosmos.telemetry import measures

UPLOAD = b'--kosmos\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n--kosmos--\r\n'
RATE = 40


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An instance with limits."""
    environ = {
        "KOSMOS_HOME": str(tmp_path_factory.mktemp("limited")),
        "KOSMOS_WORKER_SLOTS": "0",
        "KOSMOS_ENCODER": "none",
        "KOSMOS_METRICS_TOKEN": "for-prometheus",
        "KOSMOS_RATE_LIMIT": str(RATE),
        "KOSMOS_QUOTA_SPACE_DOCUMENTS": "2",
        "KOSMOS_QUOTA_USER_BYTES": "1000",
    }
    with Served(load_settings(environ)) as served:
        yield served


@pytest.fixture
def admin(limited: Served) -> Person:
    """The first user."""
    return first_person(limited)


def _metrics(served: Served, token: str | None) -> httpx2.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx2.get(f"{served.url}/metrics", headers=headers)


def _upload(who: Person, space: str, name: str, text: str) -> httpx2.Response:
    return who.call("POST", f"/api/v1/spaces/{space}/documents", UPLOAD % (name.encode(), text.encode()))


def test_metrics_need_a_token(limited: Served) -> None:
    for token in (None, "for-prometheus2", "kosmos_x_y", "ключ"[:0] or "x"):
        answer = _metrics(limited, token)
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"


def test_metrics_tell_of_routes_and_never_of_what_was_written(limited: Served, admin: Person) -> None:
    admin.call("GET", "/api/v1/spaces/0190b1d2-7c3a-7b3e-9d1f-0c5a3e1f2a4b")
    admin.call("GET", "/api/v1/secret-path-of-a-user")
    answer = _metrics(limited, "for-prometheus")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert '{method="GET",route="/api/v1/spaces/{space_id}",status="404"}' in answer.text
    assert 'route="none",status="404"' in answer.text
    assert "kosmos_jobs_oldest_due_seconds " in answer.text
    assert "secret-path" not in answer.text
    assert "0190b1d2" not in answer.text
    assert "for-prometheus" not in answer.text


def test_a_space_takes_no_more_documents_than_its_quota(limited: Served, admin: Person) -> None:
    space = admin.ok("POST", "/api/v1/spaces", {"name": "small"})["id"]
    for number in range(2):
        assert _upload(admin, space, f"{number}.md", f"# Note {number}\n").status_code == 201
    refused = _upload(admin, space, "third.md", "# Third\n")
    assert refused.status_code == 413
    assert refused.json()["title"] == "OverQuota"
    assert "2 of 2 documents" in refused.json()["detail"]
    assert refused.json()["remedy"]
    assert len(admin.ok("GET", f"/api/v1/spaces/{space}/documents")["items"]) == 2


def test_the_owner_pays_for_the_bytes_of_all_their_spaces(limited: Served, admin: Person) -> None:
    owner = join(limited, admin, "owner of bytes")
    first, second = (owner.ok("POST", "/api/v1/spaces", {"name": name})["id"] for name in ("a", "b"))
    assert _upload(owner, first, "big.md", "# Big\n" + "word " * 150).status_code == 201
    refused = _upload(owner, second, "more.md", "# More\n" + "word " * 150)
    assert refused.status_code == 413
    assert "bytes" in refused.json()["detail"]
    assert _upload(owner, second, "little.md", "# Little\n").status_code == 201


def test_an_owner_narrows_the_limits_of_a_space(limited: Served, admin: Person) -> None:
    space = admin.ok("POST", "/api/v1/spaces", {"name": "narrow"})["id"]
    path = f"/api/v1/spaces/{space}"
    assert admin.call("PATCH", path, {"settings": {"limits": {"documents": -1}}}).status_code == 422
    assert admin.call("PATCH", path, {"settings": {"limits": {"chairs": 1}}}).status_code == 422
    admin.ok("PATCH", path, {"settings": {"limits": {"documents": 1}}})
    assert _upload(admin, space, "one.md", "# One\n").status_code == 201
    assert _upload(admin, space, "two.md", "# Two\n").status_code == 413


def test_a_token_that_asks_too_often_has_to_wait(limited: Served, admin: Person) -> None:
    hasty = join(limited, admin, "hasty")
    refusals = measures.REFUSALS.value("rate")
    answers = [hasty.call("GET", "/api/v1/me") for _ in range(RATE + 2)]
    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert answers[-1].json()["title"] == "SlowDown"
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert measures.REFUSALS.value("rate") > refusals
    assert admin.call("GET", "/api/v1/me").status_code == 200
