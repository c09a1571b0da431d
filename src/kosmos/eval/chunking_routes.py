"""The ways of finding pieces that a chunking run compares: by words, by vectors, by both."""

from collections.abc import Callable, Sequence

import numpy as np

from kosmos.eval.chunking import Matrix, Scorer
from kosmos.retrieval.bm25 import document_vector, query_vector
from kosmos.retrieval.terms import terms
from kosmos.store.rows import TermCounts

DENSE_WEIGHT = 0.5

Encoder = Callable[[Sequence[str]], Matrix]  # texts: one row of length 1 for each


def by_words(questions: Sequence[str], texts: Sequence[str]) -> Matrix:
    """BM25 as the product's index computes it."""
    postings: dict[int, list[tuple[int, float]]] = {}
    for at, text in enumerate(texts):
        for term, weight in document_vector(terms(text)).items():
            postings.setdefault(term, []).append((at, weight))
    counts = TermCounts(len(texts), {term: len(rows) for term, rows in postings.items()})
    scores = np.zeros((len(questions), len(texts)), dtype=np.float32)
    for row, question in zip(scores, questions, strict=True):
        for term, weight in query_vector(terms(question), counts).items():
            for at, value in postings.get(term, ()):
                row[at] += weight * value
    return scores


def by_vectors(encode: Encoder) -> Scorer:
    """Cosine of the vectors of an encoder."""
    return lambda questions, texts: np.asarray(encode(questions) @ encode(texts).T, dtype=np.float32)


def by_both(encode: Encoder, *, weight: float = DENSE_WEIGHT) -> Scorer:
    """Words plus weighted vectors, each stretched to 0..1 over all pieces first."""
    vectors = by_vectors(encode)

    def score(questions: Sequence[str], texts: Sequence[str]) -> Matrix:
        return _stretch(by_words(questions, texts)) + np.float32(weight) * _stretch(vectors(questions, texts))

    return score


def _stretch(scores: Matrix) -> Matrix:
    low = scores.min(axis=1, keepdims=True)
    span = scores.max(axis=1, keepdims=True) - low
    return np.asarray((scores - low) / np.where(span > 0, span, 1), dtype=np.float32)
