"""Where the comments of a text are: a chunk must not begin inside one, or half of it would be indexed."""

from bisect import bisect_right
from dataclasses import dataclass

from kosmos.domain.blocks import comment_spans


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a text, in order: where each begins, and where it has ended."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def covers(self, at: int) -> bool:
        """Whether a cut before this character would cut a comment in two."""
        before = bisect_right(self.starts, at - 1) - 1
        return before >= 0 and at < self.ends[before]

    def visible(self, text: str, start: int, end: int) -> str:
        """The part of the text without what lies in comments."""
        first = max(0, bisect_right(self.starts, start) - 1)
        kept, at = [], start
        for index in range(first, len(self.starts)):
            if self.starts[index] >= end:
                break
            kept.append(text[at : max(at, self.starts[index])])
            at = max(at, self.ends[index])
        return "".join([*kept, text[at:end]])


def find_comments(text: str) -> Comments:
    """All comments of a text, those that the index leaves out; one that is never closed runs to its end."""
    found = list(comment_spans(text))
    return Comments(tuple(start for start, _ in found), tuple(end for _, end in found))
