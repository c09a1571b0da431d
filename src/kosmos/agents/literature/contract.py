"""What the workflow is given: a question, papers, ways to read and recall them, a cache of summaries."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Protocol

from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.limits import DIRECT_CONTENT_THRESHOLD
from kosmos.domain.papers import PaperFacts
from kosmos.domain.sessions import Message
from kosmos.tools.contract import Passage

Place = tuple[int, int]  # first and last line


@dataclass(frozen=True, slots=True)
class Paper:
    """A document that the question is about. `content_hash` tells its text from any other."""

    document_id: str
    source: str
    facts: PaperFacts
    content_hash: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        return self.facts.title or self.source


@dataclass(frozen=True, slots=True)
class PaperText:
    """A whole paper without its reference list, as passages in reading order."""

    passages: tuple[Passage, ...]
    tokens: int
    language: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that was recalled, for which question, and how relevant it is to it, from 0 to 1."""

    passage: Passage
    score: float
    question: str
    weak: bool = False  # below the threshold, taken because nothing reached it


@dataclass(frozen=True, slots=True)
class Condensed:
    """The summary of one paper. Its markers are numbers of its own: `places` are the lines behind them."""

    text: str
    places: Mapping[int, Place] = field(default_factory=dict)
    model: str = ""


class Library(Protocol):
    """The papers of one question, as their reader may see them."""

    @property
    def papers(self) -> Sequence[Paper]:
        """All of them, in the order in which they were given."""

    async def read(self, paper: Paper) -> PaperText:
        """A whole paper."""

    async def recall(self, question: str, paper: Paper | None) -> Sequence[Evidence]:
        """What fits a question, in all papers or in one, most relevant first."""

    async def lines(self, document_id: str, place: Place) -> Passage | None:
        """Lines as they can be read now; None when they cannot."""


Make = Callable[[], Awaitable[Condensed]]


class SummaryCache(Protocol):
    """Summaries that were made before, by whomever, of papers that the reader may read."""

    async def get_many(self, papers: Sequence[Paper]) -> Mapping[str, Condensed]:
        """Those that there are, by document."""

    async def take(self, paper: Paper, make: Make) -> tuple[Condensed, bool]:
        """The summary and whether it was made now; who asks while it is being made waits for it."""


@dataclass(frozen=True, slots=True)
class Histories:
    """The part of the talk that each stage gets."""

    intent: Sequence[Message] = ()
    planning: Sequence[Message] = ()
    answer: Sequence[Message] = ()
    simple: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class LiteratureTask:
    """A question, and how it is to be worked on."""

    question: str
    role: str = ""  # who the agent is, in its own prompt
    histories: Histories = field(default_factory=Histories)
    max_context_tokens: int = 32_000
    session_tokens: int = 0
    language: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    mode_type: Intent | None = None
    direct_content_threshold: float = DIRECT_CONTENT_THRESHOLD
    web_search: bool = False
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
