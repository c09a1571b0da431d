"""A chunking run: the pieces of several chunkers, found in the same ways and scored by the same questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kosmos.domain.tokens import estimate_tokens
from kosmos.eval.chunking import ChunkingSet, K, Piece, Score, Scorer, evaluate_pieces

OURS = "structure"
INDEXER = "indexer"


@dataclass(frozen=True, slots=True)
class Cut:
    """What one chunker made of the corpora, and the tokens that a model was sent and gave for it."""

    label: str
    pieces: Sequence[Piece]
    seconds: float = 0.0  # of CPU
    sent: int = 0
    given: int = 0
    corpora: frozenset[str] | None = None  # None: all of them


@dataclass(frozen=True, slots=True)
class Row:
    """One chunker: how many pieces of which mean length, its scores by route, tokens for 1,000 of text."""

    label: str
    pieces: int
    mean_chars: float
    scores: Mapping[str, Score]
    by_corpus: Mapping[str, Mapping[str, Score]]  # by route
    tokens_in: float
    tokens_out: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """All rows, where a peer has both a higher recall and a higher IoU, and what could not be measured."""

    k: int
    rows: Sequence[Row]
    beaten: Mapping[str, Sequence[str]]  # by route
    missing: Sequence[str] = field(default_factory=list)


def compare(
    data: ChunkingSet,
    cuts: Sequence[Cut],
    routes: Mapping[str, Scorer],
    *,
    k: int = K,
    missing: Sequence[str] = (),
) -> Report:
    """Score every cut by every route."""
    rows = [_row(data, cut, routes, k=k) for cut in cuts]
    beaten = {
        route: list(_beaten({row.label: row.scores[route] for row in rows if _comparable(row, cuts)}))
        for route in routes
    }
    return Report(k, rows, beaten, list(missing))


def _comparable(row: Row, cuts: Sequence[Cut]) -> bool:
    return any(cut.label == row.label and cut.corpora is None for cut in cuts)


def _row(data: ChunkingSet, cut: Cut, routes: Mapping[str, Scorer], *, k: int) -> Row:
    asked = data if cut.corpora is None else _part(data, cut.corpora)
    scored = {route: evaluate_pieces(asked, cut.pieces, scorer, k=k) for route, scorer in routes.items()}
    thousands = sum(estimate_tokens(text) for text in asked.corpora.values()) / 1000 or 1
    return Row(
        label=cut.label,
        pieces=len(cut.pieces),
        mean_chars=sum(piece.end - piece.start for piece in cut.pieces) / max(1, len(cut.pieces)),
        scores={route: score for route, (score, _) in scored.items()},
        by_corpus={route: parts for route, (_, parts) in scored.items()},
        tokens_in=cut.sent / thousands,
        tokens_out=cut.given / thousands,
        seconds=cut.seconds,
    )


def _part(data: ChunkingSet, names: frozenset[str]) -> ChunkingSet:
    """The corpora of those names, and the questions about them."""
    questions = tuple(question for question in data.questions if question.corpus in names)
    return replace(
        data,
        corpora={name: text for name, text in data.corpora.items() if name in names},
        questions=questions,
    )


def _beaten(scores: Mapping[str, Score]) -> Iterator[str]:
    """Each pair in which a peer has both a higher recall and a higher IoU than structure at some size."""
    ours = {label: score for label, score in scores.items() if label.startswith(OURS)}
    peers = {label: score for label, score in scores.items() if not label.startswith((OURS, INDEXER))}
    for label, mine in ours.items():
        for other, score in peers.items():
            if score.recall > mine.recall and score.iou > mine.iou:
                yield f"{other} beats {label}"
