"""Words cut at the end of a line, put together as the rest of the document writes them."""

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


class Hyphens:
    """Knows the words of a document, to tell `co-` + `operate` from `well-` + `known`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = Counter(word.lower() for text in texts for word in _WORD.findall(text))

    def join(self, first: str, second: str) -> str:
        """Two lines, the first of which ends within a word (its hyphen already taken off)."""
        start = re.search(r"[^\W_]*$", first)
        end = re.match(r"[^\W_]*", second)
        before, after = start.group() if start else "", end.group() if end else ""
        return first + ("" if self._is_one_word(before, after) else "-") + second

    def _is_one_word(self, before: str, after: str) -> bool:
        whole = self._words[(before + after).lower()]
        hyphened = self._words[f"{before}-{after}".lower()]
        if whole or hyphened:
            return whole >= hyphened
        # Where no other line tells: letters that go on in lower case are one word, `PK-LQP` is not.
        return before.isalpha() and after.isalpha() and after.islower()
