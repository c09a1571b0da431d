"""A provider that asks to slow down: jobs sleep with the reason and complete afterwards; none fails."""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kosmos.accounts.credentials import NewCredential, add_credential
from kosmos.db import jobs as table
from kosmos.domain.clock import system_clock
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.domain.jobs import Job, JobEvent, JobStatus, NewJob, Spent
from kosmos.doubles.model_server import ModelServer, Reply
from kosmos.doubles.requests import Body
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.jobs.worker import Worker
from kosmos.llm.client import client_for
from kosmos.llm.secrets import open_box

from .scene import Scene

BUSY_SECONDS = float(os.environ.get("BUSY_SECONDS", "2"))  # a minute, when run by hand
JOBS = 12


class Provider:
    """Answers 429 for a while, from the first question on."""

    def __init__(self) -> None:
        self._until: float | None = None
        self.refused = 0

    def decide(self, _body: Body) -> Reply:
        now = time.monotonic()
        self._until = self._until or now + BUSY_SECONDS
        if now < self._until:
            self.refused += 1
            return Reply(status=429, retry_after=1)
        return Reply(content="done")


def asking(credential: Credential) -> JobType:
    """A type of job that asks a model once and counts what that cost."""

    async def ask(run: Run) -> Mapping[str, Any]:
        async with client_for(credential, None, 10) as client:
            messages: Any = [{"role": "user", "content": run.job.id}]
            answer = await client.chat.completions.create(model="scripted", messages=messages)
        assert answer.usage is not None
        run.spend(Spent(prompt_tokens=answer.usage.prompt_tokens))
        return {"said": answer.choices[0].message.content}

    return JobType("asking", ask, max_attempts=2)


async def _credential(scene: Scene, url: str, key_file: Path) -> Credential:
    new = NewCredential("busy", CredentialType.LLM, url, "scripted")
    async with scene.bench.db.write() as conn:
        box = open_box(None, key_file)
        return await add_credential(conn, scene.owner, new, box=box, now=scene.bench.clock())


async def _jobs_and_events(scene: Scene, ids: list[str]) -> tuple[list[Job], list[list[JobEvent]]]:
    async with scene.bench.db.read() as conn:
        jobs = [await table.get_job(conn, job_id) for job_id in ids]
        events = [await table.events_after(conn, job_id, 0) for job_id in ids]
    return [job for job in jobs if job is not None], events


async def test_nothing_fails_while_the_provider_is_busy(scene: Scene, tmp_path: Path) -> None:
    provider = Provider()
    async with ModelServer(provider.decide) as server:
        registry = Registry(asking(await _credential(scene, server.base_url, tmp_path / "key")))
        new = NewJob("asking", space_id=scene.space_id, lane="credential:busy", lane_limit=4)
        worker = Worker(scene.bench.db, registry, name="test", slots=8)
        async with scene.bench.db.write() as conn:
            made = await create_jobs(conn, registry, [new] * JOBS, system_clock())
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(BUSY_SECONDS + 60):
            while True:
                jobs, events = await _jobs_and_events(scene, [job.id for job in made])
                if all(job.status.ended for job in jobs):
                    break
                await asyncio.sleep(0.1)
        worker.stop()
        await running
        assert server.peak <= 4
    assert provider.refused >= 4
    assert {job.status for job in jobs} == {JobStatus.COMPLETED}
    assert all(job.spent.prompt_tokens > 0 for job in jobs)
    paused = [event.reason for happened in events for event in happened if event.status is JobStatus.PAUSED]
    assert len(paused) == provider.refused  # however often: being told to wait is no attempt
    assert set(paused) == {"busy (scripted) asks to slow down."}
