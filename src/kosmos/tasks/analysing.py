"""`asset_analysis`: a model looks at a figure and says what it shows."""

import asyncio
import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.credentials import reveal_key
from kosmos.chunking.redaction import hide_identifiers
from kosmos.db import assets, model_answers
from kosmos.domain.assets import AnalysisStatus, Asset
from kosmos.domain.blocks import blank_comments
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.documents import Document, DocumentVersion
from kosmos.domain.jobs import Job
from kosmos.domain.language import language_of
from kosmos.errors import ConversionFailed, NotFound, ProviderUnavailable
from kosmos.jobs.run import Run
from kosmos.llm.chat import complete
from kosmos.llm.choice import with_failover
from kosmos.prompts import load_prompt
from kosmos.tasks.acting import initiator_of, models_for
from kosmos.tasks.charging import charge_for, charged_batch
from kosmos.tasks.generations import get_document, get_version
from kosmos.tasks.showing import settings_of
from kosmos.tasks.workbench import Workbench

CONTEXT_LINES = 6
CONTEXT_CHARS = 1200
MAX_IMAGE = 20 * 2**20
MAX_DESCRIPTION = 4000
_VIEWABLE = ("image/png", "image/jpeg", "image/gif", "image/webp")


async def analyse_asset(bench: Workbench, run: Run) -> Mapping[str, Any]:
    """Ask a model for a description; asking the same model about the same figure again costs nothing."""
    document = await get_document(run)
    async with run.db.read() as conn:
        asset = await assets.get_asset(conn, run.job.asset_id or "")
    if asset is None:
        raise NotFound("The figure of this job is gone.", remedy="Nothing to do.")
    if asset.media_type not in _VIEWABLE or asset.size > MAX_IMAGE:
        raise ConversionFailed(
            f"A figure of type {asset.media_type} and {asset.size:,} bytes cannot be shown to a model.",
            remedy="Nothing to do: the document is used without its description.",
        )
    version = await get_version(run, document, asset.generation)
    language, prompt = await _question(bench, document, version, asset)
    who = await initiator_of(bench, run.job)
    kind = CredentialType.VLM
    models = await models_for(bench, who, kind, space_id=document.space_id, purpose="Looking at figures")

    async def ask(model: Credential) -> str:
        key = _key(asset, model, language)
        return await _known(run, key) or await _described(bench, run, model, asset, prompt, key=key)

    description = await with_failover(kind, models, ask)
    changes = {"description": description, "analysis_status": AnalysisStatus.DONE.value, "error": None}
    async with run.batch({"current": 1, "total": 1}) as conn:
        await assets.update_asset(conn, asset.id, changes, run.clock())
    return {"characters": len(description)}


async def mark_failed(bench: Workbench, conn: AsyncConnection, *, job: Job, reason: str) -> None:
    """A figure that could not be described says why; its document goes on without."""
    changes = {"analysis_status": AnalysisStatus.FAILED.value, "error": reason}
    await assets.update_asset(conn, job.asset_id or "", changes, bench.clock())


async def _question(
    bench: Workbench, document: Document, version: DocumentVersion, asset: Asset
) -> tuple[str, str]:
    """The language of the answer and the prompt."""
    text = (await bench.blobs.read(version.canonical_sha256)).decode() if version.canonical_sha256 else ""
    async with bench.db.read() as conn:
        kinds = (await settings_of(conn, document.space_id)).hidden_kinds
    # What is sent is what may be shown: the text is not chunked yet, so nothing else has hidden it.
    shown = await asyncio.to_thread(lambda: hide_identifiers(text, kinds))
    lines = blank_comments(shown).split("\n")
    before = "\n".join(lines[max(0, asset.line - 1 - CONTEXT_LINES) : asset.line - 1])[-CONTEXT_CHARS:]
    after = "\n".join(lines[asset.line : asset.line + CONTEXT_LINES])[:CONTEXT_CHARS]
    language = language_of(text)
    return language, load_prompt("describe_figure").render(
        language=language,
        title=hide_identifiers(version.title or document.title, kinds),
        caption=hide_identifiers(asset.caption, kinds) or "none",
        before=before,
        after=after,
    )


async def _known(run: Run, key: str) -> str | None:
    async with run.db.read() as conn:
        answer = await model_answers.get_answer(conn, key)
    return answer if isinstance(answer, str) else None


async def _described(
    bench: Workbench, run: Run, model: Credential, asset: Asset, prompt: str, *, key: str
) -> str:
    await bench.quotas.check_tokens(run.db, run.clock, space_id=run.job.space_id)
    async with run.db.read() as conn:
        secret = await reveal_key(conn, model, bench.box)
    image = base64.b64encode(await bench.blobs.read(asset.sha256)).decode()
    content = [
        {"type": "text", "text": prompt},
        {"type": "image_url", "image_url": {"url": f"data:{asset.media_type};base64,{image}"}},
    ]
    answer = await complete(
        model, secret, [{"role": "user", "content": content}], seconds=bench.provider_seconds
    )
    run.spend(answer.spent)
    text = " ".join(answer.text.split()).replace("\x00", "")[:MAX_DESCRIPTION]
    charge = charge_for(run, model, answer.spent, purpose="asset_analysis", lines=(asset.line, asset.line))
    async with charged_batch(run, charge) as conn:
        if text:
            await model_answers.put_answer(
                conn, key, kind="asset_analysis", model=model.model, answer=text, now=run.clock()
            )
    if not text:
        raise ProviderUnavailable(f"{model.name} said nothing about a figure.")
    return text


def _key(asset: Asset, model: Credential, language: str) -> str:
    """The same figure in the same language, asked by the same prompt of the same model."""
    parts = [asset.sha256, load_prompt("describe_figure").sha256, model.base_url, model.model, language]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
