"""A server that ends under an open page: the page waits, comes back and shows the truth."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from acceptance.agents.server import free_port
from acceptance.page.browsing import visit
from acceptance.page.conftest import Host

TEXT = b"# Notes\n\nA valve opens at dawn.\n"


@pytest.fixture
def mortal(tmp_path: Path) -> Host:
    """A server that may be killed."""
    return Host(tmp_path / "home", free_port())


def _upload(host: Host, name: str) -> str:
    with host.client() as http:
        space = http.get("/api/v1/spaces").json()["items"][0]["id"]
        sent = http.post(f"/api/v1/spaces/{space}/documents", params={"filename": name}, content=TEXT)
        job: str = sent.raise_for_status().json()["added"][0]["jobs"][-1]["id"]
        return job


def test_a_page_outlives_its_server(mortal: Host, browser: Browser) -> None:
    mortal.start()
    try:
        with visit(browser, mortal.url) as person:
            person.page.goto(_printed(mortal))
            before = _upload(mortal, "before.md")
            person.way("jobs")
            person.at(f'.job.completed[data-id="{before}"]')
            person.at(".state.open")
            mortal.end()
            person.at(".state.lost")
            person.shoot("lost")
            mortal.start()
            person.at(".state.open")
            after = _upload(mortal, "after.md")
            person.at(f'.job.completed[data-id="{after}"]')
            assert person.page.locator(f'.job[data-id="{before}"]').count() == 1
            person.way("documents")
            expect(person.page.locator("tbody .tag.ready")).to_have_count(2)
    finally:
        mortal.end()


def _printed(host: Host) -> str:
    """The link as `kosmos serve` prints it."""
    line = next(line for line in host.log.read_text().split("\n") if "#link=" in line)
    return line.split(": ", maxsplit=1)[1]
