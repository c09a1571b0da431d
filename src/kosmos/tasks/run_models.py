"""Which model a run asks: the one its request brings along, or the stored credentials in their order."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kosmos.accounts.credentials import MAX_KEY, candidates, check_url, reveal_key
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.agents import MAX_CONTEXT_TOKENS, AgentForm
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.names import clean_name
from kosmos.errors import InvalidInput
from kosmos.llm.streaming import Model
from kosmos.net import guarded_transport
from kosmos.tasks.workbench import Workbench

OPENAI = "https://api.openai.com/v1"
LEAST_CONTEXT, MOST_CONTEXT = 2000, 10_000_000


@dataclass(frozen=True, slots=True)
class ModelWish:
    """The model that a request wants, where it does not take what is stored."""

    openai_api_key: str | None = field(default=None, repr=False)
    openai_api_base: str | None = None
    model_name: str | None = None
    max_context_tokens: int | None = None

    def check(self) -> None:
        """Refuse what cannot be a model."""
        size = self.max_context_tokens
        if size is not None and not LEAST_CONTEXT <= size <= MOST_CONTEXT:
            raise InvalidInput(
                f"max_context_tokens must be from {LEAST_CONTEXT:,} to {MOST_CONTEXT:,}.",
                remedy="Give the size of the model's window.",
            )
        key = self.openai_api_key
        if key is not None and (len(key) > MAX_KEY or not key.isascii() or not key.isprintable()):
            raise InvalidInput("openai_api_key is no key.", remedy="Check what you sent.")

    @property
    def own(self) -> bool:
        """Whether the request brings a model of its own."""
        return self.openai_api_key is not None or self.openai_api_base is not None


async def models_of(
    bench: Workbench, who: Principal, agent: AgentForm, wish: ModelWish, *, space_ids: Sequence[str] | None
) -> list[Model]:
    """The models to ask, in order; none where nothing is configured."""
    wish.check()
    wanted = wish.model_name or agent.model
    if wish.own:
        return [_own_model(bench, who, wish, wanted)]
    space_id = space_ids[0] if space_ids is not None and len(space_ids) == 1 else None
    async with bench.db.glance() as conn:
        found = await candidates(conn, who, CredentialType.LLM, space_id=space_id, rng=bench.rng)
        chosen = _matching(found, wanted)
        return [Model(one, await reveal_key(conn, one, bench.box)) for one in chosen]


def _matching(found: Sequence[Credential], wanted: str | None) -> list[Credential]:
    """Those that serve the wanted model by name; where none does, all are asked for it."""
    if wanted is None:
        return list(found)
    named = [one for one in found if wanted in (one.name, one.model, one.id)]
    return named or [replace(one, model=wanted) for one in found]


def _own_model(bench: Workbench, who: Principal, wish: ModelWish, wanted: str | None) -> Model:
    """What the request names. Who may not store credentials may not point the server anywhere either."""
    if wanted is None:
        raise InvalidInput("The request names no model.", remedy="Give model_name.")
    now = bench.clock()
    credential = Credential(
        id="",
        owner_id=who.user.id,
        name="request",
        type=CredentialType.LLM,
        base_url=check_url(wish.openai_api_base or OPENAI),
        model=clean_name(wanted, what="model name"),
        options={},
        is_default=False,
        has_key=wish.openai_api_key is not None,
        key_id=None,
        created_at=now,
        updated_at=now,
    )
    transport = None if who.scope is Scope.ADMIN else guarded_transport(bench.fetcher.policy)
    return Model(credential, wish.openai_api_key, transport)


def window_of(agent: AgentForm, wish: ModelWish, models: Sequence[Model]) -> int:
    """How many tokens fit into the model: as the request, the agent or the credential says."""
    options = models[0].credential.options if models else {}
    for size in (
        wish.max_context_tokens,
        agent.chat_options.get("max_context_tokens"),
        options.get("max_context_tokens"),
    ):
        if isinstance(size, int) and not isinstance(size, bool) and LEAST_CONTEXT <= size <= MOST_CONTEXT:
            return size
    return MAX_CONTEXT_TOKENS
