"""From markers to citations: for each, the very sentences of its passage that the answer rests on."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.agents.claims import judge, sentences_of
from kosmos.agents.markers import clean_markers
from kosmos.agents.sentences import Sentence, sentences
from kosmos.agents.sources import Sources
from kosmos.domain.answers import Citation, Claim
from kosmos.domain.blocks import blank_comments
from kosmos.retrieval.terms import terms
from kosmos.tools.contract import Passage

LONGEST_QUOTE = 1200  # characters
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer whose every marker points at an exact place."""

    answer: str
    citations: tuple[Citation, ...]
    claims: tuple[Claim, ...]
    removed: tuple[str, ...]


async def cite(answer: str, sources: Sources, question: str) -> Cited:
    """The answer with its citations; a marker whose passage cannot be read any more is taken out."""
    _, used, _ = clean_markers(answer, sources.knows)
    passages = {number: await sources.passage(number) for number in dict.fromkeys(used)}
    present = {number: passage for number, passage in passages.items() if passage is not None}
    cleaned, _, removed = clean_markers(answer, present.__contains__)
    resting = _resting(cleaned)
    citations = tuple(
        quote_passage(str(number), passage, resting.get(str(number), []), question)
        for number, passage in present.items()
    )
    texts = {str(number): passage.text for number, passage in present.items()}
    return Cited(cleaned, citations, judge(cleaned, texts), tuple(dict.fromkeys(removed)))


def _resting(answer: str) -> dict[str, list[str]]:
    """The sentences that rest on each marker."""
    found: dict[str, list[str]] = {}
    for text, markers in sentences_of(answer):
        for marker in markers:
            found.setdefault(marker, []).append(text)
    return found


def quote_passage(marker: str, passage: Passage, resting: Sequence[str], question: str) -> Citation:
    """The part of a passage that says most of what rests on it, to the letter."""
    offered = _offered(passage)
    chosen = [best for text in resting if (best := _best(text, offered)) is not None]
    if not chosen and (near := _best(question, offered)) is not None:
        chosen = [near]
    start, end, quote = _span(passage, offered, chosen)
    return Citation(
        marker=marker,
        document_id=passage.document_id,
        source=passage.source,
        start_line=start,
        end_line=end,
        page=passage.page,
        quote=quote,
        version=passage.version,
        url=passage.url,
    )


def _offered(passage: Passage) -> list[Sentence]:
    """The sentences of a passage that stand at their lines to the letter: one around a comment, or with
    something hidden in it, does not."""
    exact = passage.text if passage.exact is None else passage.exact
    lines, first = exact.split("\n"), passage.start_line
    return [
        item
        for item in sentences(blank_comments(passage.text), first)
        if item.text in "\n".join(lines[item.start_line - first : item.end_line - first + 1])
    ]


def _best(text: str, offered: Sequence[Sentence]) -> int | None:
    """The position of the sentence that shares the most telling terms with a text; None if none does."""
    wanted = _terms(text)
    bags = [wanted & _terms(item.text) for item in offered]
    rarity = {
        term: math.log1p(len(bags) / (1 + sum(term in bag for bag in bags))) * (3 if term.isdigit() else 1)
        for term in wanted
    }
    scores = [sum(rarity[term] for term in bag) for bag in bags]
    best = max(range(len(scores)), key=lambda at: (scores[at], -at), default=None)
    return best if best is not None and scores[best] > 0 else None


def _terms(text: str) -> set[str]:
    """Terms and figures: across two languages often only the figures are the same."""
    return set(terms(text)) | set(_DIGITS.findall(text))


def _span(passage: Passage, offered: Sequence[Sentence], chosen: Sequence[int]) -> tuple[int, int, str]:
    """Lines and text from the first chosen sentence to the last, where that is not too long."""
    if not offered:
        return _lines(passage, passage.start_line, passage.end_line, _any_line(passage))
    first, last = (min(chosen), max(chosen)) if chosen else (0, 0)
    start, end = offered[first], offered[last]
    rows = slice(start.start_line - passage.start_line, end.end_line - passage.start_line + 1)
    whole = "\n".join(passage.text.split("\n")[rows])
    clear = passage.exact is None or whole == "\n".join(passage.exact.split("\n")[rows])
    begin, finish = whole.find(start.text), whole.rfind(end.text) + len(end.text)
    if first == last or not clear or not 0 <= begin < finish <= begin + LONGEST_QUOTE:
        best = max(set(chosen), key=lambda at: (chosen.count(at), -at)) if chosen else 0
        return _lines(passage, offered[best].start_line, offered[best].end_line, offered[best].text)
    return _lines(passage, start.start_line, end.end_line, whole[begin:finish])


def _any_line(passage: Passage) -> str:
    """A line that stands there to the letter, where no sentence does."""
    exact = passage.text if passage.exact is None else passage.exact
    pairs = zip(passage.text.split("\n"), exact.split("\n"), strict=False)
    return next((line for line, same in pairs if line.strip() and line == same), "")


def _lines(passage: Passage, start: int, end: int, quote: str) -> tuple[int, int, str]:
    return (0, 0, quote) if passage.url is not None else (start, end, quote)
