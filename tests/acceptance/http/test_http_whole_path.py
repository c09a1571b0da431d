"""The main job over HTTP, from an empty account to an empty account again."""

import asyncio
from typing import Any

import pytest

from acceptance.http.world import Person, World
from kosmos.doubles.model_server import ModelServer, Reply, fingerprint

GUIDE = """---
title: Pump guide
tags: [泵, pump]
---
# Pump guide

The blue pump must be oiled every 40 days. Use no other oil than HX-7.

## Batteries

Rechargeable cells must not be used in the sensor on the pole.
"""
GUIDE_ZH = """# 证书手册

## 轮换

叶子证书每九十天轮换一次，由正式值班操作。
更换根证书须由平台值班经理批准。
"""
QUESTIONS = {
    "How often must the blue pump be oiled?": "every 40 days",
    "叶子证书多久轮换一次？": "叶子证书每九十天轮换一次",
}


@pytest.fixture
def person(world: World) -> Person:
    """Somebody new."""
    return world.join(f"新人 {len(world.admin.ok('GET', '/api/v1/users')['items'])}")


def _check_quotes(person: Person, answer: dict[str, Any]) -> None:
    """Every quote stands, to the letter, in the lines that the server gives out for it."""
    for item in answer["citations"]:
        span = f"start={item['start_line']}&end={item['end_line']}"
        served = person.ok("GET", f"/api/v1/documents/{item['document_id']}/lines?{span}")
        assert item["quote"] in "\n".join(served["lines"])
        assert f"[{item['marker']}]" in answer["answer"]


def test_from_a_space_to_cited_answers_and_back(world: World, person: Person) -> None:
    space = person.ok("POST", "/api/v1/spaces", {"name": "手册", "metadata": {"团队": ["消息组"]}})
    base = f"/api/v1/spaces/{space['id']}"
    ids = [world.add(space["id"], name, text) for name, text in (("g.md", GUIDE), ("证书.md", GUIDE_ZH))]
    assert [item["id"] for item in person.ok("GET", f"{base}/documents")["items"]] == ids
    assert person.ok("GET", f"/api/v1/documents/{ids[0]}")["metadata"]["tags"] == ["泵", "pump"]
    lines = person.ok("GET", f"/api/v1/documents/{ids[1]}/lines")
    assert lines["lines"] == GUIDE_ZH.rstrip("\n").split("\n")
    assert (lines["start_line"], lines["end_line"], lines["line_count"]) == (1, 6, 6)
    hits = person.ok("POST", "/api/v1/search", {"query": "证书 轮换", "k": 3})["items"]
    assert hits[0]["document_id"] == ids[1]
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    for question, words in QUESTIONS.items():
        answer = person.ok("POST", "/api/v1/ask", {"question": question, "space_ids": [space["id"]]})
        assert any(words in item["quote"] for item in answer["citations"]), question
        _check_quotes(person, answer)
    assert person.ok("POST", "/api/v1/ask", {"question": "zebra xylophone?"})["citations"] == []
    assert person.call("DELETE", f"/api/v1/documents/{ids[0]}").status_code == 204
    assert person.call("GET", f"/api/v1/documents/{ids[0]}/lines").status_code == 404
    assert person.ok("POST", "/api/v1/search", {"query": "blue pump oiled"})["items"] == []
    assert person.call("DELETE", base).status_code == 204
    assert person.ok("GET", "/api/v1/spaces")["items"] == []
    assert person.call("GET", f"/api/v1/documents/{ids[1]}").status_code == 404


def test_pages_of_a_list_hold_everything_once(world: World, person: Person) -> None:
    made = [person.ok("POST", "/api/v1/spaces", {"name": f"space {n}"})["id"] for n in range(7)]
    for n in range(5):
        world.add(made[0], f"{n}.md", f"# {n}\n\ntext {n}\n")
    for path, count in (("/api/v1/spaces", 7), (f"/api/v1/spaces/{made[0]}/documents", 5)):
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = person.ok("GET", f"{path}?limit=2&after={after}")
            assert len(page["items"]) <= 2
            found += [item["id"] for item in page["items"]]
            after = page["next"]
        assert len(found) == len(set(found)) == count


def test_a_line_range_outside_the_text(world: World, person: Person) -> None:
    space = person.ok("POST", "/api/v1/spaces", {"name": "short"})["id"]
    document = world.add(space, "three.md", "a\nb\nc")
    path = f"/api/v1/documents/{document}/lines"
    assert person.ok("GET", f"{path}?start=2&end=99")["lines"] == ["b", "c"]
    assert person.ok("GET", f"{path}?start=3&end=3")["lines"] == ["c"]
    for query in ("start=3&end=1", "start=0", "end=0", "start=99999999999"):
        assert person.call("GET", f"{path}?{query}").status_code == 422, query


def _try_model(person: Person, base_url: str) -> list[int]:
    form = {"name": "double", "type": "LLM", "base_url": base_url, "model": "scripted", "key": "sk-1"}
    path = f"/api/v1/credentials/{person.ok('POST', '/api/v1/credentials', form)['id']}"
    answers = [person.call("POST", f"{path}/test") for _ in range(3)]
    assert answers[0].json()["model"] == "scripted"
    assert answers[2].headers["retry-after"] == "3"
    shown = person.ok("PATCH", path, {"key": ""})
    assert (shown["has_key"], "key" in shown) == (False, False)
    answers.append(person.call("DELETE", path))
    answers.append(person.call("GET", path))
    return [answer.status_code for answer in answers]


async def test_a_credential_is_tried_out(world: World, person: Person) -> None:
    script = [Reply(content="pong"), Reply(status=401), Reply(status=429, retry_after=2)]
    async with ModelServer(script) as provider:
        codes = await asyncio.to_thread(_try_model, person, provider.base_url)
        assert provider.requests[0].headers["authorization"] == fingerprint("Bearer sk-1")
    assert codes == [200, 502, 502, 204, 404]


@pytest.mark.parametrize(("kind", "said"), [("EMBEDDING", "dimension 384"), ("RERANK", "2 results")])
async def test_other_kinds_of_models(world: World, person: Person, kind: str, said: str) -> None:
    async with ModelServer() as provider:
        form = {"name": kind, "type": kind, "base_url": provider.base_url, "model": "scripted"}
        made = await asyncio.to_thread(person.ok, "POST", "/api/v1/credentials", form)
        probe = await asyncio.to_thread(person.ok, "POST", f"/api/v1/credentials/{made['id']}/test")
    assert probe == {"model": "scripted", "detail": said}
