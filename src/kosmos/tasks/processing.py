"""`document_processing`: the original becomes canonical text, with its figures beside it."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts.credentials import candidates
from kosmos.chunking.redaction import shown_values
from kosmos.db import assets, jobs, versions
from kosmos.domain.assets import AnalysisStatus, Asset, asset_id
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.documents import Canonical, Document, DocumentStatus, DocumentVersion
from kosmos.domain.hints import Hints
from kosmos.domain.jobs import Job, NewJob, OnFailure
from kosmos.domain.papers import KEY, dump_facts
from kosmos.ingest.limits import Converted
from kosmos.ingest.papers import find_facts
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import Registry
from kosmos.jobs.run import Run
from kosmos.tasks.acting import initiator_of, lane_of
from kosmos.tasks.extracts import extract_bytes
from kosmos.tasks.generations import open_version, still_draft
from kosmos.tasks.keeping import hold_blob, release_blobs
from kosmos.tasks.pipeline import Result
from kosmos.tasks.showing import settings_of
from kosmos.tasks.workbench import Workbench

ASSET_ANALYSIS = "asset_analysis"
_FIRST_STEP = {"status": DocumentStatus.PROCESSING.value, "error": None}


async def process_document(bench: Workbench, run: Run) -> Result:
    """Convert, store what was found, and let each figure be looked at if somebody can."""
    document, version = await open_version(run, start={})
    data = await bench.blobs.read(version.original_sha256)
    known: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in version.hints.items()}
    converted = await bench.converter.convert(data, document.filename, hints=Hints(**known))
    text, extract = converted.canonical.text.encode(), extract_bytes(converted)
    parts = (text, extract, *(figure.data for figure in converted.figures))
    stored = {await bench.blobs.put(part): part for part in parts if part is not None}
    viewer = await _viewer(bench, run)
    async with run.db.glance() as conn:
        kinds = (await settings_of(conn, document.space_id)).hidden_kinds
    found = _assets(run, document, version, converted, analysed=viewer is not None)
    changes = _columns(converted, text, extract)
    changes["metadata"] |= await asyncio.to_thread(_about_paper, converted.canonical)
    lines = changes["line_count"]
    progress = {"current_line": lines, "total_lines": lines, "generation": version.generation}
    async with run.batch(progress) as conn:
        await still_draft(conn, run, version, _FIRST_STEP if document.live_generation == 0 else {})
        for sha256, part in sorted(stored.items()):  # in one order, so that nobody waits in a circle
            await hold_blob(bench, conn, sha256, part)
        await versions.update_version(conn, document.id, version.generation, changes, run.clock())
        left = await assets.delete_assets(conn, document.id, keep=frozenset({document.live_generation}))
        await assets.insert_assets(conn, found)
        made = await _let_look(conn, run, found, viewer) if viewer is not None else []
    bench.wake([job.id for job in made])
    left += [sha256 for sha256 in (version.canonical_sha256, version.extract_sha256) if sha256]
    await release_blobs(bench, sorted(set(left) - set(stored)))
    notes = shown_values(list(converted.notes)[:20], kinds)  # they may quote the text
    return {
        "lines": lines,
        "canonical_sha256": changes["canonical_sha256"],
        "figures": len(found),
        "notes": notes,
    }


def _columns(converted: Converted, text: bytes, extract: bytes | None) -> dict[str, Any]:
    """What the row of a version says about its text."""
    return {
        "canonical_sha256": hashlib.sha256(text).hexdigest(),
        "extract_sha256": hashlib.sha256(extract).hexdigest() if extract is not None else None,
        "filetype": converted.format[:32],
        "converter": converted.converter[:64],
        "line_count": len(converted.canonical.lines) if converted.canonical.text else 0,
        "title": converted.canonical.title[:500],
        "metadata": dict(converted.canonical.metadata),
    }


def _about_paper(canonical: Canonical) -> dict[str, Any]:
    """What a paper says about itself; nothing for other texts."""
    facts = find_facts(canonical.text, canonical.title[:500], canonical.metadata)
    return {KEY: dump_facts(facts)} if facts else {}


def _assets(
    run: Run, document: Document, version: DocumentVersion, converted: Converted, *, analysed: bool
) -> list[Asset]:
    status = AnalysisStatus.PENDING if analysed else AnalysisStatus.NOT_ANALYSED
    return [
        Asset(
            id=asset_id(document.id, version.generation, position),
            space_id=document.space_id,
            document_id=document.id,
            generation=version.generation,
            kind="figure",
            sha256=figure.sha256,
            media_type=figure.media_type[:128],
            size=len(figure.data),
            line=figure.line,
            caption=figure.caption,
            description=None,
            analysis_status=status,
            error=None,
            created_at=run.clock(),
            updated_at=run.clock(),
        )
        for position, figure in enumerate(converted.figures)
    ]


async def _viewer(bench: Workbench, run: Run) -> Credential | None:
    """The model that can look at figures, if there is one."""
    who = await initiator_of(bench, run.job)
    async with run.db.glance() as conn:
        kind = CredentialType.VLM
        found = await candidates(conn, who, kind, space_id=run.job.space_id, rng=bench.rng)
    return found[0] if found else None


async def _let_look(conn: AsyncConnection, run: Run, found: Sequence[Asset], viewer: Credential) -> list[Job]:
    """A job for each figure; chunking waits for them, but goes on without those that fail."""
    wanted = [
        NewJob(
            type=ASSET_ANALYSIS,
            space_id=item.space_id,
            document_id=item.document_id,
            asset_id=item.id,
            initiator_id=run.job.initiator_id,
            dedupe_key=f"{ASSET_ANALYSIS}:{item.id}",
            **lane_of(viewer),
        )
        for item in found
    ]
    made = await create_jobs(conn, run.registry or Registry(), wanted, run.clock()) if wanted else []
    waiting = await jobs.find_open(conn, f"chunking:{run.job.document_id}")
    if waiting is not None:
        known = {
            first.job_id for first in (await jobs.dependency_states(conn, [waiting.id])).get(waiting.id, [])
        }
        new = [job.id for job in made if job.id not in known]
        await jobs.insert_dependencies(conn, [(waiting.id, job_id, OnFailure.CONTINUE) for job_id in new])
    return made
