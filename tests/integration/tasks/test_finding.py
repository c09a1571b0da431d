"""Search over a small hand-made site: filters, walk, grouping, thresholds, explanations."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.spaces import change_space
from kosmos.db import chunks
from kosmos.domain.answers import Findings, SearchHit
from kosmos.doubles.memory_store import MemoryStore
from kosmos.doubles.word_encoder import WordEncoder
from kosmos.errors import InvalidInput, NotFound
from kosmos.retrieval.conditions import Conditions
from kosmos.retrieval.indexing import collection_of
from kosmos.retrieval.search import Wanted
from kosmos.tasks import asking
from kosmos.tasks.documents import remove_document

from .scene import Scene

SITE = {
    "docs/pump.md": """---
title: Pump
author: Li
tags: [oil, care]
---
# Pump care

## Oiling the pump

The pump must be oiled every 40 days with pump oil. See [bearings](bearings.md).

## Cleaning the pump

Clean the pump with a dry cloth.

## What's next

Read about [storage](store.md).
""",
    "docs/bearings.md": "# Bearings\n\nOiling worn bearings needs special pump oil.\n\n# Zebra\n\nStripes.\n",
    "docs/store.md": "# Storage\n\nKeep pump oil in a cool room.\n",
    "docs/weather.md": "# Weather\n\nIt rains in Bergen.\n",
    "zh/泵.md": "# 泵\n\n## 加油\n\n水泵每四十天加一次油。\n\n## 清洁\n\n用干布清洁水泵。\n",
}


@pytest.fixture
async def site(scene: Scene) -> Scene:
    """The site in a store in memory, with vectors."""
    full = scene.using(store=MemoryStore(), encoder=WordEncoder(128, same={"水泵": "pump", "加油": "oil"}))
    for name, text in SITE.items():
        await full.add(text, name)
    return full


async def _find(site: Scene, query: str, **wanted: Any) -> Findings:
    return await asking.find(site.bench, site.owner, Wanted(query, **wanted))


async def _sources(site: Scene, query: str, **wanted: Any) -> list[str]:
    return [hit.source for hit in (await _find(site, query, **wanted)).hits]


async def test_all_routes_and_what_a_result_says(site: Scene) -> None:
    found = await _find(site, "How often must the pump be oiled?", k=3)
    assert found.warnings == ()
    best = found.hits[0]
    assert (best.source, best.origin, best.reason, best.space_id) == (
        "docs/pump.md",
        "anchor",
        "",
        site.space_id,
    )
    assert "every 40 days" in best.text
    assert set(best.routes) == {"vector", "summary_vector", "sparse_vector", "title_sparse"}
    assert len(found.hits) == 3


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Conditions(path="docs/b"), {"docs/bearings.md"}),
        (Conditions(metadata={"author": "Li"}), {"docs/pump.md"}),
        (Conditions(metadata={"tags": "care", "author": "Li"}), {"docs/pump.md"}),
        (Conditions(metadata={"author": "Wu"}), set()),
        (Conditions(languages=("zh",)), {"zh/泵.md"}),
        (Conditions(heading="Pump care > Oiling"), {"docs/pump.md"}),
        (Conditions(filetypes=("pdf",)), set()),
        (Conditions(since="2100-01-01"), set()),
        (Conditions(until="2100-01-01", path="docs/s"), {"docs/store.md"}),
        (Conditions(pages=(1, 3)), set()),
    ],
)
async def test_filters(site: Scene, where: Conditions, expected: set[str]) -> None:
    assert set(await _sources(site, "pump oil 水泵", where=where, k=50)) == expected


async def test_filters_on_document_type_and_level(site: Scene) -> None:
    (pump,) = [item for item in await site.documents() if item.source == "docs/pump.md"]
    only = Conditions(document_ids=(pump.id,))
    assert set(await _sources(site, "oil", where=only, k=50)) == {"docs/pump.md"}
    headings = (await _find(site, "oiling", where=Conditions(types=("heading",), levels=(2,)))).hits
    assert headings[0].text.startswith("## Oiling")
    assert all(hit.text.startswith("## ") for hit in headings)
    with pytest.raises(InvalidInput):
        await _find(site, "oil", where=Conditions(types=("chapter",)))


async def test_offset_and_groups(site: Scene) -> None:
    whole = (await _find(site, "pump oil", k=6)).hits
    paged = [hit for offset in (0, 2, 4) for hit in (await _find(site, "pump oil", k=2, offset=offset)).hits]
    assert [hit.chunk_id for hit in paged] == [hit.chunk_id for hit in whole]
    groups = (await _find(site, "pump oil", k=6, grouped=True)).hits
    assert len({hit.document_id for hit in groups}) == len(groups) > 2
    pump = next(hit for hit in groups if hit.source == "docs/pump.md")
    everything = (await _find(site, "pump oil", k=50)).hits
    assert pump.more == sum(hit.source == "docs/pump.md" for hit in everything) - 1


async def test_neighbours_are_the_chunks_before_and_after(site: Scene) -> None:
    best = (await _find(site, "oiled every 40 days", k=1, neighbours=1)).hits[0]
    before, after = best.neighbours
    assert (before.text.strip(), after.text.strip()) == ("## Oiling the pump", "## Cleaning the pump")
    assert (before.end_line + 1, after.start_line - 1) == (best.start_line, best.end_line)


async def test_a_threshold_keeps_only_what_is_alike(site: Scene) -> None:
    everything = (await _find(site, "pump oil", k=50, likeness=True)).hits
    assert all(hit.likeness is not None for hit in everything)
    kept = (await _find(site, "pump oil", k=50, threshold=0.5)).hits
    assert 0 < len(kept) < len(everything)
    assert {hit.chunk_id for hit in kept} == {
        hit.chunk_id for hit in everything if hit.likeness and hit.likeness.best >= 0.5
    }


async def test_routes_are_switched_off_and_fusion_is_chosen(site: Scene) -> None:
    off = {"vector": 0, "summary_vector": 0, "title_sparse": 0}
    hits = (await _find(site, "oil", routes=off, fusion="rrf")).hits
    assert {name for hit in hits for name in hit.routes} == {"sparse_vector"}
    assert hits[0].routes["sparse_vector"].part == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="no route"):
        await _find(site, "oil", routes={"words": 1})


async def test_settings_of_the_space_count_when_it_is_searched_alone(site: Scene) -> None:
    changes = {"settings": {"retrieval": {"same": {"vector": 0, "summary_vector": 0, "title_sparse": 0}}}}
    async with site.bench.db.write() as conn:
        await change_space(conn, site.owner, site.space_id, changes=changes, now=site.bench.clock())
    hits = (await _find(site, "oil the pump", where=Conditions(languages=("en",)))).hits
    assert {name for hit in hits for name in hit.routes} == {"sparse_vector"}
    await site.space(site.owner, "another")
    hits = (await _find(site, "oil the pump")).hits
    assert "vector" in {name for hit in hits for name in hit.routes}


def _recompute(hit: SearchHit) -> float:
    """By hand, from the explanation alone."""
    why = hit.explain
    assert why is not None
    total = 0.0
    for place in why["routes"].values():
        if why["fusion"] == "rrf":
            share = 1 / (why["rrf_k"] + place["rank"])
        else:
            stretch = place["high"] - place["low"]
            share = (place["score"] - place["low"]) / stretch if stretch > 0 else 1.0
        total += place["weight"] * share / why["scale"]
        if "terms" in place:
            products = [term["question"] * term["text"] for term in place["terms"]]
            assert sum(products) == pytest.approx(place["score"], rel=1e-5)
            assert all("#" not in term["term"] for term in place["terms"])
    for rise in why["rises"]:
        total += sum(weight * score for weight, score in zip(rise["weights"], rise["scores"], strict=True))
    return total


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
@pytest.mark.parametrize("query", ["How often must the pump be oiled?", "水泵多久加油", "storage"])
async def test_every_score_can_be_recomputed_by_hand(site: Scene, fusion: str, query: str) -> None:
    hits = (await _find(site, query, k=50, fusion=fusion, explain=True)).hits
    assert len(hits) > 3
    for hit in hits:
        assert _recompute(hit) == pytest.approx(hit.score)
    assert any(hit.explain["rises"] for hit in hits if hit.explain)
    languages = {
        (hit.explain["question_language"], hit.explain["text_language"]) for hit in hits if hit.explain
    }
    assert len(languages) == 2


async def test_a_route_that_is_down_gives_a_warning(site: Scene) -> None:
    assert isinstance(site.bench.store, MemoryStore)
    site.bench.store.broken = {"vector"}
    found = await _find(site, "pump oil")
    assert found.hits
    assert ["vector" in warning for warning in found.warnings] == [True]


async def test_the_index_row_has_every_field_of_the_collection(site: Scene) -> None:
    rows = await site.bench.store.scan(collection_of(site.space_id))
    named = {row.fields["path"] + "/" + row.fields["text"][:12]: row for row in rows}
    row = next(row for name, row in named.items() if name.startswith("Pump care > Oiling the pump/"))
    assert set(row.sparse) | set(row.dense) == {"vector", "summary_vector", "sparse_vector", "title_sparse"}
    assert set(row.fields) >= {
        *("text", "source", "title", "parent_id", "child_ids", "node_type", "level", "token_count"),
        *("left_sibling", "right_sibling", "from_split", "merged", "nav_next_step", "nav_see_also"),
        *("entry_urls", "related_links", "summary", "page", "path", "created_at", "updated_at", "language"),
    }
    assert row.fields["nav_next_step"] == "Read about [storage](store.md)."
    assert row.fields["entry_urls"] == ["bearings.md"]
    (link,) = row.fields["related_links"]
    assert (link["relation"], link["text"], link["document_id"]) == ("mention", "bearings", None)
    assert row.fields["language"] == "en"
    assert {"title=Pump", "author=Li", "tags=oil", "tags=care"} <= set(row.fields["metadata"])


async def test_links_to_documents_that_came_later_are_known_after_reindexing(site: Scene) -> None:
    site.bench.sources.known.clear()
    await site.reindex()
    rows = await site.bench.store.scan(collection_of(site.space_id))
    links = {link["source"]: link["relation"] for row in rows for link in row.fields["related_links"]}
    assert links == {"docs/bearings.md": "mention", "docs/store.md": "next_step"}


async def _walk(site: Scene, query: str, *, k: int = 1, **limits: float) -> dict[str, list[SearchHit]]:
    """Results by origin. What links lead to came later than the links."""
    site.bench.sources.known.clear()
    async with site.bench.db.write() as conn:
        settings = {"retrieval": {"walk": limits, "document": 0.0}}
        changes = {"settings": settings}
        await change_space(conn, site.owner, site.space_id, changes=changes, now=site.bench.clock())
    hits = (await _find(site, query, k=k, walk=True)).hits
    by_origin: dict[str, list[SearchHit]] = {}
    for hit in hits:
        by_origin.setdefault(hit.origin, []).append(hit)
    return by_origin


async def test_the_walk_goes_to_parents_siblings_and_links(site: Scene) -> None:
    reached = await _walk(site, "oiling the pump every 40 days", parent_decay_threshold=0.3)
    (anchor,) = reached["anchor"]
    assert "every 40 days" in anchor.text
    assert [hit.text.strip() for hit in reached["parent"]] == ["## Oiling the pump", "# Pump care"]
    assert [hit.source for hit in reached["link"]] == ["docs/bearings.md"]
    assert "special pump oil" in reached["link"][0].text  # not the part about zebras
    assert all(
        hit.reason and hit.likeness for origin, hits in reached.items() if origin != "anchor" for hit in hits
    )
    assert "mention" in reached["link"][0].reason


async def test_the_walk_stops_where_similarity_falls(site: Scene) -> None:
    query = "oiling the pump every 40 days"
    strict = await _walk(site, query, parent_decay_threshold=0.99)
    assert "parent" not in strict
    distant = await _walk(site, query, parent_decay_threshold=0.0, absolute_min_similarity=1.0)
    assert set(distant) == {"anchor"}
    lenient = await _walk(site, query, parent_decay_threshold=0.0, absolute_min_similarity=0.0)
    assert len(lenient["parent"]) == 2


async def test_links_are_limited(site: Scene) -> None:
    query = "pump oil"
    assert "link" not in await _walk(site, query, k=4, max_link_top_k=0)
    assert "link" not in await _walk(site, query, k=4, link_proportion=0.0)
    some = await _walk(
        site, "read about oiling the pump every 40 days", link_proportion=1.0, absolute_min_similarity=0.0
    )
    assert len(some["link"]) == 1  # one anchor: at most one link


async def test_nothing_of_others_is_found(site: Scene) -> None:
    stranger = await site.person("bob")
    assert (await asking.find(site.bench, stranger, Wanted("pump oil"))).hits == ()
    with pytest.raises(NotFound):
        await asking.find(site.bench, stranger, Wanted("pump"), space_ids=[site.space_id])
    (pump,) = [item for item in await site.documents() if item.source == "docs/pump.md"]
    only = Wanted("pump", where=Conditions(document_ids=(pump.id,)))
    assert (await asking.find(site.bench, stranger, only)).hits == ()


async def test_a_page_whose_document_goes_meanwhile_is_made_again(
    site: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = (await _find(site, "pump oil", k=1)).hits[0]
    calls, live_ids = [], chunks.live_ids

    async def remove_after(conn: AsyncConnection, ids: Sequence[str], spaces: Collection[str]) -> set[str]:
        found = await live_ids(conn, ids, spaces)
        calls.append(found)
        if len(calls) == 1:
            await remove_document(site.bench, site.owner, gone.document_id)
        return found

    monkeypatch.setattr(chunks, "live_ids", remove_after)
    hits = (await _find(site, "pump oil", k=2)).hits
    assert len(calls) == 2
    assert len(hits) == 2
    assert gone.document_id not in {hit.document_id for hit in hits}


async def test_a_page_that_cannot_be_made_whole_leaves_out_what_is_gone(
    site: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = (await _find(site, "pump oil", k=1)).hits[0]
    kept = await site.rows()
    await remove_document(site.bench, site.owner, gone.document_id)
    await site.bench.store.upsert(collection_of(site.space_id), kept)

    async def believe(_conn: AsyncConnection, ids: Sequence[str], _spaces: Collection[str]) -> set[str]:
        return set(ids)

    monkeypatch.setattr(chunks, "live_ids", believe)
    hits = (await _find(site, "pump oil", k=10)).hits
    assert hits
    assert gone.document_id not in {hit.document_id for hit in hits}


async def test_removed_documents_are_not_found_although_their_rows_remain(site: Scene) -> None:
    (pump,) = [item for item in await site.documents() if item.source == "docs/pump.md"]
    kept = await site.rows()
    await remove_document(site.bench, site.owner, pump.id)
    await site.bench.store.upsert(collection_of(site.space_id), kept)
    hits = (await _find(site, "pump oil", k=3, walk=True)).hits
    assert len([hit for hit in hits if hit.origin == "anchor"]) == 3
    assert all(hit.document_id != pump.id for hit in hits)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 10_000},
        {"offset": -1},
        {"threshold": 2.0},
        {"neighbours": 99},
        {"fusion": "max"},
        {"rerank": "x"},
    ],
)
async def test_what_cannot_be_asked(site: Scene, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        await _find(site, "pump", **wrong)
    assert caught.value.remedy
    with pytest.raises(InvalidInput):
        await _find(site, " ")
    with pytest.raises(InvalidInput):
        await asking.find(site.bench, site.owner, replace(Wanted("x"), query="x" * 2**20))
