"""How to gather: by the number and size of documents and by what is wanted."""

from dataclasses import dataclass
from enum import StrEnum

from kosmos.agents.literature.intents import Intent


class Strategy(StrEnum):
    """How the material of an answer is gathered."""

    FULL_CONTENT = "full_content"
    MULTI_DOC_SUMMARY = "multi_doc_summary"
    CHUNK_RECALL = "chunk_recall"
    SIMPLE_INTERACTION = "simple_interaction"


class DocumentMode(StrEnum):
    """What a question comes with."""

    NONE = "none"
    SINGLE_SMALL = "single_small"
    SINGLE_LARGE = "single_large"
    MULTI = "multi"


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy, and why."""

    strategy: Strategy
    reason: str


SUMMARISED = frozenset({Intent.LITERATURE_SUMMARY, Intent.REVIEW_GENERATION})


def judge_mode(doc_count: int, tokens: int, *, available: int, threshold: float) -> DocumentMode:
    """The mode; `tokens` is the size of the document where there is one alone."""
    if doc_count == 0:
        return DocumentMode.NONE
    if doc_count > 1:
        return DocumentMode.MULTI
    return DocumentMode.SINGLE_SMALL if tokens < available * threshold else DocumentMode.SINGLE_LARGE


def choose_strategy(intent: Intent, mode: DocumentMode, doc_count: int) -> Choice:
    """The strategy for an intent."""
    if intent is Intent.SIMPLE_INTERACTION:
        why = "no document is attached" if mode is DocumentMode.NONE else "no document is needed"
        return Choice(Strategy.SIMPLE_INTERACTION, why)
    if mode is DocumentMode.SINGLE_SMALL:
        return Choice(Strategy.FULL_CONTENT, "one document, which fits into the window as a whole")
    if doc_count > 1 and intent in SUMMARISED:
        why = f"{doc_count} documents, each to be summarised for {intent}"
        return Choice(Strategy.MULTI_DOC_SUMMARY, why)
    size = f"{doc_count} documents" if doc_count > 1 else "one document, too large for the window"
    return Choice(Strategy.CHUNK_RECALL, f"{size}: what {intent} needs is looked up")
