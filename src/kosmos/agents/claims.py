"""The sentences of an answer, each with the markers that it bears."""

import re
from collections.abc import Iterator, Mapping, Sequence

from kosmos.agents.sentences import FENCE
from kosmos.domain.answers import Claim
from kosmos.domain.tokens import estimate_tokens

MARK = re.compile(r"\[(\d{1,5})\]")
_MARKS = r"(?:\s*\[\d{1,5}\])*"
# A sentence ends after its end marks; markers directly behind them still belong to it.
_END = re.compile(rf"(?:[。！？；]+[”’」』）]*|[.!?]+[\"')]*(?=\s|\[\d|\Z)){_MARKS}")
_LEAD = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+|>\s*)*")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*\Z)")
_RULE = re.compile(r"[\s|:\-=*_]*\Z")
_QUOTED = re.compile(r"“([^“”]+)”|\"([^\"]+)\"|「([^「」]+)」|『([^『』]+)』")
LEAST_QUOTE = 8  # characters: shorter quotation marks only point at a word
LEAST_TOKENS = 3  # less than this states nothing


def sentences_of(answer: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sentences outside of code and headings, without markers, and the numbers of their markers."""
    in_code = False
    for line in answer.split("\n"):
        fence = bool(FENCE.match(line))
        in_code ^= fence
        if in_code or fence or _HEADING.match(line) or _RULE.match(line):
            continue
        for piece in _cut(_LEAD.sub("", line, count=1)):
            text = " ".join(MARK.sub("", piece).split())
            if text:
                yield text, tuple(dict.fromkeys(MARK.findall(piece)))


def _cut(line: str) -> Iterator[str]:
    at = 0
    for end in [*(match.end() for match in _END.finditer(line)), len(line)]:
        if line[at:end].strip():
            yield line[at:end]
        at = end


def judge(answer: str, texts: Mapping[str, str]) -> tuple[Claim, ...]:
    """Every sentence that states something, and what is wrong with its support.

    `texts` are the passages by their markers.
    """
    return tuple(
        Claim(text, markers, _problem(text, [texts[mark] for mark in markers if mark in texts]))
        for text, markers in sentences_of(answer)
        if markers or _states(text)
    )


def _states(text: str) -> bool:
    """Whether a sentence says something that needs support: no question, no lead-in, no mere courtesy."""
    return not text.endswith(("?", "？", ":", "：")) and estimate_tokens(text) > LEAST_TOKENS


def _problem(text: str, texts: Sequence[str]) -> str | None:
    if not texts:
        return "no citation"
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    bodies = ["".join(body.split()) for body in texts]
    for quote in quoted:
        wanted = "".join(quote.strip(" .,;:!?。，；：！？…").split())
        if len(wanted) >= LEAST_QUOTE and not any(wanted in body for body in bodies):
            return "quote not found"
    return None
