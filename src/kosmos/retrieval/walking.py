"""The graph walk: from what the question found to what stands above, beside and behind a link."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.domain.answers import Likeness
from kosmos.retrieval.tuning import Walk

MAX_ANCESTORS = 8
PARENT = "parent"
SIBLING = "sibling"
LINK = "link"


@dataclass(frozen=True, slots=True)
class Node:
    """A row of the index as the walk sees it: its fields and its likeness to the question."""

    pk: str
    likeness: Likeness
    fields: Mapping[str, Any]

    @property
    def similarity(self) -> float:
        """The likeness as one number."""
        return self.likeness.best


@dataclass(frozen=True, slots=True)
class Step:
    """A node that the walk has reached, from which anchor, how, and why it was taken."""

    node: Node
    anchor: str
    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class Map:
    """How the walk finds nodes: by their pks, and those of a document to which a link leads."""

    nodes: Callable[[Sequence[str]], Awaitable[Mapping[str, Node]]]
    linked: Callable[[Node, Mapping[str, Any]], Awaitable[Sequence[Node]]]


async def walk(anchors: Sequence[Node], paths: Map, limits: Walk) -> list[Step]:
    """What is reached from the anchors: parents and siblings anchor by anchor, then the best links."""
    taken = {anchor.pk for anchor in anchors}
    steps: list[Step] = []
    for anchor in anchors:
        for step in [*await _climb(anchor, paths, limits), *await _sideways(anchor, paths, limits)]:
            if step.node.pk not in taken:
                taken.add(step.node.pk)
                steps.append(step)
    most = min(limits.max_link_top_k, math.ceil(limits.link_proportion * len(anchors)))
    found = [step for anchor in anchors for step in await _follow(anchor, paths, limits)]
    for step in sorted(found, key=lambda step: (-step.node.similarity, step.node.pk)):
        if most and step.node.pk not in taken:
            taken.add(step.node.pk)
            steps.append(step)
            most -= 1
    return steps


async def _climb(anchor: Node, paths: Map, limits: Walk) -> list[Step]:
    """Ancestors, as long as each is nearly as similar as the node below it."""
    steps: list[Step] = []
    below = anchor
    for _ in range(MAX_ANCESTORS):
        parent = await _one(paths, below.fields.get("parent_id"))
        if parent is None or not _near(parent, below, limits):
            break
        reason = f"above {_place(below)}: {_kept(parent, below)}"
        steps.append(Step(parent, anchor.pk, PARENT, reason))
        below = parent
    return steps


async def _sideways(anchor: Node, paths: Map, limits: Walk) -> list[Step]:
    """The neighbours of an anchor below the same parent that are nearly as similar."""
    steps: list[Step] = []
    for side in ("left_sibling", "right_sibling"):
        sibling = await _one(paths, anchor.fields.get(side))
        if sibling is not None and _near(sibling, anchor, limits):
            where = "before" if side == "left_sibling" else "after"
            steps.append(
                Step(sibling, anchor.pk, SIBLING, f"{where} {_place(anchor)}: {_kept(sibling, anchor)}")
            )
    return steps


async def _follow(anchor: Node, paths: Map, limits: Walk) -> list[Step]:
    """The best node behind each link of an anchor, if it is similar enough by itself."""
    steps: list[Step] = []
    for link in _links(anchor.fields.get("related_links")):
        nodes = await paths.linked(anchor, link)
        best = max(nodes, key=lambda node: (node.similarity, node.pk), default=None)
        if best is not None and best.similarity >= limits.absolute_min_similarity:
            relation = str(link.get("relation", "mention")).replace("_", " ")
            reason = f"linked ({relation}) from {_place(anchor)}: similarity {best.similarity:.2f}"
            steps.append(Step(best, anchor.pk, LINK, reason))
    return steps


async def _one(paths: Map, pk: object) -> Node | None:
    return (await paths.nodes([pk])).get(pk) if isinstance(pk, str) and pk else None


def _near(node: Node, before: Node, limits: Walk) -> bool:
    least = max(limits.absolute_min_similarity, limits.parent_decay_threshold * before.similarity)
    return node.similarity >= least


def _links(given: object) -> Iterable[Mapping[str, Any]]:
    listed = given if isinstance(given, list | tuple) else ()
    return (link for link in listed if isinstance(link, Mapping))


def _place(node: Node) -> str:
    fields = node.fields
    return f"{fields.get('source', '')}:{fields.get('start_line', '?')}"


def _kept(node: Node, before: Node) -> str:
    return f"similarity {node.similarity:.2f} after {before.similarity:.2f}"
