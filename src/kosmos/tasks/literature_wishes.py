"""What somebody wants of the literature workflow."""

from dataclasses import dataclass, field

from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.limits import DIRECT_CONTENT_THRESHOLD
from kosmos.domain.agents import AgentForm, Workflow
from kosmos.domain.values import storable
from kosmos.errors import InvalidInput, TooLarge

MAX_DOCUMENTS = 1000
MAX_CONTENT = 5_000_000


@dataclass(frozen=True, slots=True)
class RecallWish:
    """How documents are recalled; `api_url` is that of another server."""

    api_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    top_n: int = 10
    similarity_threshold: float = 0.2
    vector_similarity_weight: float = 0.3
    use_rerank: bool = False


@dataclass(frozen=True, slots=True)
class LiteratureWish:
    """Documents to work on, or a text given along, and what to do with them."""

    doc_ids: tuple[str, ...] = ()
    content: str = ""
    mode_type: Intent | None = None
    refresh_summary_cache: bool = False
    web_search: bool = False
    direct_content_threshold: float = DIRECT_CONTENT_THRESHOLD
    recall: RecallWish = field(default_factory=RecallWish)

    def check(self) -> None:
        """Refuse what cannot be worked on."""
        if len(self.doc_ids) > MAX_DOCUMENTS:
            raise InvalidInput(
                f"At most {MAX_DOCUMENTS:,} documents can be worked on at once.", remedy="Name fewer."
            )
        if self.doc_ids and self.content:
            raise InvalidInput("doc_ids and content cannot be given together.", remedy="Give one of them.")
        if len(self.content) > MAX_CONTENT:
            raise TooLarge(
                f"content has more than {MAX_CONTENT:,} characters.", remedy="Add it as a document."
            )
        if not storable(self.content):
            raise InvalidInput("content contains U+0000 or half a surrogate pair.", remedy="Remove it.")

    def check_for(self, agent: AgentForm) -> None:
        """Refuse documents for an agent that would pass over them."""
        if agent.workflow is Workflow.LITERATURE or not (self.doc_ids or self.content or self.mode_type):
            return
        raise InvalidInput(
            f"{agent.name} does not work on given documents: its workflow is {agent.workflow}.",
            remedy="Ask an agent whose workflow is literature, such as the literature assistant.",
        )
