"""The pipeline: request, documents, intent, strategy, gathering, answer; each node behind a boundary."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass, field, replace
from typing import Any

from kosmos.agents.citing import Cited, cite
from kosmos.agents.literature import answering, execution, planning, summarising
from kosmos.agents.literature.forms import header_rows, is_verdict
from kosmos.agents.literature.limits import available_tokens, room_for
from kosmos.agents.literature.strategies import DocumentMode, Strategy, judge_mode
from kosmos.agents.literature.work import Work
from kosmos.agents.markers import clean_markers
from kosmos.domain.events import Event, EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import KosmosError

log = logging.getLogger(__name__)
_BROKE = "It failed unexpectedly; the log has the details."
_UNREADABLE = {
    "English": "The documents could not be worked on: {reason}",
    "Chinese": "无法处理这些文档：{reason}",
}
_SILENT = {"English": "The model gave no answer.", "Chinese": "模型没有给出回答。"}


@dataclass(slots=True)
class LiteratureRun:
    """One run of the workflow. It has what a run of the loop has."""

    work: Work
    messages: list[Message] = field(default_factory=list)
    cited: Cited | None = None

    @property
    def spent(self) -> Spent:
        """What the model calls cost so far."""
        return self.work.spent

    @property
    def estimated(self) -> bool:
        """Whether some of that was counted by us alone."""
        return self.work.estimated

    @property
    def model(self) -> str:
        """The model that answered last."""
        return self.work.model

    @property
    def partial(self) -> str:
        """What has been said of the answer so far."""
        return "".join(self.work.answer).strip()

    @property
    def details(self) -> dict[str, Any]:
        """What was chosen and why."""
        return self.work.state.details()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Everything that happens, until there is an answer."""
        task = asyncio.create_task(self._run())
        task.add_done_callback(lambda _: self.work.told.put_nowait(None))
        try:
            while (event := await self.work.told.get()) is not None:
                yield event
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        if await self._try("request_init", self._begin()):
            await self._gather()
            await self._answer()
        await self._finish()

    async def _try(self, node: str, doing: Awaitable[None]) -> bool:
        """The boundary of a node: what goes wrong inside is told, and does not get out."""
        try:
            await doing
        except KosmosError as error:
            work_error = error.message
        except Exception:
            log.exception("a node broke", extra={"node": node})
            work_error = _BROKE
        else:
            return True
        self.work.fail(node, work_error)
        return False

    async def _begin(self) -> None:
        """Count what is there; without documents that can be read, say why."""
        work, state, task = self.work, self.work.state, self.work.task
        async with work.node("request_init") as told:
            query = estimate_tokens(task.question)
            state.available_tokens = available_tokens(task.max_context_tokens, task.session_tokens, query)
            state.room = room_for(state.available_tokens, task.max_context_tokens)
            state.doc_count = len(work.library.papers)
            told |= {"available_tokens": state.available_tokens, "doc_count": state.doc_count}
        async with work.node("document_mode") as told:
            if state.doc_count == 1:
                state.content = await work.library.read(work.library.papers[0])
            tokens = state.content.tokens if state.content else 0
            state.mode = judge_mode(
                state.doc_count,
                tokens,
                available=state.available_tokens,
                threshold=task.direct_content_threshold,
            )
            state.use_direct_content = state.mode is DocumentMode.SINGLE_SMALL
            told |= {
                "mode": state.mode.value,
                "tokens": tokens,
                "use_direct_content": state.use_direct_content,
            }

    async def _gather(self) -> None:
        """From the check of documents to everything that an answer needs."""
        work, state = self.work, self.work.state
        async with work.node("document_check") as told:
            told["documents"] = planning.check_documents(work)
        if told["documents"]:
            async with work.node(planning.INTENT) as told:
                await self._try(planning.INTENT, planning.recognise_intent(work))
                told |= {"intent": state.detected_intent, "reason": state.intent_reason}
        async with work.node(planning.STRATEGY) as told:
            planning.select_strategy(work)
            told |= {"strategy": state.strategy.value, "reason": state.strategy_reason}
        if state.strategy is Strategy.MULTI_DOC_SUMMARY:
            async with work.node(summarising.NODE) as told:
                await self._try(summarising.NODE, summarising.summarise_documents(work))
                told |= {"summaries": len(state.document_summaries), "cached": state.cached_summaries}
        elif state.strategy is Strategy.CHUNK_RECALL:
            await self._recall()

    async def _recall(self) -> None:
        work, state = self.work, self.work.state
        async with work.node(planning.SUB_QUESTIONS) as told:
            await planning.generate_sub_questions(work)
            told["sub_questions"] = [item.plain() for item in state.sub_questions]
        async with work.node(planning.PLAN) as told:
            planning.generate_plan(work)
            told["total_steps"] = len(state.plan)
        async with work.node(execution.NODE) as told:
            done = await execution.execute(work)
            told |= {"tried": done.tried, "found": len(state.recall_results), "forced": done.forced}

    async def _answer(self) -> None:
        """Write the answer. Where the model fails, what was gathered stands for it, if anything was."""
        work, state = self.work, self.work.state
        simple = state.strategy is Strategy.SIMPLE_INTERACTION
        node = answering.SIMPLE if simple else answering.NODE
        if self._nothing_gathered():
            return
        async with work.node(node) as told:
            try:
                await (answering.interact(work) if simple else answering.answer(work))
            except KosmosError as error:
                work.fail(node, error.message)
                if not answering.last_resort(work, error.message):
                    raise
            except Exception:
                log.exception("a node broke", extra={"node": node})
                work.fail(node, _BROKE)
                if not answering.last_resort(work, _BROKE):
                    raise
            told["groups"] = state.groups

    def _nothing_gathered(self) -> bool:
        """Whether all that was to be gathered failed: there is nothing to ask the model about."""
        state = self.work.state
        if state.strategy is Strategy.MULTI_DOC_SUMMARY:
            return not state.document_summaries
        failed = any(item["node"] == execution.NODE for item in state.errors)
        return state.strategy is Strategy.CHUNK_RECALL and failed and not state.recall_results

    async def _finish(self) -> None:
        """The answer with its citations, and the reference list below a review."""
        work = self.work
        silent, below = not self.partial, ""
        if silent:
            reasons = "; ".join(dict.fromkeys(item["error"] for item in work.state.errors[-3:]))
            why = _UNREADABLE[work.language].format(reason=reasons) if reasons else _SILENT[work.language]
            work.say(why)
        body = self.partial
        if not silent and work.library.papers:
            below = answering.add_references(work)
        _, used, _ = clean_markers(body, work.sources.knows)
        await work.sources.keep(dict.fromkeys(used))
        cited = await cite(body, work.sources.sources, work.task.question)
        removed = tuple(dict.fromkeys([*work.removed, *cited.removed]))
        for marker in removed:
            work.tell(EventType.CITATION_REMOVED, marker=marker, reason="it points nowhere")
        idle = header_rows(cited.answer)
        claims = tuple(one for one in cited.claims if one.text not in idle and not is_verdict(one.text))
        self.cited = replace(cited, answer=cited.answer + below, claims=claims, removed=removed)
