"""A summary without a model: the sentence that says most of what its chunk says, word for word."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from kosmos.chunking.sentences_split import sentence_ends

SUMMARY_CHARS = 160
_MAX_SENTENCES = 60
_FENCED = re.compile(r"^[ >]*(`{3,}|~{3,}).*?(?:^[ >]*\1[`~]*[ ]*$|\Z)", re.DOTALL | re.MULTILINE)
_MARKUP = re.compile(
    r"^[ \t]*+(?:[-*+][ \t]++(?:\[[ xX]\][ \t]++)?|\d{1,9}[.)][ \t]++|>[ \t]?|#{1,6}[ \t]++)+"  # line starts
    r"|^[ \t|:\-=_*]++$"  # rules
    r"|</?[A-Za-z][^<>\n]{0,300}>|\{\{[<%][^\n{}]{0,300}[%>]\}\}",  # tags and shortcodes
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,500}\)")
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{3,}")
_FORMULA = re.compile(r"\$\$[^$]{1,2000}\$\$")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,300}\]:\s*\S.*$", re.MULTILINE)


def summarize(shown: str) -> str:
    """At most 160 characters out of a chunk's text, which comes without comments."""
    prose = _plain(_FORMULA.sub(" ", _FENCED.sub("\n", shown)))
    text = prose if _WORDS.search(prose) else _plain(shown)
    sentences = _sentences(text)
    if not sentences:
        return _shorten(" ".join(shown.split()))
    return _shorten(max(zip(_scores(sentences), sentences, strict=True), key=lambda pair: pair[0])[1])


def _plain(text: str) -> str:
    """The words without the marks around them."""
    return _MARKUP.sub("", _LINK.sub(r"\1", _DEFINITION.sub("", text)))


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|(?<=[:：])\n", text):
        line = " ".join(paragraph.split())
        cuts = [0, *sentence_ends(line), len(line)]
        found += [line[start:end].strip() for start, end in pairwise(cuts)]
        if len(found) >= _MAX_SENTENCES:
            break
    return [sentence for sentence in found if _WORDS.search(sentence)][:_MAX_SENTENCES]


def _scores(sentences: Sequence[str]) -> list[float]:
    """How much of the chunk's vocabulary each sentence has; earlier ones and ones of ordinary length lead."""
    bags = [set(_WORDS.findall(sentence.lower())) for sentence in sentences]
    spread = Counter(word for bag in bags for word in bag)
    scores = []
    for place, (sentence, bag) in enumerate(zip(sentences, bags, strict=True)):
        central = sum(spread[word] - 1 for word in bag) / (len(bag) + 4) / max(1, len(sentences) - 1)
        lead = 0.5 / (1 + place)
        length = min(1.0, len(bag) / 6) * min(1.0, math.sqrt(SUMMARY_CHARS / max(1, len(sentence))))
        scores.append((central + lead) * length)
    return scores


def _shorten(text: str) -> str:
    if len(text) <= SUMMARY_CHARS:
        return text
    cut = text[: SUMMARY_CHARS - 1]
    word = cut.rfind(" ", SUMMARY_CHARS * 2 // 3)
    return (cut[:word] if word > 0 else cut).rstrip() + "…"
