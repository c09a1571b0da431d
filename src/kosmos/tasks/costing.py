"""What documents and spaces have cost in calls of models, and what chunking them would cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.access import require_document, require_space
from kosmos.db import chunks, documents, ledger
from kosmos.db.ledger import About
from kosmos.domain.accounts import Principal
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.ledger import Charge, Line, Sum
from kosmos.errors import NoCredential
from kosmos.llm.chat import cost_of
from kosmos.tasks.acting import find_models
from kosmos.tasks.preflight import Estimate, foresee
from kosmos.tasks.producing import INDEXER, check_producer
from kosmos.tasks.showing import settings_of
from kosmos.tasks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class DocumentCost:
    """What the calls about one document took; a document that was removed since has no name."""

    document_id: str | None
    source: str | None
    sum: Sum


@dataclass(frozen=True, slots=True)
class Cost:
    """What was taken, together, by purpose and model, and by document, the dearest first."""

    sum: Sum
    lines: tuple[Line, ...]
    documents: tuple[DocumentCost, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """What chunking would take: `documents` have a text, and `asked` of them are long enough to be asked
    about. `estimate.cost` is None where no credential names prices."""

    producer: str
    documents: int
    asked: int
    estimate: Estimate


async def document_cost(bench: Workbench, who: Principal, document_id: str) -> Cost:
    """What the calls about a document took."""
    async with bench.db.read() as conn:
        document = await require_document(conn, who, document_id)
        lines = await ledger.sum_charges(conn, About(document_id=document.id))
    return Cost(_total(lines), tuple(lines))


async def space_cost(bench: Workbench, who: Principal, space_id: str) -> Cost:
    """What the calls about a space took, those about removed documents included."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id)
        lines = await ledger.sum_charges(conn, About(space_id=space_id))
        sums = await ledger.sum_by_document(conn, space_id)
        named = await documents.get_documents(conn, [key for key in sums if key is not None])
    by_document = [
        DocumentCost(key, named[key].source if key in named else None, taken) for key, taken in sums.items()
    ]
    by_document.sort(
        key=lambda item: (-item.sum.spent.cost, -item.sum.spent.prompt_tokens, item.source or "")
    )
    return Cost(_total(lines), tuple(lines), tuple(by_document))


async def list_calls(
    bench: Workbench, who: Principal, document_id: str, *, after: str = "", limit: int = 100
) -> list[Charge]:
    """The calls about a document, oldest first."""
    async with bench.db.read() as conn:
        document = await require_document(conn, who, document_id)
        return await ledger.list_charges(conn, About(document_id=document.id), after=after, limit=limit)


async def foresee_document(
    bench: Workbench, who: Principal, document_id: str, *, producer: str | None = None
) -> Forecast:
    """What chunking a document again would take."""
    async with bench.db.read() as conn:
        document = await require_document(conn, who, document_id)
        tokens = await chunks.live_tokens(conn, document_id=document.id)
        return await _forecast(bench, conn, who, document.space_id, tokens.values(), producer)


async def foresee_space(
    bench: Workbench, who: Principal, space_id: str, *, producer: str | None = None
) -> Forecast:
    """What chunking all documents of a space again would take."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id)
        tokens = await chunks.live_tokens(conn, space_id=space_id)
        return await _forecast(bench, conn, who, space_id, tokens.values(), producer)


async def _forecast(
    bench: Workbench,
    conn: AsyncConnection,
    who: Principal,
    space_id: str,
    tokens: Iterable[int],
    producer: str | None,
) -> Forecast:
    sizes = list(tokens)
    chosen = check_producer(producer or (await settings_of(conn, space_id)).producer)
    if chosen != INDEXER:
        return Forecast(chosen, len(sizes), 0, Estimate())
    parts = [foresee(size) for size in sizes]
    prompt, output = sum(part[0] for part in parts), sum(part[1] for part in parts)
    model = await _model(bench, conn, who, space_id)
    cost = cost_of(model, prompt, output) if model else None
    estimate = Estimate(prompt, output, cost, model.name if model else None)
    return Forecast(chosen, len(sizes), sum(part[0] > 0 for part in parts), estimate)


async def _model(bench: Workbench, conn: AsyncConnection, who: Principal, space_id: str) -> Credential | None:
    kind = CredentialType.SLM
    try:
        return (await find_models(bench, conn, who, kind, space_id=space_id, purpose="The indexer"))[0]
    except NoCredential:
        return None


def _total(lines: Iterable[Line]) -> Sum:
    return sum((line.sum for line in lines), start=Sum())
