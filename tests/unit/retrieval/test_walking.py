"""The graph walk on a tree that fits on paper."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.answers import Likeness
from kosmos.retrieval.tuning import Walk
from kosmos.retrieval.walking import Map, Node, Step, walk


def _node(pk: str, similarity: float, **fields: Any) -> Node:
    return Node(pk, Likeness(similarity, None), {"source": f"{pk}.md", "start_line": 1, **fields})


def _paths(*nodes: Node) -> Map:
    by_pk = {node.pk: node for node in nodes}

    async def find(pks: Sequence[str]) -> dict[str, Node]:
        return {pk: by_pk[pk] for pk in pks if pk in by_pk}

    async def linked(_: Node, link: Mapping[str, Any]) -> list[Node]:
        return [node for node in nodes if node.fields.get("document_id") == link["document_id"]]

    return Map(find, linked)


def _links(*documents: str) -> list[dict[str, str]]:
    return [{"document_id": name, "relation": "see_also"} for name in documents]


def _reached(steps: Sequence[Step]) -> list[tuple[str, str]]:
    return [(step.origin, step.node.pk) for step in steps]


async def test_ancestors_as_long_as_similarity_decays_slowly() -> None:
    nodes = [
        _node("leaf", 0.8, parent_id="section"),
        _node("section", 0.61, parent_id="chapter"),  # 0.61 ≥ 0.75 × 0.8
        _node("chapter", 0.45, parent_id="book"),  # 0.45 < 0.75 × 0.61
        _node("book", 0.9),
    ]
    assert _reached(await walk(nodes[:1], _paths(*nodes), Walk())) == [("parent", "section")]
    all_of_them = await walk(nodes[:1], _paths(*nodes), Walk(parent_decay_threshold=0.5))
    assert _reached(all_of_them) == [("parent", "section"), ("parent", "chapter"), ("parent", "book")]
    assert "similarity 0.61 after 0.80" in all_of_them[0].reason


async def test_nothing_below_the_least_similarity() -> None:
    nodes = [_node("leaf", 0.21, parent_id="up"), _node("up", 0.19)]
    assert await walk(nodes[:1], _paths(*nodes), Walk()) == []
    assert len(await walk(nodes[:1], _paths(*nodes), Walk(absolute_min_similarity=0.1))) == 1


async def test_siblings_before_and_after() -> None:
    nodes = [
        _node("b", 0.5, left_sibling="a", right_sibling="c"),
        _node("a", 0.4),
        _node("c", 0.3),
    ]
    (step,) = await walk(nodes[:1], _paths(*nodes), Walk())
    assert (step.origin, step.node.pk, step.anchor) == ("sibling", "a", "b")
    assert step.reason.startswith("before b.md:1")


async def test_links_are_a_share_of_the_anchors_and_the_best_of_them() -> None:
    anchors = [_node(f"a{n}", 0.9, related_links=_links("x", "y", "z")) for n in range(4)]
    behind = [
        _node("x1", 0.3, document_id="x"),
        _node("x2", 0.6, document_id="x"),
        _node("y1", 0.5, document_id="y"),
        _node("z1", 0.1, document_id="z"),
    ]
    paths = _paths(*anchors, *behind)
    assert _reached(await walk(anchors, paths, Walk())) == [("link", "x2"), ("link", "y1")]
    assert _reached(await walk(anchors, paths, Walk(link_proportion=0.25))) == [("link", "x2")]
    assert _reached(await walk(anchors, paths, Walk(max_link_top_k=1))) == [("link", "x2")]
    assert await walk(anchors, paths, Walk(link_proportion=0.0)) == []
    assert "see also" in (await walk(anchors, paths, Walk()))[0].reason


async def test_a_tree_that_bites_its_tail_is_left_after_some_steps() -> None:
    nodes = [_node("a", 0.5, parent_id="b"), _node("b", 0.5, parent_id="a")]
    assert _reached(await walk(nodes[:1], _paths(*nodes), Walk())) == [("parent", "b")]


values = st.floats(0, 1)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(values, st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=8), values, values
)
async def test_nobody_is_reached_twice_or_without_being_similar(
    made: list[tuple[float, int, int]], decay: float, least: float
) -> None:
    nodes = [
        _node(
            f"n{i}",
            similarity,
            parent_id=f"n{up}",
            right_sibling=f"n{side}",
            document_id=f"d{i}",
            related_links=_links(f"d{side}"),
        )
        for i, (similarity, up, side) in enumerate(made)
    ]
    limits = Walk(parent_decay_threshold=decay, absolute_min_similarity=least)
    steps = await walk(nodes[:2], _paths(*nodes), limits)
    reached = [step.node.pk for step in steps]
    assert len(set(reached)) == len(reached)
    assert not set(reached) & {"n0", "n1"} or len(nodes) < 2
    assert all(step.node.similarity >= least for step in steps)
    assert sum(step.origin == "link" for step in steps) <= 1
