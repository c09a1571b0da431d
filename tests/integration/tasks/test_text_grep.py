"""Grep over all that one may read: complete, or honest about what is missing, and always in time."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from kosmos.domain.accounts import Role, Scope
from kosmos.errors import InvalidInput, NotFound
from kosmos.tasks import grep as grep_module
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.grep import Found, Wanted, grep_documents

from .scene import HookedBlobs, Scene

# What keeps a backtracking engine busy for longer than the universe is old.
CATASTROPHES = [r"(a+)+$", r"(a|aa)+$", r"(.*a){30}b", r"((a?){50}){20}c", r"(x+x+)+y|^(a*)*!$"]


async def _grep(scene: Scene, pattern: str, **options: Any) -> Found:
    return await grep_documents(scene.bench, scene.owner, Wanted(pattern, **options))


def _places(found: Found) -> list[tuple[str, int]]:
    return [(match.source, match.line) for match in found.matches]


async def test_all_documents_in_their_order(scene: Scene) -> None:
    for number in range(5):
        await scene.add(f"# {number}\n\nwhale {number}\n\n鲸鱼 Whale", f"{number}.md")
    found = await _grep(scene, "whale")
    assert _places(found) == [(f"{number}.md", 3) for number in range(5)]
    assert (found.truncated, found.searched, found.without_text) == ("", 5, 0)
    assert len((await _grep(scene, "whale", ignore_case=True)).matches) == 10
    assert _places(await _grep(scene, "鲸.W")) == []
    assert len((await _grep(scene, "鲸. W")).matches) == 5
    assert _places(await _grep(scene, "whale [24]$")) == [("2.md", 3), ("4.md", 3)]
    assert _places(await _grep(scene, "whale [24]$", fixed=True)) == []


async def test_many_documents_are_all_searched(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_PAGE", 3), ("_AT_ONCE", 2), ("_BYTES", 40)):
        monkeypatch.setattr(grep_module, name, value)
    texts = [f"whale {'x' * (number * 7)}" for number in range(10)]
    for number, text in enumerate(texts):
        await scene.add(text, f"{number}.md")
    found = await _grep(scene, "whale")
    assert _places(found) == [(f"{number}.md", 1) for number in range(10)]
    assert found.searched == 10


@pytest.mark.parametrize("most", [1, 2, 3, 4])
async def test_it_says_when_there_are_more(scene: Scene, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(grep_module, "_AT_ONCE", 1)
    await scene.add("whale\nwhale\n\nno", "two.md")
    await scene.add("whale\n\nno", "one.md")
    await scene.add("nothing of that kind", "last.md")
    found = await _grep(scene, "whale", max_matches=most)
    assert len(found.matches) == min(most, 3)
    assert found.truncated == ("matches" if most < 3 else "")


@pytest.mark.parametrize("pattern", CATASTROPHES)
async def test_a_catastrophic_pattern_ends_in_time(scene: Scene, pattern: str) -> None:
    document, _ = await scene.add("\n".join(["a" * 20_000] * 20 + ["aaab"]))
    started = time.monotonic()
    found = await _grep(scene, pattern, document_id=document.id, seconds=2.0)
    assert time.monotonic() - started < 60  # it would never end otherwise
    assert found.truncated in ("", "deadline", "matches")


async def test_when_time_is_up_it_says_so_and_gives_what_it_has(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_module, "_AT_ONCE", 1)
    _, second, _ = [(await scene.add(f"whale {number}", f"{number}.md"))[0] for number in range(3)]

    class Slow(HookedBlobs):
        async def read(self, sha256: str) -> Any:
            if sha256 == second.canonical_sha256:
                await asyncio.sleep(3600)
            return await self._inner.read(sha256)

    slow = scene.using(blobs=Slow(scene.bench.blobs))
    found = await _grep(slow, "whale", seconds=1.0)
    assert (_places(found), found.truncated, found.searched) == ([("0.md", 1)], "deadline", 1)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"pattern": "(a)\\1"}, "references back"),
        ({"pattern": "a(?=b)"}, "looking ahead"),
        ({"pattern": "(?>a)"}, "atomic"),
        ({"pattern": "("}, "not understood"),
        ({"pattern": ""}, "1 to"),
        ({"pattern": "a\nb"}, "one line"),
        ({"pattern": "x" * 2000}, "2000"),
        ({"pattern": "(a{500}){500}"}, "too large"),
        ({"pattern": "a", "context": 51}, "context"),
        ({"pattern": "a", "context": -1}, "context"),
        ({"pattern": "a", "max_matches": 0}, "matches"),
        ({"pattern": "a", "max_matches": 10_000, "context": 50}, "too much"),
        ({"pattern": "a", "seconds": 0.0}, "seconds"),
        ({"pattern": "a", "seconds": float("nan")}, "seconds"),
        ({"pattern": "a", "seconds": 1e9}, "seconds"),
    ],
)
async def test_what_cannot_be_looked_for(scene: Scene, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await _grep(scene, **options)
    assert word in caught.value.message
    assert caught.value.remedy


async def test_only_what_the_caller_may_read(scene: Scene) -> None:
    bob = await scene.person("bob")
    mine = replace(scene, owner=bob, space_id=await scene.space(bob, "bobs"))
    hidden, _ = await scene.add("whales of ada")
    await mine.add("whales of bob", "b.md")
    assert _places(await _grep(scene, "whales")) == [("a.md", 1)]
    assert _places(await _grep(mine, "whales")) == [("b.md", 1)]
    for options in ({"space_ids": [scene.space_id]}, {"document_id": hidden.id}):
        with pytest.raises(NotFound):
            await _grep(mine, "whales", **options)
    await scene.invite("bob", Role.VIEWER)
    reader = replace(mine, owner=replace(bob, scope=Scope.READ))
    assert len((await _grep(reader, "whales")).matches) == 2
    assert _places(await _grep(reader, "whales", space_ids=[scene.space_id] * 2)) == [("a.md", 1)]
    assert _places(await _grep(reader, "whales", document_id=hidden.id)) == [("a.md", 1)]
    assert (await _grep(reader, "whales", space_ids=[])).searched == 0


async def test_documents_without_text_are_counted(scene: Scene) -> None:
    kept, _ = await scene.add("whale", "kept.md")
    lost, _ = await scene.add("whale too", "lost.md")
    assert lost.canonical_sha256 is not None
    await scene.bench.blobs.remove(lost.canonical_sha256)
    source = Source("test:///new", "new.md", b"whale to come")
    await add_document(scene.bench, scene.owner, scene.space_id, source)
    found = await _grep(scene, "whale")
    assert [match.document_id for match in found.matches] == [kept.id]
    assert (found.searched, found.without_text, found.truncated) == (1, 2, "")


async def test_a_new_version_while_searching(scene: Scene) -> None:
    await scene.add("old whale")
    replaced = False

    class Slow(HookedBlobs):
        async def read(self, sha256: str) -> Any:
            nonlocal replaced
            if not replaced:
                replaced = True
                await scene.add("# New\n\nnew whale")
            return await self._inner.read(sha256)

    found = await _grep(scene.using(blobs=Slow(scene.bench.blobs)), "whale")
    assert [(match.line, match.text) for match in found.matches] == [(3, "new whale")]


async def test_several_searches_at_once(scene: Scene) -> None:
    for number in range(4):
        await scene.add(f"whale {number}", f"{number}.md")
    found = await asyncio.gather(*(_grep(scene, f"whale {number % 4}") for number in range(12)))
    assert [_places(item) for item in found] == [[(f"{number % 4}.md", 1)] for number in range(12)]
