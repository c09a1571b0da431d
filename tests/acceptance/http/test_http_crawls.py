"""A site is crawled over HTTP by a server that works on jobs itself, and reported on."""

import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from acceptance.http.serving import Served
from acceptance.http.world import Person, World, first_person
from acceptance.small_site import SmallSite, serve_site
from kosmos.config import load_settings


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    with serve_site() as made:
        yield made


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory, site: SmallSite) -> Iterator[Person]:
    """The owner of a server that works on jobs and may fetch from the site."""
    home = tmp_path_factory.mktemp("crawling")
    environ = {"KOSMOS_HOME": str(home), "KOSMOS_FETCH_ALLOW_HOSTS": site.place}
    with Served(load_settings(environ)) as served:
        yield first_person(served)


def _space(person: Person) -> str:
    return str(person.ok("GET", "/api/v1/spaces")["items"][0]["id"])


def _ended(person: Person, job_id: str) -> dict[str, Any]:
    for _ in range(600):
        job: dict[str, Any] = person.ok("GET", f"/api/v1/jobs/{job_id}")
        if job["status"] in ("COMPLETED", "FAILED", "CANCELLED"):
            return job
        time.sleep(0.05)
    raise AssertionError(job)


def _idle(person: Person) -> None:
    """Wait until all jobs have ended."""
    for job in person.ok("GET", "/api/v1/jobs?limit=1000")["items"]:
        assert _ended(person, job["id"])["status"] == "COMPLETED"


def test_a_site_is_crawled_and_reported_on(ada: Person, site: SmallSite) -> None:
    prefixes = ["/docs/", "http://169.254.169.254/docs/"]
    form = {"space_id": _space(ada), "url": site.start, "prefixes": prefixes, "delay": 0}
    started = ada.ok("POST", "/api/v1/crawls", form)
    assert (started["existing"], started["crawl"]["start"]) == (False, site.start)
    job = _ended(ada, started["job"]["id"])
    assert (job["status"], job["result"]["kept"]) == ("COMPLETED", 2)
    _idle(ada)
    crawl = ada.ok("GET", f"/api/v1/crawls/{started['crawl']['id']}")
    report = crawl["report"]
    assert (crawl["round"], crawl["job"]["id"]) == (1, job["id"])
    assert report["states"] == {"gone": 1, "kept": 2, "redirect": 1, "refused": 1, "skipped": 1}
    assert report["statuses"] == {"200": 2, "302": 1, "404": 1}
    assert sorted(item["url"].rsplit("/", 1)[1] for item in report["broken"]) == ["latest", "missing"]
    assert report["skipped"]["robots.txt"]["count"] == 1
    assert site.asked["/docs/secret"] == 0
    hits = ada.ok("POST", "/api/v1/search", {"query": "叶子证书轮换"})["items"]
    assert hits[0]["source"] == f"{site.place}/docs/pump"
    picture = ada.call("GET", f"/api/v1/crawls/{crawl['id']}/picture")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in picture.headers["content-security-policy"]
    assert ET.fromstring(picture.text).tag.endswith("svg")

    again = ada.ok("POST", "/api/v1/crawls", form)
    job = _ended(ada, again["job"]["id"])
    assert (again["crawl"]["id"], job["result"]["round"], job["result"]["entered"]) == (crawl["id"], 2, 0)
    for query in ("", f"?space_id={_space(ada)}"):
        assert [item["id"] for item in ada.ok("GET", f"/api/v1/crawls{query}")["items"]] == [crawl["id"]]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"url": "http://10.0.0.1/"}, 422),
        ({"url": "ftp://127.0.0.1:9/"}, 422),
        ({"url": ""}, 422),
        ({"profile": "nope"}, 422),
        ({"max_pages": 0}, 422),
        ({"delay": -1}, 422),
        ({"robots": False}, 422),
        ({"space_id": "missing"}, 404),
    ],
)
def test_what_cannot_be_crawled(world: World, change: dict[str, Any], status: int) -> None:
    person = world.stranger
    before = person.ok("GET", "/api/v1/crawls")
    form = {"space_id": world.own["space_id"], "url": "http://127.0.0.1:9/x/", **change}
    answer = person.call("POST", "/api/v1/crawls", form)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert json.loads(answer.text)["remedy"]
    assert person.ok("GET", "/api/v1/crawls") == before
