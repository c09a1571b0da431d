"""axe-core finds nothing serious in any room, light or dark, in either language."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from acceptance.page.browsing import Visit, visit
from acceptance.page.conftest import Host

ROOMS = ("documents", "search", "chat", "jobs", "agents", "evaluation")
TEXT = "# Valves\n\nA valve opens at dawn. Ask valve@example.com.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
FOLDER = Path(__file__).parents[3] / ".axe" / "node_modules"


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core, from npm where it can be had."""
    given = os.environ.get("KOSMOS_TEST_AXE")
    path = Path(given) if given else FOLDER / "axe-core" / "axe.min.js"
    if not path.is_file() and shutil.which("npm"):
        command = [
            "npm",
            "install",
            "--prefix",
            str(FOLDER.parent),
            "--no-save",
            "--no-package-lock",
            "axe-core@4",
        ]
        subprocess.run(command, check=False, capture_output=True, timeout=120)
    if not path.is_file():
        pytest.skip("no axe-core: npm install --prefix .axe --no-save axe-core@4")
    return path.read_text(encoding="utf-8")


def _check(person: Visit, axe: str, place: str) -> list[str]:
    person.page.evaluate(axe)
    found: list[dict[str, Any]] = person.page.evaluate("axe.run(document).then((found) => found.violations)")
    return [
        f"{place}: {item['id']} {json.dumps([node['html'][:160] for node in item['nodes'][:3]])}"
        for item in found
        if item["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("language", "size", "theme"), [("en", "desktop", "light"), ("zh", "phone", "dark")])
def test_no_serious_violation(
    host: Host, browser: Browser, axe: str, language: str, size: str, theme: str
) -> None:
    with visit(browser, host.url, language=language, size=size) as person:
        person.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        person.page.goto(f"{host.url}/")
        person.at("kosmos-signin form")
        wrong = _check(person, axe, "sign in")
        person.page.goto(host.link())
        person.page.reload()  # the address differs by its fragment alone
        person.at(".drop")
        person.drop({f"valves {language}.md": TEXT})
        expect(
            person.page.locator("tbody tr", has_text=f"valves {language}").locator(".tag.ready")
        ).to_have_count(1)
        for room in ROOMS:
            person.way(room)
            person.at(f"main kosmos-{room} h1, main kosmos-{room} textarea")
            person.page.wait_for_timeout(250)
            wrong += _check(person, axe, room)
        person.way("documents")
        person.at("tbody a").click()
        person.at(".line").click()
        wrong += _check(person, axe, "reader")
        person.way("documents")
        person.page.locator(".room-head button").nth(1).click()
        person.at("dialog .members li")
        wrong += _check(person, axe, "settings")
        assert wrong == []
