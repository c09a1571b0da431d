"""Terms of a text, for Chinese and English alike.

Words of scripts with blanks are folded to lower case and, in English, stemmed. Runs of Chinese, Japanese
and Korean characters give their characters and their pairs: no dictionary, no unknown words.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterator

import Stemmer

_DENSE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_DENSE}]+|[^\W_{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
_STOP = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have how i if in into is it its
    me my no not of on or our should so than that the their them then there these they this those to was we
    were what when where which who why will with would you your
    """.split()  # noqa: SIM905  (reads better than a list)
)
TERM_SPACE = 1_000_000_000  # the largest dimension that every engine accepts


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return list(_terms(folded))


def term_id(term: str) -> int:
    """A number for a term, the same on every machine, so that no vocabulary has to be kept."""
    return zlib.crc32(term.encode()) % TERM_SPACE


def _terms(text: str) -> Iterator[str]:
    stemmer = Stemmer.Stemmer("english")
    for match in _TOKEN.finditer(text):
        token = match.group()
        if _IS_DENSE.match(token):
            yield from token
            yield from (token[at : at + 2] for at in range(len(token) - 1))
        elif token not in _STOP:
            yield stemmer.stemWord(token) if token.isascii() else token
