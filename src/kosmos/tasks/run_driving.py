"""A run from its question to its answer: the talk so far, the model, the tools, the loop or the extracts."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kosmos.agents.extractive import STRATEGY as EXTRACTIVE
from kosmos.agents.extractive import answer_extractively
from kosmos.agents.literature.pipeline import LiteratureRun
from kosmos.agents.loop import STRATEGY as LOOP
from kosmos.agents.loop import Assignment, LoopRun
from kosmos.agents.react.run import STRATEGY as REACT
from kosmos.agents.react.run import ReactRun
from kosmos.agents.telling import node, usage_of
from kosmos.agents.thinking import Limits
from kosmos.db import sessions as session_table
from kosmos.domain.accounts import Principal
from kosmos.domain.agents import AgentForm, Workflow
from kosmos.domain.answers import Answer
from kosmos.domain.events import Event, EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.language import language_of
from kosmos.domain.sessions import Message, Run, Session
from kosmos.errors import KosmosError
from kosmos.llm.inference import Patience, infer
from kosmos.llm.streaming import Inquiry, Model, Turn
from kosmos.sessions.budget import Budget
from kosmos.sessions.compression import (
    Plan,
    compression_prompt,
    plain_summary,
    plan_compression,
    summary_message,
)
from kosmos.sessions.history import Stage, history_for
from kosmos.sessions.titles import clean_title, title_prompt
from kosmos.tasks.asking import likeness_of
from kosmos.tasks.knowledge_desk import KnowledgeDesk
from kosmos.tasks.run_literature import STRATEGY as LITERATURE
from kosmos.tasks.run_literature import Setting, answer_of, open_literature
from kosmos.tasks.run_models import window_of
from kosmos.tasks.run_past import Past, fence_of, kept_references, look_back, open_sources
from kosmos.tasks.run_reacting import react_events
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.workbench import Workbench
from kosmos.tools.contract import Tool
from kosmos.tools.knowledge import knowledge_tools
from kosmos.tools.registry import choose_tools
from kosmos.tools.web_search import WebSearch, web_search_tool

EXTRACT_DEPTH = 8
DEEPER = 100  # results looked through for those of some documents
# Options of an agent that are ours; all others go to the provider.
OWN_OPTIONS = frozenset({"retrieve", "max_context_tokens", "title", "structured"})


@dataclass(slots=True)
class Drive:
    """One run under way."""

    bench: Workbench
    who: Principal
    run: Run
    session: Session
    agent: AgentForm
    wish: RunWish
    models: Sequence[Model] = ()
    past: Past = field(default_factory=Past)
    loop: LoopRun | ReactRun | LiteratureRun | None = None
    answer: Answer | None = None
    spent: Spent = field(default_factory=Spent)  # beside the loop
    last_number: int = 0
    resumes: bool = False  # it was begun before, maybe by another process
    verdict: Mapping[str, Any] | None = None  # what somebody decided meanwhile

    @property
    def waiting(self) -> Mapping[str, Any] | None:
        """What somebody must decide before it can go on."""
        return self.loop.waiting if isinstance(self.loop, ReactRun) else None

    @property
    def reacts(self) -> bool:
        """Whether it goes through the graph of operations."""
        return self.agent.workflow is Workflow.REACT and bool(self.models)

    @property
    def total(self) -> Spent:
        """Everything that was spent."""
        return self.spent + (self.loop.spent if self.loop else Spent())

    @property
    def messages(self) -> list[Message]:
        """Calls of tools and their results, so far."""
        return self.loop.messages if self.loop else []

    async def events(self) -> AsyncIterator[Event]:
        """Everything that happens until the answer stands."""
        desk = KnowledgeDesk(self.bench, self.who, spaces_of(self.agent, self.wish))
        if self.resumes:
            async for event in react_events(self, desk):
                yield event
            return
        strategy = self._strategy()
        model = self.models[0].credential.model if self.models else None
        yield Event(
            EventType.RUN_START,
            {
                "run_id": self.run.id,
                "session_id": self.session.id,
                "agent": self.agent.name,
                "model": model,
                "strategy": strategy,
            },
        )
        steps = {REACT: lambda: react_events(self, desk), LITERATURE: lambda: self._by_literature(desk)}
        steps |= {LOOP: lambda: self._by_loop(desk), EXTRACTIVE: lambda: self._by_extracts(desk)}
        work = steps[strategy]()
        async with aclosing(work):
            async for event in work:
                yield event

    def _strategy(self) -> str:
        """How the answer is made: as the agent says, and without a model by quotes."""
        if self.reacts:
            return REACT
        if not self.models:
            return EXTRACTIVE
        return LITERATURE if self.agent.workflow is Workflow.LITERATURE else LOOP

    async def _by_extracts(self, desk: KnowledgeDesk) -> AsyncGenerator[Event, None]:
        """Without a model: quotes, through the same events."""
        hits = await desk.hits(self.wish.question, k=EXTRACT_DEPTH)
        if only := self.wish.literature.doc_ids:
            deeper = await desk.hits(self.wish.question, k=DEEPER)
            hits = [hit for hit in deeper if hit.document_id in only][:EXTRACT_DEPTH]
        passages = await desk.passages(hits)
        unhidden = {item.chunk_id for item in passages if item.exact is None}
        versions = {item.document_id: item.version for item in passages}
        before = int(self.session.metadata.get("last_number", 0))
        shown = [hit for hit in hits if hit.chunk_id in unhidden]
        likeness = await likeness_of(self.bench, self.wish.question, shown)
        made = answer_extractively(self.wish.question, shown, first=before + 1, likeness=likeness)
        yield Event(EventType.ANSWER_CHUNK, {"text": made.answer, "step": 1})
        self.last_number = before + len(made.citations)
        cited = tuple(replace(item, version=versions[item.document_id]) for item in made.citations)
        for event in self.conclude(Answer(made.answer, cited, EXTRACTIVE, self.run.id, usage_of(Spent()))):
            yield event

    async def _by_loop(self, desk: KnowledgeDesk) -> AsyncGenerator[Event, None]:
        window = window_of(self.agent, self.wish.model, self.models)
        async for event in self.look_back(window):
            yield event
        sources = open_sources(self.past, self.session.id, desk)
        self.loop = LoopRun(
            Assignment(
                question=self.wish.question,
                role=f"{self.agent.system_prompt}\n\n{self.wish.instructions}".strip(),
                history=history_for(Stage.LOOP, self.past.messages),
                language=self.agent.language,
                options={k: v for k, v in self.agent.chat_options.items() if k not in OWN_OPTIONS},
                limits=Limits(
                    self.agent.step_limit, self.agent.chat_options.get("retrieve", "first") == "first"
                ),
                prompt_tokens=Budget(window).prompt,
                today=self.bench.clock().date(),
            ),
            self.ask_model,
            choose_tools(self.tools(desk), self.agent.allowed_tools),
            sources,
        )
        async for event in self.loop.events():
            yield event
        cited = self.loop.cited
        self.last_number = sources.next_number - 1
        if cited is not None:
            usage = usage_of(self.total, estimated=self.loop.estimated)
            answer = Answer(
                cited.answer, cited.citations, LOOP, self.run.id, usage, cited.claims, cited.removed
            )
            for event in self.conclude(answer):
                yield event

    async def _by_literature(self, desk: KnowledgeDesk) -> AsyncGenerator[Event, None]:
        window = window_of(self.agent, self.wish.model, self.models)
        async for event in self.look_back(window):
            yield event
        sources = open_sources(self.past, self.session.id, desk)
        options = {k: v for k, v in self.agent.chat_options.items() if k not in OWN_OPTIONS}
        setting = Setting(
            desk, self.agent, self.session, self.wish, self.models, self.past.messages, window, options
        )
        tools = self.tools(desk)
        run = await open_literature(setting, sources, self.ask_model, tools=tools, post=self._post)
        self.loop = run
        async with aclosing(run.events()) as events:
            async for event in events:
                yield event
        self.last_number = sources.next_number - 1
        if (answer := answer_of(run, self.run.id, self.total)) is not None:
            for event in self.conclude(answer):
                yield event

    def ask_model(self, inquiry: Inquiry) -> Any:
        """One inference of the models in their order."""
        return infer(self.models, inquiry, Patience(self.bench.provider_seconds, rng=self.bench.rng))

    def tools(self, desk: KnowledgeDesk) -> list[Tool]:
        """The tools over documents and the web."""
        found = knowledge_tools(desk)
        config = self.bench.web_search
        if self.wish.search_engine is not None and self.wish.search_engine_api_key:
            config = WebSearch(self.wish.search_engine, self.wish.search_engine_api_key)
        return [*found, web_search_tool(config, self._post)] if config else found

    async def _post(self, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[int, Any]:
        """Send JSON by the guarded way out."""
        sent = json.dumps(body, ensure_ascii=False).encode()
        kind = {"Content-Type": "application/json", "Accept": "application/json"}
        fetched = await self.bench.fetcher.post(url, sent, headers={**headers, **kind})
        try:
            return fetched.status, json.loads(fetched.content)
        except (ValueError, RecursionError):
            return fetched.status, None

    def conclude(self, answer: Answer) -> list[Event]:
        """The answer as events."""
        self.answer = answer
        told = [Event(EventType.CITATION, asdict(item)) for item in answer.citations]
        return [*told, Event(EventType.FINAL_ANSWER, plain_answer(answer))]

    async def look_back(self, window: int) -> AsyncIterator[Event]:
        """The talk so far, compressed where it has become too long."""
        if self.wish.history is not None:
            self.past = Past(tuple(self.wish.history))
            return
        async with self.bench.db.read() as conn:
            messages = await session_table.active_messages(conn, self.session.id)
        # The question itself is stored already, and is asked apart.
        earlier = [message for message in messages if message.run_id != self.run.id]
        plan = plan_compression(earlier, window)
        if plan is not None:
            async for event in self._compress(plan, window):
                yield event
            async with self.bench.db.read() as conn:
                messages = await session_table.active_messages(conn, self.session.id)
            earlier = [message for message in messages if message.run_id != self.run.id]
        self.past = look_back(self.session, earlier)

    async def _compress(self, plan: Plan, window: int) -> AsyncIterator[Event]:
        language = language_of("\n".join(message.content for message in plan.older))
        fence = fence_of(self.session.id)
        prompt = compression_prompt(plan, language, fence, window=window)
        try:
            text = await self._ask(prompt)
        except KosmosError as error:
            yield Event(EventType.NODE_ERROR, {"node": "compression", "error": error.message})
            text = ""
        summary = summary_message(text or plain_summary(plan, Budget(window).summary), plan)
        sources = kept_references(plan.older, summary.content)
        summary = Message(
            summary.role,
            summary.type,
            summary.content,
            {**summary.metadata, "sources": sources, "by_model": bool(text)},
            summary.token_count,
        )
        now = self.bench.clock()
        async with self.bench.db.write() as conn:
            await session_table.lock_session(conn, self.session.id)
            await session_table.mark_compressed(conn, [message.id for message in plan.older], now)
            await session_table.add_messages(conn, self.session.id, [summary], now)
        payload = {"messages": len(plan.older), "kept": len(plan.recent), "tokens": summary.token_count}
        yield Event(EventType.SESSION_COMPRESSED, payload)
        yield node("compression", 0, messages=len(plan.older))

    async def _ask(self, prompt: str, **options: Any) -> str:
        """One plain question to the model."""
        text = ""
        async with aclosing(
            self.ask_model(Inquiry([{"role": "user", "content": prompt}], options=options))
        ) as all_:
            async for piece in all_:
                if isinstance(piece, Turn):
                    text, self.spent = piece.text, self.spent + piece.spent
        return text

    async def title(self) -> str | None:
        """A title by the model, if there is one and it can."""
        try:
            return clean_title(await self._ask(title_prompt(self.wish.question, fence_of(self.session.id))))
        except KosmosError:
            return None


def spaces_of(agent: AgentForm, wish: RunWish) -> list[str] | None:
    """The spaces that agent and request allow, both; None for every one that may be read."""
    allowed, wanted = agent.allowed_spaces, wish.space_ids
    if allowed is None or wanted is None:
        either = allowed if wanted is None else wanted
        return None if either is None else list(either)
    return [one for one in wanted if one in allowed]


def plain_answer(answer: Answer) -> dict[str, Any]:
    """An answer as JSON: the same whether it is read from memory or from the table."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(answer), ensure_ascii=False))
    return plain
