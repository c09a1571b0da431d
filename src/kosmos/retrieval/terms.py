"""Terms of a text, for Chinese and English alike.

Words of scripts with blanks are folded to lower case and, in English, stemmed. Runs of Chinese, Japanese
and Korean characters give their characters and their pairs: no dictionary, no unknown words.
"""

import re
import threading
import unicodedata
import zlib
from functools import lru_cache

import Stemmer

_DENSE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"([{_DENSE}]+)|([^\W_{_DENSE}]+)")
_STOP = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have how i if in into is it its
    me my no not of on or our should so than that the their them then there these they this those to was we
    were what when where which who why will with would you your
    """.split()  # noqa: SIM905  (reads better than a list)
)
# What makes a Chinese sentence a question, or stands in any sentence: taken out of questions only.
_ASKING = re.compile(
    "怎么样|怎么办|怎么|怎样|如何|什么时候|为什么|是不是|有没有|能不能|可不可以|可以|什么|哪里|哪个|哪些|多少|应该|需要|想要|"
    "希望|不想|我们|你们|他们|自己|一下|一点|一些|这个|那个|这种|那种|请问|[的了吗呢吧啊呀]"
)
LONGEST_WORD = 64  # anything longer is no word: it has no stem
_STEMMER = Stemmer.Stemmer("english", 0)  # what it has found is kept by us, over all threads
_ONE_AT_A_TIME = threading.Lock()
TERM_SPACE = 1_000_000_000  # the largest dimension that every engine accepts


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions."""
    found: list[str] = []
    for dense, word in _TOKEN.findall(unicodedata.normalize("NFKC", text).lower()):
        if dense:
            found += dense
            found += map(str.__add__, dense, dense[1:])
        elif word not in _STOP:
            found.append(_stem(word) if word.isascii() and len(word) <= LONGEST_WORD else word)
    return found


def question_terms(text: str) -> list[str]:
    """The terms of a question, without the words that only make it one; all of them when it has no others."""
    asked = unicodedata.normalize("NFKC", text)
    return terms(_ASKING.sub(" ", asked)) or terms(asked)


@lru_cache(maxsize=50_000)
def term_id(term: str) -> int:
    """A number for a term, the same on every machine, so that no vocabulary has to be kept."""
    return zlib.crc32(term.encode()) % TERM_SPACE


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    with _ONE_AT_A_TIME:  # the stemmer is not made for several threads
        return str(_STEMMER.stemWord(word))
