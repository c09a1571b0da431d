"""Answers without any model: the sentences that answer best, quoted to the letter and labelled as such."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kosmos.agents.sentences import Sentence, sentences
from kosmos.domain.answers import Answer, Citation, SearchHit
from kosmos.domain.blocks import blank_comments
from kosmos.domain.ids import new_id
from kosmos.domain.tokens import estimate_tokens
from kosmos.retrieval.terms import terms

STRATEGY = "extractive"
MAX_QUOTES = 3
MIN_COVERAGE = 0.2  # of the weight of the question's terms in one chunk; less is a likeness by chance
RANK = 0.08  # how much less a sentence counts with each place of its chunk
ALIKE = 0.4  # a sentence that shares no word must be as like the question as this, by its vector
NEIGHBOURS = 0.3  # what the sentences before and after count beside a sentence itself
# Words that ask rather than tell, as in "how long"; they would find every long thing.
ASKING = frozenset(
    terms("long much many often far old soon mean tell happen possible 怎么 什么 多久 多少 如何 吗 呢")
)
KEEP_WITHIN = 0.6  # further quotes must reach this part of the best one's score


@dataclass(frozen=True, slots=True)
class _Scored:
    score: float
    sentence: Sentence
    hit: SearchHit


def answer_extractively(
    question: str, hits: Sequence[SearchHit], *, first: int = 1, likeness: Mapping[str, float] | None = None
) -> Answer:
    """Quotes from the hits that answer the question best, numbered from `first`, or that nothing fits.

    `likeness` tells by sentence how like the question it is; without it, words alone count.
    """
    scored = {item.sentence.text: item for item in reversed(_score(question, hits, likeness or {}))}
    ranked = sorted(scored.values(), key=lambda item: -item.score)
    chosen = [item for item in ranked if item.score >= KEEP_WITHIN * ranked[0].score][:MAX_QUOTES]
    citations = tuple(_citation(number, item) for number, item in enumerate(chosen, start=first))
    return Answer(answer=_text(question, citations), citations=citations, strategy=STRATEGY, run_id=new_id())


def quotable(hits: Sequence[SearchHit]) -> list[str]:
    """All sentences that may be quoted, each once."""
    return list(dict.fromkeys(item.text for hit in hits for item in _sentences(hit)))


def _score(question: str, hits: Sequence[SearchHit], likeness: Mapping[str, float]) -> list[_Scored]:
    """The sentences that share something with the question, best first.

    Rare shared terms count; so do the neighbours, since an answer often stands beside the question's
    words, how like the sentence is as a whole, and the rank of the chunk.
    """
    wanted = set(terms(question)) - ASKING
    found = [(hit, _sentences(hit)) for hit in hits]
    bags = [[wanted & set(terms(item.text)) for item in items] for _, items in found]
    weights = _weights(wanted, [bag for group in bags for bag in group])
    total = sum(weights.values()) or 1.0
    scored = []
    for rank, ((hit, items), group) in enumerate(zip(found, bags, strict=True)):
        covered = [sum(weights[term] for term in bag) / total for bag in group]
        fits = sum(weights[term] for term in set().union(*group)) / total >= MIN_COVERAGE
        for at, item in enumerate(items):
            alike = likeness.get(item.text, 0.0)
            beside = max(covered[max(0, at - 1) : at] + covered[at + 1 : at + 2], default=0.0)
            shared = (covered[at] + NEIGHBOURS * beside) / _length(item)
            if (fits and covered[at] > 0) or alike >= ALIKE:
                scored.append(_Scored((shared + max(0.0, alike)) / (1 + RANK * rank), item, hit))
    return sorted(scored, key=lambda item: -item.score)


def _sentences(hit: SearchHit) -> list[Sentence]:
    """The sentences of a hit that stand at their lines to the letter: one around a comment does not."""
    lines, before = hit.text.split("\n"), hit.start_line
    return [
        item
        for item in sentences(blank_comments(hit.text), before)
        if item.text in "\n".join(lines[item.start_line - before : item.end_line - before + 1])
    ]


def _weights(wanted: set[str], bags: Sequence[set[str]]) -> dict[str, float]:
    """How telling each term of the question is: the rarer among the sentences, the more."""
    return {term: math.log1p(len(bags) / (1 + sum(term in bag for bag in bags))) for term in wanted}


def _length(item: Sentence) -> float:
    """A very long sentence or table row covers everything by chance."""
    return 1 + max(0, estimate_tokens(item.text) - 60) / 120


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
