"""Lines that a model could not chunk are red, say why, and can be tried again; the ledger is a plot."""

from playwright.sync_api import Browser, expect

from acceptance.page.browsing import visit
from acceptance.page.conftest import Host

PART = "The pump 泵 number {0} is blue and needs oil every {0} days, says the manual of the maker. " * 6
TEXT = "\n\n".join(f"## Part {n}\n\n{PART.format(n)}\n\n{PART.format(n + 100)}" for n in range(12))


def _space(host: Host) -> str:
    """A space whose chunks come from a model that says nothing useful."""
    with host.client() as http:
        space: str = http.post("/api/v1/spaces", json={"name": "regions"}).raise_for_status().json()["id"]
        chunking = {"producer": "indexer", "fallback": "sentinel"}
        changed = http.patch(f"/api/v1/spaces/{space}", json={"settings": {"chunking": chunking}})
        changed.raise_for_status()
        return space


def test_failed_regions(modelled: Host, browser: Browser) -> None:
    space = _space(modelled)
    with visit(browser, modelled.url) as person:
        person.page.goto(modelled.link())
        person.at(".drop")
        person.go(f"documents/{space}")
        expect(person.page.locator(".room-head select option:checked")).to_have_text("regions")
        person.drop({"pumps.md": TEXT})
        person.at("tbody .tag.ready")
        person.at("tbody td:nth-child(5)", "token")
        person.at("tbody th a").click()
        failed = person.at(".line.failed")
        assert failed.evaluate("(line) => getComputedStyle(line).backgroundColor") == "rgb(252, 235, 233)"
        failed.click()
        person.at(".chunk-details .bad-text", "Chunking failed")
        person.shoot("failed")
        person.page.locator(".chunk-details button.danger").click()
        person.at(".note", "tried again")
        person.way("jobs")
        person.at(".job a", "pumps.md").click()
        person.at(".plots .bars li")
        assert person.page.locator(".curves circle").count() >= 1
        person.shoot("ledger")
        assert person.complaints == []
