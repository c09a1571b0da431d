"""Numbers of lines that are not read yet: summaries of many papers point at more than is ever cited."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from kosmos.agents.claims import MARK
from kosmos.agents.literature.contract import Condensed, Paper, Place
from kosmos.agents.sources import Sources
from kosmos.tools.contract import Passage

Read = Callable[[str, Place], Awaitable[Passage | None]]
Spot = tuple[str, int, int]


# What a paper puts behind its own statements looks like our markers.
_OWN_MARKS = re.compile(r"\[(\d{1,3}(?:\s?[,;，–-]\s?\d{1,3}){0,9})\]")


def disarm(passage: Passage) -> Passage:
    """The passage as a model sees it: references of the paper itself stand in other brackets, and the
    title is not said twice."""
    above = tuple(title for title in passage.headings if title != passage.title)
    return replace(passage, text=_OWN_MARKS.sub(r"⟦\1⟧", passage.text), headings=above)


@dataclass(slots=True)
class PaperSources:
    """The sources of a session, and lines promised under a number that are read when they are cited."""

    sources: Sources
    read: Read
    promised: dict[int, Spot] = field(default_factory=dict)
    _known: dict[Spot, int] = field(default_factory=dict)

    @property
    def fence(self) -> str:
        """The mark around data."""
        return self.sources.fence

    def promise(self, document_id: str, place: Place) -> int:
        """The number of lines; the same lines keep theirs."""
        spot = (document_id, *place)
        number = self._known.get(spot)
        if number is None:
            number = self.sources.next_number
            self.sources.next_number += 1
            self._known[spot], self.promised[number] = number, spot
        return number

    def show(self, passage: Passage) -> tuple[int, str]:
        """The number of a passage, and the passage as the model sees it."""
        number = self.promise(passage.url or passage.document_id, (passage.start_line, passage.end_line))
        self.sources.seen[number] = passage
        shown, _ = Sources(self.fence, number).show([disarm(passage)])
        return number, shown

    def adopt(self, paper: Paper, summary: Condensed) -> str:
        """The text of a summary, its own markers turned into those of the session."""
        numbers = {str(own): self.promise(paper.document_id, place) for own, place in summary.places.items()}
        return MARK.sub(lambda mark: f"[{numbers[mark[1]]}]" if mark[1] in numbers else "", summary.text)

    def knows(self, number: int) -> bool:
        """Whether a marker points somewhere."""
        return number in self.promised or self.sources.knows(number)

    async def keep(self, used: Mapping[int, object]) -> None:
        """Read what is cited; what cannot be read any more is known no longer."""
        for number in used:
            if number in self.promised and number not in self.sources.seen:
                document_id, start, end = self.promised[number]
                passage = await self.read(document_id, (start, end))
                if passage is not None:
                    self.sources.seen[number] = passage
