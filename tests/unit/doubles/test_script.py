import json
from pathlib import Path
from typing import Any

import pytest

from kosmos.doubles.replies import DEFAULT_REPLY, Anywhere, Reply, ToolCall
from kosmos.doubles.requests import fingerprint, safe_headers
from kosmos.doubles.script import Script, ScriptFile, load_script
from kosmos.errors import InvalidInput


def ask(text: str, *, system: str = "") -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}


def test_replies_come_in_order_and_then_the_default() -> None:
    first, second = Reply(content="1"), Reply(content="2")
    script = Script([first, second])

    assert script.unused == (first, second)
    assert [script.choose("chat", ask("x")) for _ in range(3)] == [first, second, DEFAULT_REPLY]
    assert not script.unused


def test_the_first_unused_match_wins() -> None:
    cats, any_cat, rest = Reply(when="cats"), Reply(when="cat", repeat=True), Reply(content="rest")
    script = Script([cats, any_cat, rest])

    assert script.choose("chat", ask("two cats")) is cats
    assert script.choose("chat", ask("two cats")) is any_cat
    assert script.choose("chat", ask("two cats")) is any_cat
    assert script.choose("chat", ask("a dog")) is rest
    assert script.choose("chat", ask("a dog")) is DEFAULT_REPLY


def test_a_text_is_sought_in_the_last_user_message_only() -> None:
    script = Script([Reply(when="title", content="no"), Reply(when=Anywhere("title"), content="yes")])
    later = [{"role": "assistant", "content": None}, {"role": "tool", "content": "title"}]
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    asked = {"messages": [{"role": "user", "content": "title"}, {"role": "user", "content": parts}, *later]}

    assert script.choose("chat", asked).content == "yes"


def test_predicates_see_the_whole_request() -> None:
    script = Script([Reply(content="warm", when=lambda body: body.get("temperature", 0) > 0.5)])

    assert script.choose("chat", ask("x")) is DEFAULT_REPLY
    assert script.choose("chat", {**ask("x"), "temperature": 1}).content == "warm"


def test_each_endpoint_has_its_own_replies() -> None:
    broken = Reply(endpoint="embeddings", status=500, when="two")
    script = Script([broken, Reply(content="chat")])

    assert script.choose("embeddings", {"input": ["one"]}).status == 200
    assert script.choose("chat", ask("two")).content == "chat"
    assert script.choose("embeddings", {"input": ["one", "two"]}) is broken
    assert script.choose("rerank", {"query": "two"}).status == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"status": 302},
        {"status": 700},
        {"delay": -1},
        {"truncate_after": -1},
        {"endpoint": "rerank", "content": "x"},
        {"vectors": 1},
        {"endpoint": "rerank", "not_a_number": True},
        {"endpoint": "embeddings", "dimension": -1},
    ],
)
def test_impossible_replies_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Reply(**fields)


def test_a_file_holds_everything_a_reply_can_be(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    full = {
        "content": "答",
        "tool_calls": [
            {"name": "f", "arguments": {"a": 1}},
            {"name": "g", "arguments": "{broken", "id": "c1"},
        ],
        "reasoning": "r",
        "finish_reason": "length",
        "usage": {"prompt_tokens": 7},
        "status": 429,
        "retry_after": 2,
        "delay": 0.5,
        "pace": 1,
        "hang": True,
        "malformed": "<html>",
        "truncate_after": 3,
        "when": {"anywhere": "x"},
        "repeat": True,
        "endpoint": "chat",
    }
    spoiled = {"endpoint": "embeddings", "vectors": 0, "dimension": 3, "not_a_number": True}
    path.write_text(
        json.dumps({"replies": [full, {"when": "y"}, spoiled], "default": {"content": "d"}, "dimension": 8})
    )

    script = load_script(path)

    assert script.dimension == 8
    assert script.default == Reply(content="d")
    assert script.replies[1] == Reply(when="y")
    reply = script.replies[0]
    assert {name for name in full if getattr(reply, name) == full[name]} >= {
        *(full.keys() - {"tool_calls", "when"})
    }
    assert script.replies[2] == Reply(endpoint="embeddings", vectors=0, dimension=3, not_a_number=True)
    assert full.keys() | spoiled.keys() == Reply.__dataclass_fields__.keys()
    assert reply.tool_calls == (ToolCall("f", {"a": 1}), ToolCall("g", "{broken", "c1"))
    assert reply.when == Anywhere("x")


def test_an_empty_script_is_the_default_one(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text("{}")
    assert load_script(path) == ScriptFile()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"replies": [', "line 1, column 14"),
        ("[]", "at the top"),
        ('{"replys": []}', "at replys"),
        ('{"replies": [{}, {"contnet": "x"}]}', r"at replies\[1\]\.contnet"),
        ('{"replies": [{"status": "429"}]}', r"at replies\[0\]\.status: Input should be a valid integer"),
        ('{"replies": [{"status": 99}]}', r"at replies\[0\]: status 99 is neither"),
        ('{"replies": [{"when": 3}]}', r"at replies\[0\]\.when: "),
        ('{"replies": [{"tool_calls": [{"name": "f", "arguments": 3}]}]}', r"tool_calls\[0\]\.arguments: "),
        ('{"replies": [{"endpoint": "chta"}]}', r"at replies\[0\]\.endpoint: "),
        ('{"default": {"endpoint": "rerank"}}', "default reply is for chat only"),
        ('{"dimension": 0}', "dimension 0 is not positive"),
    ],
)
def test_a_mistake_in_a_file_is_named_by_its_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=place) as caught:
        load_script(path)
    assert str(path) in caught.value.message
    assert caught.value.remedy


def test_unreadable_files_are_invalid_input(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    with pytest.raises(InvalidInput, match="No such file"):
        load_script(path)
    path.write_bytes(b'{"default": "\xff"}')
    with pytest.raises(InvalidInput, match="not UTF-8"):
        load_script(path)


def test_secret_headers_are_kept_as_fingerprints() -> None:
    kept = safe_headers([("Authorization", "Bearer sk-1"), ("X-Api-Key", "sk-2"), ("Accept", "*/*")])

    assert kept == {
        "authorization": fingerprint("Bearer sk-1"),
        "x-api-key": fingerprint("sk-2"),
        "accept": "*/*",
    }
    assert len(kept["authorization"]) == 64
