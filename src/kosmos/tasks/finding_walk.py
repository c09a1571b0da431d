"""The graph walk over the rows of an index."""

from collections.abc import Mapping, Sequence
from typing import Any

from kosmos.domain.answers import SearchHit
from kosmos.domain.chunks import ChunkType
from kosmos.retrieval.gathering import Gathered
from kosmos.retrieval.similarity import compare
from kosmos.retrieval.tuning import Walk
from kosmos.retrieval.walking import Map, Node, Step, walk
from kosmos.store.filters import And, Eq
from kosmos.tasks.navigating import resolve_url
from kosmos.tasks.workbench import Workbench

MAX_BEHIND_LINK = 50  # chunks of a linked document that are looked at


async def walk_from(
    bench: Workbench, gathered: Gathered, hits: Sequence[SearchHit], *, query: str, limits: Walk
) -> list[Step]:
    """What the walk reaches from the results of a search."""
    steps: list[Step] = []
    taken = {hit.chunk_id for hit in hits}
    for home in dict.fromkeys(gathered.homes[hit.chunk_id] for hit in hits):
        own = [hit for hit in hits if gathered.homes[hit.chunk_id] == home]
        paths = _paths(bench, gathered, home, query=query, space_id=own[0].space_id)
        known = await paths.nodes([hit.chunk_id for hit in own])
        anchors = [known[hit.chunk_id] for hit in own if hit.chunk_id in known]
        steps += [step for step in await walk(anchors, paths, limits) if step.node.pk not in taken]
    return steps


async def _look_again(bench: Workbench, anchor: Node, link: Mapping[str, Any], space_id: str) -> str | None:
    """A document that came after the one that links to it."""
    async with bench.db.read() as conn:
        sources = await bench.sources.get(conn, space_id)
    return resolve_url(str(link.get("url", "")), str(anchor.fields.get("source", "")), sources)


def _paths(bench: Workbench, gathered: Gathered, home: str, *, query: str, space_id: str) -> Map:
    """How to get from row to row inside one collection."""

    async def nodes(pks: Sequence[str]) -> dict[str, Node]:
        rows = await bench.store.get(home, pks, vectors=True)
        gathered.homes.update(dict.fromkeys(rows, home))
        alike = compare(gathered, query, rows)
        return {pk: Node(pk, alike[pk], row.fields) for pk, row in rows.items()}

    async def linked(anchor: Node, link: Mapping[str, Any]) -> list[Node]:
        target = link.get("document_id") or await _look_again(bench, anchor, link, space_id)
        if not isinstance(target, str) or target == anchor.fields.get("document_id"):
            return []
        where = And((Eq("document_id", target), Eq("node_type", ChunkType.CONTENT.value)))
        rows = await bench.store.query(home, where, limit=MAX_BEHIND_LINK)
        return list((await nodes([row.pk for row in rows])).values())

    return Map(nodes, linked)
