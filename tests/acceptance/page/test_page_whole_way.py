"""The whole way of a person through the page, in both languages, at desktop and phone width."""

import json
import re
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Route, expect

from acceptance.page.browsing import Visit, visit
from acceptance.page.conftest import Host
from acceptance.small_site import SmallSite

MANUAL = """# Aurora weather station

## Batteries

The sensor batteries last two years at 20 degrees.

## Warranty

The warranty lasts 36 months if you register the device within 30 days.

## Contact

Write to aurora@example.com.
"""
HANDBOOK = """# 海港队列值班手册

## 证书

叶子证书每九十天轮换一次，由值班工程师执行。

## 备份

备份每天凌晨两点开始，保留三十天。
"""
ASK = {
    "en": ("How long do the sensor batteries last?", "two years"),
    "zh": ("叶子证书多久轮换一次？", "九十天"),
}
WORDS = {
    "en": {"create": "Create", "paused": "paused", "approved": "approved", "nomodel": "No model is set"},
    "zh": {"create": "创建", "paused": "已暂停", "approved": "已批准", "nomodel": "未配置模型"},
}


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_whole_way(host: Host, browser: Browser, site: SmallSite, language: str, size: str) -> None:
    with visit(browser, host.url, language=language, size=size) as person:
        _sign_in(host, person)
        space = _make_space(person, f"{language} {size}", WORDS[language]["create"])
        _drop_files(person)
        _read(person)
        _search(person, language)
        _watch_jobs(person)
        _pause_and_resume(host, person, site, space, WORDS[language])
        _ask(person, language)
        _approve(person, WORDS[language])
        assert person.complaints == []
        assert person.foreign == []


def _sign_in(host: Host, person: Visit) -> None:
    link = host.link()
    person.page.goto(link)
    person.at("kosmos-documents .drop")
    assert "link=" not in person.page.url
    cookies: list[Any] = person.page.context.cookies()
    assert [(item["httpOnly"], item["sameSite"]) for item in cookies] == [(True, "Strict")]
    code = link.split("link=")[1]
    again = httpx2.post(
        f"{host.url}/page/sign-in", json={"code": code}, headers={"origin": host.url}, trust_env=False
    )
    assert again.status_code == 401


def _make_space(person: Visit, name: str, create: str) -> str:
    person.page.locator(".room-head button").first.click()
    person.page.locator("dialog input[name=name]").fill(name)
    person.page.locator("dialog button[type=submit]", has_text=create).click()
    expect(person.page.locator(".room-head select option:checked")).to_have_text(name)
    expect(person.page.locator("tbody .soft")).to_have_count(1)
    return person.page.url.split("/")[-1]


def _drop_files(person: Visit) -> None:
    person.drop({"manual.md": MANUAL, "手册.md": HANDBOOK})
    expect(person.page.locator("tbody .tag.ready")).to_have_count(2, timeout=60_000)
    person.shoot("documents")


def _read(person: Visit) -> None:
    person.at("tbody a", "Aurora").click()
    line = person.at(".line", "The sensor batteries")
    assert line.get_attribute("data-n") == "5"
    assert person.at(".covered").inner_text() == "email"
    if not person.name.endswith("phone"):
        line.hover()
        assert "5–6" in person.at(".chunk.lit").inner_text()
        person.at(".chunk", "Warranty").hover()
        assert person.at(".line.lit", "Warranty").get_attribute("data-n") == "7"
    line.click()
    if person.name.endswith("phone"):
        person.page.locator('.tabs button[data-name="chunks"]').click()
    person.at(".chunk-details .prose p", "two years")
    person.shoot("reader")


def _search(person: Visit, language: str) -> None:
    question, words = ASK[language]
    person.way("search")
    person.at("input[type=search]").fill(question)
    person.page.keyboard.press("Enter")
    result = person.at(".result", words)
    result.locator(".why > summary").click()
    assert result.locator(".routes tbody tr").count() >= 1
    person.shoot("search")
    result.locator("header a").click()
    person.at(".line.aim")


