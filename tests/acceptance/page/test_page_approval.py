"""A run of the operations agent asks on the page; what a person says there is what happens, once."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from acceptance.agents.server import free_port
from acceptance.agents.test_approved_once import decide, trust
from acceptance.page.browsing import find_chromium, visit
from acceptance.page.conftest import Host
from kosmos.doubles.model_server import ModelServer


@contextmanager
def _double() -> Iterator[str]:
    """The scripted model in a loop of its own: the browser's driver keeps one in this thread."""
    ready, done = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve() -> None:
        async with ModelServer(decide) as double:
            found.append(double.base_url)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield found[0]
    finally:
        done.set()
        thread.join(30)


@pytest.mark.parametrize(
    ("button", "written", "said"), [("primary", "hello\n", "It is noted"), ("plain", "", "")]
)
def test_what_is_decided_on_the_page_happens(
    browser: Browser, tmp_path: Path, button: str, written: str, said: str
) -> None:
    find_chromium()
    notes = tmp_path / "notes.txt"
    trust(tmp_path / "home", notes)
    host = Host(tmp_path / "home", free_port())
    with _double() as model:
        host.start()
        try:
            with host.client() as http:
                form = {"name": "m", "type": "LLM", "base_url": model, "model": "m", "is_default": True}
                http.post("/api/v1/credentials", json=form).raise_for_status()
                agent = {"name": "operator", "workflow": "react", "allowed_tools": ["book__note"]}
                made = http.post("/api/v1/agents", json=agent).raise_for_status().json()["id"]
            with visit(browser, host.url) as person:
                person.page.goto(host.link())
                person.at(".drop")
                person.go(f"chat?agent={made}")
                person.page.locator(f'select[name=agent] option[value="{made}"]').wait_for(state="attached")
                person.at(".composer textarea").fill("Note hello.")
                person.page.keyboard.press("Enter")
                card = person.at(".approval")
                assert "hello" in card.inner_text()
                assert person.page.get_by_role("status").filter(has_text="waiting for your approval").count()
                assert not notes.exists()
                person.shoot(f"approval-real-{button}")
                if button == "primary":
                    card.locator("button.primary").click()
                    person.at(".answer", said)
                else:
                    card.locator("button:not(.primary)").first.click()
                    card.locator(".tag").wait_for()
            assert (notes.read_text() if notes.exists() else "") == written
        finally:
            host.end()
