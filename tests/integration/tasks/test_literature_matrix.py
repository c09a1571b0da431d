"""The strategy matrix: five intents, four document situations, the edges of the threshold."""

import pytest

from kosmos.agents.literature.cutting import cut_pieces
from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.limits import available_tokens
from kosmos.domain.events import EventType
from kosmos.domain.tokens import estimate_tokens
from kosmos.doubles.model_server import ModelServer

from .papers import Reader, literature_talk, paper, wish
from .scene import Scene
from .talks import final, payloads

SITUATIONS = {"none": [], "small": [1], "large": [60], "multi": [1, 1]}
SIMPLE, FULL, MANY, RECALL = "simple_interaction", "full_content", "multi_doc_summary", "chunk_recall"

MATRIX = {
    # no document, one small, one large, several
    Intent.SIMPLE_INTERACTION: (SIMPLE, SIMPLE, SIMPLE, SIMPLE),
    Intent.LITERATURE_SUMMARY: (SIMPLE, FULL, RECALL, MANY),
    Intent.REVIEW_GENERATION: (SIMPLE, FULL, RECALL, MANY),
    Intent.PAPER_REVIEW: (SIMPLE, FULL, RECALL, RECALL),
    Intent.LITERATURE_QA: (SIMPLE, FULL, RECALL, RECALL),
}
ANSWERED_BY = {
    (Intent.LITERATURE_SUMMARY, MANY): "multi_doc_summary",
    (Intent.LITERATURE_SUMMARY, ""): "single_doc_summary",
    (Intent.REVIEW_GENERATION, ""): "review_generation",
    (Intent.PAPER_REVIEW, ""): "paper_review",
    (Intent.LITERATURE_QA, ""): "literature_qa",
}
CASES = [
    (intent, situation, strategies[at])
    for intent, strategies in MATRIX.items()
    for at, situation in enumerate(SITUATIONS)
]


@pytest.mark.parametrize(("intent", "situation", "strategy"), CASES)
@pytest.mark.parametrize("named", [False, True], ids=["recognised", "named"])
async def test_the_matrix(scene: Scene, intent: Intent, situation: str, strategy: str, named: bool) -> None:
    ids = [
        (await scene.add(paper(f"depth{at}", pages=pages), f"p{at}.md"))[0].id
        for at, pages in enumerate(SITUATIONS[situation])
    ]
    reader = Reader(intent)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        events = await talk.ask(
            "What about it?", **wish(doc_ids=tuple(ids), mode_type=intent if named else None)
        )
    answer = final(events)
    told = answer["details"]
    assert answer["strategy"] == told["strategy"] == strategy
    assert told["strategy_reason"]
    assert told["intent"] == (Intent.SIMPLE_INTERACTION if situation == "none" else intent)
    assert told["intent_reason"]
    assert reader.count("intent_recognition") == (not named and situation != "none")
    assert reader.count("document_condensed_summary") == (len(ids) if strategy == MANY else 0)
    assert reader.count("sub_question_generation") == (strategy == RECALL)
    last = "simple_interaction"
    if strategy != SIMPLE:
        last = ANSWERED_BY.get((intent, strategy)) or ANSWERED_BY[intent, ""]
    assert reader.asked[-1] == last
    if strategy != SIMPLE:
        assert answer["citations"]
        for item in answer["citations"]:
            assert item["document_id"] in ids
            assert item["quote"]
    assert payloads(events, EventType.NODE_ERROR) == []


def _tokens(text: str) -> int:
    """The size of a paper as the workflow counts it."""
    lines = text.split("\n")
    listed = (lines.index("## References") + 1, len(lines))
    pieces = cut_pieces(lines, leave_out=listed)
    return sum(estimate_tokens("\n".join(lines[one.start - 1 : one.end])) + 20 for one in pieces)


@pytest.mark.parametrize(("extra", "strategy"), [(0, RECALL), (1, FULL)], ids=["at it", "just below"])
async def test_the_edge_of_the_threshold(scene: Scene, extra: int, strategy: str) -> None:
    """A document that takes exactly the share of the window is large; one token less is small."""
    text, question = paper("depth", pages=20), "What was measured?"
    document, _ = await scene.add(text, "p.md")
    threshold = 0.5
    taken = available_tokens(0, 0, 0) + 10_000 + estimate_tokens(question)
    window = taken + 2 * _tokens(text) + extra
    reader = Reader(Intent.LITERATURE_QA)
    async with ModelServer(reader) as server:
        talk = await literature_talk(scene, server)
        more = wish(window, doc_ids=(document.id,), direct_content_threshold=threshold)
        answer = await talk.answer(question, **more)
    assert answer["details"]["available_tokens"] == 2 * _tokens(text) + extra
    assert answer["strategy"] == strategy