def _watch_jobs(person: Visit) -> None:
    person.way("jobs")
    person.at(".job.completed")
    expect(person.page.locator(".job.running, .job.pending")).to_have_count(0, timeout=60_000)
    person.at(".job a", "manual.md").click()
    person.at(".chain .node.completed")
    assert person.page.locator(".chain .edge").count() >= 2
    person.shoot("jobs")


def _pause_and_resume(host: Host, person: Visit, site: SmallSite, space: str, words: dict[str, str]) -> None:
    person.way("jobs")
    with host.client() as http:
        form = {"space_id": space, "url": site.start, "delay": 60}
        job = http.post("/api/v1/crawls", json=form).raise_for_status().json()["job"]["id"]
        row = f'.job[data-id="{job}"]'
        person.at(f'{row} [data-act="pause"]').click()
        person.at(f"{row} .tag", words["paused"])
        person.shoot("paused")
        person.at(f'{row} [data-act="resume"]').click()
        person.at(f'{row} [data-act="pause"]')
        assert http.get(f"/api/v1/jobs/{job}").json()["status"] in ("PENDING", "RUNNING")
        person.at(f'{row} [data-act="cancel"]').click()
        person.at(f'{row} [data-act="retry"]')


def _ask(person: Visit, language: str) -> None:
    question, words = ASK[language]
    person.way("chat")
    person.at(".mode", WORDS[language]["nomodel"])
    person.page.locator(".composer textarea").fill(question)
    person.page.keyboard.press("Enter")
    person.at(".tag.extractive")
    cited = person.page.locator(".sources li", has_text=words).first
    cited.wait_for()
    number = cited.locator(".cite").inner_text()
    person.shoot("chat")
    person.at(".prose a.cite", re.compile(f"^{number}$")).click()
    mark = person.at(".line mark")
    assert words in "".join(person.page.locator(".line mark").all_inner_texts())
    expect(mark).to_be_in_viewport()
    person.shoot("quote")


def _approve(person: Visit, words: dict[str, str]) -> None:
    """The tools that ask are another matter: the events and the answer are those that are declared."""
    decided: list[Any] = []

    def answer(route: Route) -> None:
        decided.append(json.loads(route.request.post_data or "null"))
        route.fulfill(status=200, json={"id": "a1", "status": "APPROVED"})

    asked: dict[str, Any] = {"approval_id": "a1", "call": "c1", "tool": "kubectl", "level": "HIGH"}
    asked["argv"] = ["kubectl", "scale", "deploy/hq", "--replicas=3", "it's"]
    asked["preview"] = "@@ -1 +1 @@\n-replicas: 2\n+replicas: 3"
    events = [("run_start", {"strategy": "loop"}), ("approval_request", asked)]
    person.page.route("**/api/v1/approvals?*", lambda route: route.fulfill(json={"items": []}))
    person.page.route("**/api/v1/approvals/a1/decide", answer)
    person.page.route("**/runs", lambda route: _stream(route, events))
    person.page.route("**/runs/r1/events", lambda route: route.fulfill(status=204))
    person.way("chat")
    person.page.locator(".composer textarea").fill("scale it")
    person.page.keyboard.press("Enter")
    card = person.at(".approval")
    assert card.locator(".command").inner_text() == r"kubectl scale deploy/hq --replicas=3 'it'\''s'"
    assert card.locator(".diff .more").inner_text().strip() == "+replicas: 3"
    person.shoot("approval")
    card.locator("button.primary").click()
    card.locator(".tag", has_text=words["approved"]).wait_for()
    assert decided == [{"approved": True, "reason": ""}]
    person.page.unroute_all(behavior="ignoreErrors")


def _stream(route: Route, events: list[tuple[str, Any]]) -> None:
    if route.request.method != "POST":
        route.fulfill(json={"items": []})
        return
    body = "".join(
        f"id: {at}\nevent: {kind}\ndata: {json.dumps({'payload': payload})}\n\n"
        for at, (kind, payload) in enumerate(events, start=1)
    )
    headers = {"content-type": "text/event-stream", "kosmos-run-id": "r1"}
    route.fulfill(status=200, headers=headers, body=body)
