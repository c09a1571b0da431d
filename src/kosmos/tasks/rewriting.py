"""Which model rephrases the question of a search."""

from collections.abc import Sequence

from kosmos.accounts.credentials import candidates, reveal_key
from kosmos.domain.accounts import Principal
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.llm.choice import with_failover
from kosmos.retrieval.rewriting import rewrite_by_model
from kosmos.tasks.workbench import Workbench


async def rewrite(
    bench: Workbench,
    who: Principal,
    question: str,
    *,
    languages: Sequence[str] = (),
    space_id: str | None = None,
) -> list[str]:
    """Further queries for a question; small models are asked first. NoCredential when there is no model."""
    async with bench.db.read() as conn:
        models: list[Credential] = []
        for kind in (CredentialType.SLM, CredentialType.LLM):
            models += await candidates(conn, who, kind, space_id=space_id, rng=bench.rng)

    async def ask(model: Credential) -> list[str]:
        async with bench.db.read() as conn:
            key = await reveal_key(conn, model, bench.box)
        return await rewrite_by_model(model, key, question, languages, seconds=bench.provider_seconds)

    return await with_failover(CredentialType.LLM, models, ask)
