"""Which reranker reads the passages of a search."""

from collections.abc import Sequence

from kosmos.accounts.credentials import candidates, reveal_key
from kosmos.domain.accounts import Principal
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.errors import ConfigError
from kosmos.llm.choice import with_failover
from kosmos.retrieval.reranking import rerank_by_endpoint, rerank_by_model
from kosmos.tasks.workbench import Workbench


async def score_passages(
    bench: Workbench,
    who: Principal,
    how: str,
    query: str,
    passages: Sequence[str],
    *,
    space_id: str | None = None,
) -> list[float] | None:
    """A score for each passage; None where `auto` finds nobody who could give one."""
    if how == "auto":
        endpoints = await _models(bench, who, CredentialType.RERANK, space_id)
        how = "endpoint" if endpoints else "local" if bench.reranker is not None else "none"
    if how == "none":
        return None
    if how == "local":
        return await _local(bench, query, passages)
    kind = CredentialType.RERANK if how == "endpoint" else CredentialType.LLM
    call = rerank_by_endpoint if how == "endpoint" else rerank_by_model

    async def ask(model: Credential) -> list[float]:
        async with bench.db.read() as conn:
            key = await reveal_key(conn, model, bench.box)
        return await call(model, key, query, passages, seconds=bench.provider_seconds)

    return await with_failover(kind, await _models(bench, who, kind, space_id), ask)


async def _local(bench: Workbench, query: str, passages: Sequence[str]) -> list[float]:
    if bench.reranker is None:
        raise ConfigError(
            "No local reranker is configured.",
            remedy="Set KOSMOS_RERANKER to a folder with model.onnx and tokenizer.json.",
        )
    return await bench.reranker.score(query, passages)


async def _models(
    bench: Workbench, who: Principal, kind: CredentialType, space_id: str | None
) -> list[Credential]:
    async with bench.db.read() as conn:
        return await candidates(conn, who, kind, space_id=space_id, rng=bench.rng)
