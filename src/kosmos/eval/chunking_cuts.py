"""Everything that a chunking run compares: structure at several sizes, the indexer, and the peers."""

from collections.abc import Mapping

from kosmos.eval.chunking import Scorer
from kosmos.eval.chunking_answers import Answers, cut_by_answers
from kosmos.eval.chunking_peers import cut_by_peers
from kosmos.eval.chunking_pieces import cut_by_sizes
from kosmos.eval.chunking_routes import Encoder, by_both, by_vectors, by_words
from kosmos.eval.chunking_run import Cut


def cut_all(corpora: Mapping[str, str], answers: Answers) -> tuple[list[Cut], list[str]]:
    """All cuts, and why others are missing."""
    cuts = list(cut_by_sizes(corpora))
    indexed, missing = cut_by_answers(corpora, answers)
    cuts += [indexed] if indexed else []
    for found in cut_by_peers(corpora):
        if isinstance(found, Cut):
            cuts.append(found)
        else:
            missing.append(found)
    return cuts, missing


def routes_with(encode: Encoder | None) -> dict[str, Scorer]:
    """The ways of finding pieces: by words alone, or with an encoder by vectors and by both, too."""
    if encode is None:
        return {"words": by_words}
    return {"vectors": by_vectors(encode), "words": by_words, "both": by_both(encode)}
