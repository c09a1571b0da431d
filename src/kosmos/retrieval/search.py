"""Search: the question is put to every route, the lists become one, and what was found is ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kosmos.errors import InvalidInput
from kosmos.retrieval.conditions import Conditions, compile_conditions
from kosmos.retrieval.evidence import Ranked, rank
from kosmos.retrieval.gathering import SHORTLIST, Gathered, Scope, Shelf, gather
from kosmos.retrieval.tuning import FUSIONS, MAX_DEPTH, Tuning
from kosmos.store.contract import Store
from kosmos.telemetry.measures import SEARCH_SECONDS, timed
from kosmos.telemetry.traces import span

MAX_QUERY = 10_000
MAX_K = 1000
MAX_NEIGHBOURS = 10
RERANKS = ("none", "auto", "endpoint", "model", "local")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for and how; what is None is as the space has it.

    `routes` gives weights (0 switches a route off), `threshold` is the least similarity of question and
    text, `grouped` shows each document once, `neighbours` so many chunks before and after each result,
    `walk` goes on from results to their parents, siblings and links, `rewrite` lets a model rephrase.
    """

    query: str
    k: int = 10
    offset: int = 0
    where: Conditions = field(default_factory=Conditions)
    threshold: float = 0.0
    routes: Mapping[str, float] | None = None
    fusion: str | None = None
    rerank: str | None = None
    grouped: bool = False
    neighbours: int = 0
    walk: bool = False
    rewrite: bool = False
    explain: bool = False
    likeness: bool = False  # say how alike question and text are

    def check(self) -> None:
        """Refuse what cannot be searched for."""
        check_query(self.query, self.k)
        if not 0 <= self.offset <= MAX_K:
            raise InvalidInput(f"The offset must be between 0 and {MAX_K}.", remedy="Narrow the search.")
        if not 0 <= self.threshold <= 1:
            raise InvalidInput("The similarity threshold is a number from 0 to 1.", remedy="0.2 is usual.")
        if not 0 <= self.neighbours <= MAX_NEIGHBOURS:
            raise InvalidInput(f"At most {MAX_NEIGHBOURS} neighbours are shown.", remedy="Read the lines.")
        for what, value, allowed in (("fusion", self.fusion, FUSIONS), ("rerank", self.rerank, RERANKS)):
            if value is not None and value not in allowed:
                raise InvalidInput(
                    f"There is no {what} {value!r}.", remedy=f"There are {', '.join(allowed)}."
                )

    def tune(self, usual: Tuning) -> Tuning:
        """The tuning of a space as this search wants it."""
        tuning = replace(usual, fusion=self.fusion or usual.fusion, rerank=self.rerank or usual.rerank)
        return tuning.with_routes(self.routes or {})


@dataclass(frozen=True, slots=True)
class Outcome:
    """A ranked list, and what it was made from; `cut` tells that there may be more."""

    ranked: list[Ranked]
    gathered: Gathered
    tuning: Tuning
    reach: int
    cut: bool


def check_query(query: str, k: int) -> None:
    """Refuse what cannot be searched for."""
    if len(query) > MAX_QUERY:
        raise InvalidInput(
            f"The question has {len(query)} characters; at most {MAX_QUERY} are allowed.",
            remedy="Ask more briefly; add long text as a document instead.",
        )
    if not query.strip():
        raise InvalidInput("The question is empty.", remedy="Say what to look for.")
    if not 1 <= k <= MAX_K:
        raise InvalidInput(f"k must be between 1 and {MAX_K}.", remedy="10 is a good start.")


async def search_shelves(
    store: Store,
    shelves: Sequence[Shelf],
    wanted: Wanted,
    *,
    tuning: Tuning,
    rewritten: Sequence[str] = (),
    reach: int = 0,
) -> Outcome:
    """What was found in the collections, best first; `reach` asks for more of every route than is usual."""
    wanted.check()
    tuning = wanted.tune(tuning)
    need = wanted.offset + wanted.k
    most = max(SHORTLIST, 3 * need, reach)
    reach = min(MAX_DEPTH, max(reach, tuning.depth, 2 * need + 10))
    scope = Scope(compile_conditions(wanted.where), tuning, reach, most)
    with span("search", spaces=len(shelves), k=wanted.k), timed(SEARCH_SECONDS):
        gathered = await gather(store, shelves, [wanted.query, *rewritten], scope=scope)
    ranked = rank(gathered.lists, gathered.rows, tuning, language=gathered.language)
    cut = any(len(hits) == reach for hits in gathered.lists.values()) or len(ranked) >= scope.most
    return Outcome(ranked, gathered, tuning, reach, cut)
