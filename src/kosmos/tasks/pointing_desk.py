"""Where the indexer's questions are put to models: every answer is kept, so that none is paid for twice."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kosmos.accounts.credentials import reveal_key
from kosmos.chunking.indexer_ladder import Filed, Reply, Steps
from kosmos.chunking.indexer_prompt import Question
from kosmos.db import model_answers
from kosmos.domain.credentials import Credential, CredentialType
from kosmos.errors import AllProvidersFailed, CredentialUnusable, ModelUnfit, ProviderError, ProviderRejected
from kosmos.jobs.run import Run
from kosmos.llm.chat import Call, complete
from kosmos.llm.choice import with_failover
from kosmos.tasks.acting import initiator_of, models_for
from kosmos.tasks.charging import charge_for, charged_batch
from kosmos.tasks.workbench import Workbench
from kosmos.telemetry.measures import count_lookups

PARALLEL_BATCHES = 4
MAX_PARALLEL = 64
MOST_USELESS = 24  # all answers about one region, down to its quarters, and some about the next
_KIND = "chunking"
_MAX_ARGUMENTS = 200_000


class Desk:
    """Asks the models of one job; `calls` were made, `cached` answers were there already.

    `proved`: one of its answers could be filed. A model of which none can is given up soon.
    """

    def __init__(
        self, bench: Workbench, run: Run, models: Sequence[Credential], *, proved: bool = False
    ) -> None:
        self.models = models
        self.writing = asyncio.Lock()  # a claim records one thing after the other
        self.calls = self.cached = 0
        self._proved = proved
        self._useless = 0
        self._bench = bench
        self._run = run
        begun = run.progress.get("begun_anew", 0)
        self._asker = f"{run.job.id} {begun}" if begun else run.job.id

    @property
    def width(self) -> int:
        """How many questions may be asked at once."""
        wanted = self.models[0].options.get("parallel_batches")
        fits = type(wanted) is int and 1 <= wanted <= MAX_PARALLEL
        return wanted if fits and wanted is not None else PARALLEL_BATCHES

    async def file(self, steps: Steps) -> Filed:
        """Answer every question until the region is filed."""
        try:
            question = next(steps)
            while True:
                reply = await self.ask(question)
                self._judge(question, reply)
                question = steps.send(reply)
        except StopIteration as done:
            filed: Filed = done.value
            return filed

    async def ask(self, question: Question) -> Reply:
        """What a model answers, now or when it was asked the same before."""
        for model in self.models:
            known = await self._known(question, model)
            if known is not None:
                self.cached += 1
                count_lookups("model_answer", hits=1)
                return known
        count_lookups("model_answer", misses=1)
        await self._bench.quotas.check_tokens(self._run.db, self._run.clock, space_id=self._run.job.space_id)
        try:
            return await with_failover(CredentialType.SLM, self.models, partial(self._complete, question))
        except ProviderError as error:
            if _is_about_the_question(error):
                return Reply((), refusal=error.message)
            raise

    def _judge(self, question: Question, reply: Reply) -> None:
        """Raise when so many answers in a row, from the first on, were of no use: so will the others be."""
        self._proved = self._proved or (not reply.refusal and question.fits(reply.calls))
        self._useless += 1
        if not self._proved and self._useless >= MOST_USELESS:
            names = ", ".join(f"{model.name} ({model.model})" for model in self.models)
            why = f" The last one: {reply.refusal}" if reply.refusal else ""
            raise ModelUnfit(
                f"None of the first {MOST_USELESS} answers of {names} could be used, so the rest was not "
                f"asked.{why}",
                remedy="Use a model that can call tools, or chunk without one: producer=structure",
            )

    async def _known(self, question: Question, model: Credential) -> Reply | None:
        """The stored answer: one that could not be filed counts only for the job that got it."""
        async with self._run.db.read() as conn:
            for key in self._keys(question, model):
                stored = await model_answers.get_answer(conn, key)
                if stored is not None:
                    reply = _read(stored)
                    if stored.get("job") == self._asker or question.fits(reply.calls):
                        return reply
        return None

    async def _complete(self, question: Question, model: Credential) -> Reply:
        async with self._run.db.read() as conn:
            secret = await reveal_key(conn, model, self._bench.box)
        async with self.writing:
            self._run.check()
        seconds = self._bench.provider_seconds
        answer = await complete(model, secret, question.messages, seconds=seconds, tools=question.tools)
        self._run.spend(answer.spent)
        self.calls += 1
        stored = {
            "job": self._asker,
            "finish": answer.finish[:32],
            "calls": [[_clean(call.name)[:200], _clean(call.text)[:_MAX_ARGUMENTS]] for call in answer.calls],
        }
        common, own = self._keys(question, model)
        charge = charge_for(self._run, model, answer.spent, purpose=_KIND, lines=question.lines)
        async with self.writing, charged_batch(self._run, charge, self._one_more()) as conn:
            taken = await model_answers.get_answer(conn, common) is not None
            await model_answers.put_answer(
                conn,
                own if taken else common,
                kind=_KIND,
                model=model.model,
                answer=stored,
                now=self._run.clock(),
            )
        return _read(stored)

    def _one_more(self) -> dict[str, Any]:
        """Progress: an answer that is kept is not paid for again, so even a job that dies often gets on."""
        return {**self._run.progress, "answers": self._run.progress.get("answers", 0) + 1}

    def _keys(self, question: Question, model: Credential) -> tuple[str, str]:
        """Of the question to that model, and of the same asked by this job since it began."""
        asked = [question.messages, question.tools, model.base_url, model.model]
        common = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        own = hashlib.sha256(f"{common} {self._asker}".encode()).hexdigest()
        return common, own


async def open_desk(bench: Workbench, run: Run) -> Desk:
    """The desk of a job, or NoCredential."""
    who = await initiator_of(bench, run.job)
    kind, space_id = CredentialType.SLM, run.job.space_id
    models = await models_for(bench, who, kind, space_id=space_id, purpose="Chunking")
    return Desk(bench, run, models, proved=run.progress.get("tally", {}).get("answered", 0) > 0)


def _is_about_the_question(error: ProviderError) -> bool:
    """Whether another question may fare better: nobody is busy or away, and somebody took the key."""
    failures = [each for _, each in error.failures] if isinstance(error, AllProvidersFailed) else [error]
    refused = all(isinstance(failure, ProviderRejected) for failure in failures)
    return refused and not all(isinstance(failure, CredentialUnusable) for failure in failures)


def _read(stored: Mapping[str, Any]) -> Reply:
    return Reply([Call(name, _arguments(text), text) for name, text in stored["calls"]], stored["finish"])


def _arguments(text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _clean(text: str) -> str:
    """Text that every database takes."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
