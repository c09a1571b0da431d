"""Answers without any model: the sentences that answer best, quoted to the letter and labelled as such."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.agents.sentences import Sentence, sentences
from kosmos.domain.answers import Answer, Citation, SearchHit
from kosmos.domain.ids import new_id
from kosmos.retrieval.terms import terms

STRATEGY = "extractive"
MAX_QUOTES = 3
MIN_COVERAGE = 0.25  # of the weight of the question's terms; below it a sentence only shares common words
KEEP_WITHIN = 0.6  # further quotes must reach this part of the best one's score


@dataclass(frozen=True, slots=True)
class _Scored:
    score: float
    coverage: float
    sentence: Sentence
    hit: SearchHit


def answer_extractively(question: str, hits: Sequence[SearchHit]) -> Answer:
    """Quotes from the hits that answer the question best, or a plain word that nothing fits."""
    scored = _score(question, hits)
    chosen = [item for item in scored if item.coverage >= MIN_COVERAGE][:1]
    if chosen:
        rest = [item for item in scored[1:] if item.score >= KEEP_WITHIN * chosen[0].score]
        chosen += rest[: MAX_QUOTES - 1]
    citations = tuple(_citation(number, item) for number, item in enumerate(chosen, start=1))
    return Answer(answer=_text(question, citations), citations=citations, strategy=STRATEGY, run_id=new_id())


def _score(question: str, hits: Sequence[SearchHit]) -> list[_Scored]:
    """All sentences of the hits, best first: rare shared terms count, so does the rank of the chunk."""
    pieces = [
        (rank, hit, item) for rank, hit in enumerate(hits) for item in sentences(hit.text, hit.start_line)
    ]
    bags = [set(terms(item.text)) for _, _, item in pieces]
    wanted = set(terms(question))
    weights = {term: math.log1p(len(bags) / (1 + sum(term in bag for bag in bags))) for term in wanted}
    total = sum(weights.values()) or 1.0
    scored = []
    for (rank, hit, item), bag in zip(pieces, bags, strict=True):
        coverage = sum(weights[term] for term in wanted & bag) / total
        length = 1 + 0.02 * max(0, len(bag) - 30)  # a long table row covers everything by chance
        scored.append(_Scored(coverage / length / (1 + 0.15 * rank), coverage, item, hit))
    return sorted(scored, key=lambda item: -item.score)


def _citation(number: int, item: _Scored) -> Citation:
    return Citation(
        marker=str(number),
        document_id=item.hit.document_id,
        source=item.hit.source,
        start_line=item.sentence.start_line,
        end_line=item.sentence.end_line,
        page=item.hit.page,
        quote=item.sentence.text,
    )


def _text(question: str, citations: Sequence[Citation]) -> str:
    """The quotes, one a line, introduced in the language of the question."""
    chinese = any("\u4e00" <= char <= "\u9fff" for char in question)
    if not citations:
        return "没有找到能回答这个问题的内容。" if chinese else "Nothing in the documents answers this."
    lead = "摘自原文（未使用模型）：" if chinese else "Extracts from the documents (no model was used):"
    quotes = [f"[{item.marker}] {' '.join(item.quote.split())}" for item in citations]
    return "\n".join([lead, *quotes])
