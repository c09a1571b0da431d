"""What somebody wants of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kosmos.domain.sessions import Message
from kosmos.domain.values import storable
from kosmos.errors import InvalidInput, TooLarge
from kosmos.tasks.literature_wishes import LiteratureWish
from kosmos.tasks.run_models import ModelWish
from kosmos.tools.web_search import SearchEngine

MAX_QUESTION = 100_000


@dataclass(frozen=True, slots=True)
class RunWish:
    """A question, and how it is to be answered where that differs from what is stored.

    `history` takes the place of the session's own; `instructions` stand behind the agent's prompt.
    """

    question: str
    model: ModelWish = field(default_factory=ModelWish)
    space_ids: Sequence[str] | None = None
    search_engine: SearchEngine | None = None
    search_engine_api_key: str | None = field(default=None, repr=False)
    history: Sequence[Message] | None = None
    instructions: str = ""
    literature: LiteratureWish = field(default_factory=LiteratureWish)

    def check(self) -> None:
        """Refuse what cannot be asked."""
        if not self.question.strip():
            raise InvalidInput("The question is empty.", remedy="Ask something.")
        if len(self.question) > MAX_QUESTION:
            raise TooLarge(
                f"The question has {len(self.question):,} characters; at most {MAX_QUESTION:,} are allowed.",
                remedy="Add long texts as documents and ask about them.",
            )
        if not storable(self.question):
            raise InvalidInput("The question contains U+0000 or half a surrogate pair.", remedy="Remove it.")
        self.model.check()
        self.literature.check()
