"""The loop: Think decides what may happen, the model speaks, Execute runs what it calls, until it answers.

It receives messages and yields events, and knows no storage. What it has made stands in `messages`.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from kosmos.agents.citing import Cited, cite
from kosmos.agents.executing import execute, fingerprints
from kosmos.agents.markers import MarkerFilter
from kosmos.agents.sources import Sources
from kosmos.agents.telling import called, exchange, node, own_search, told_of, usage_of
from kosmos.agents.thinking import Decision, Limits, Progress, answer_language, decide, limit_note
from kosmos.agents.wire import Wire, fit, lay_out, with_last_words
from kosmos.domain.events import Event, EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.domain.tokens import estimate_tokens
from kosmos.llm.streaming import Inquiry, StreamedCall, Turn
from kosmos.llm.thoughts import Piece, Retracted, Thought
from kosmos.prompts import load_prompt
from kosmos.tools.registry import Toolbox

STRATEGY = "loop"
Infer = Callable[[Inquiry], AsyncGenerator[Piece | Turn, None]]
_EMPTY = "(Your reply was empty. Answer the question, or call a tool.)"
_NOTHING = {"Chinese": "模型没有给出回答。", "English": "The model gave no answer."}


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is to do, and within which bounds."""

    question: str
    role: str  # who the agent is, in its own prompt
    history: Sequence[Message] = ()
    language: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    prompt_tokens: int = 24_000  # that may be sent at once
    today: date = field(default_factory=lambda: datetime.now(UTC).date())


@dataclass(slots=True)
class LoopRun:
    """One run of the loop."""

    assignment: Assignment
    infer: Infer
    toolbox: Toolbox
    sources: Sources
    messages: list[Message] = field(default_factory=list)  # made in this run, the question apart
    spent: Spent = field(default_factory=Spent)
    estimated: bool = False
    model: str = ""
    progress: Progress = field(default_factory=Progress)
    cited: Cited | None = None
    decision: Decision | None = None
    _turn: Turn | None = None
    _answer: list[str] = field(default_factory=list)
    _filter: MarkerFilter = field(default_factory=lambda: MarkerFilter(lambda _: False))

    @property
    def language(self) -> str:
        """In which language to answer."""
        return answer_language(self.assignment.language, self.assignment.question)

    @property
    def partial(self) -> str:
        """What has been said of the answer so far."""
        return "".join(self._answer).strip()

    async def events(self) -> AsyncIterator[Event]:
        """Everything that happens, until there is an answer."""
        while self.cited is None:
            self.progress.step += 1
            decision = self._think()
            yield node("think", self.progress.step, tools=list(decision.tools), choice=decision.choice)
            async with aclosing(self._speak(decision)) as spoken:
                async for event in spoken:
                    yield event
            turn = self._turn
            if turn is None:
                continue
            calls = turn.calls if decision.choice != "none" else ()
            if not calls and self._must_look(decision):
                calls = (own_search(self.assignment.question),)
            if calls:
                for event in self._retract("a tool is called"):
                    yield event
                async for event in self._execute(turn, calls):
                    yield event
            elif turn.text or self.progress.nudged:
                async for event in self._finish(decision):
                    yield event
            else:
                self.progress.nudged = True

    def _think(self) -> Decision:
        tools = tuple(self.toolbox.tools)
        self.decision = decide(self.progress, self.assignment.limits, tools, self.assignment.question)
        return self.decision

    def _must_look(self, decision: Decision) -> bool:
        """Whether the model was told to look first and did not: then it is done in its place."""
        return decision.choice == "required" and not self.progress.retrieved

    async def _speak(self, decision: Decision) -> AsyncGenerator[Event, None]:
        """LLM: one inference under the constraints, told as it comes."""
        self._begin()
        thinking, step = False, self.progress.step
        async with aclosing(self.infer(self._inquiry(decision))) as pieces:
            async for piece in pieces:
                if isinstance(piece, Thought) and not thinking:
                    yield Event(EventType.THINKING_START, {"step": step})
                if thinking and not isinstance(piece, Thought):
                    yield Event(EventType.THINKING_END, {"step": step})
                thinking = isinstance(piece, Thought)
                for event in self._tell(piece):
                    yield event
        if text := self._filter.end():
            yield self._say(text)
        yield node("llm", step, finish=self._turn.finish if self._turn else "")

    def _begin(self) -> None:
        self._turn, self._answer = None, []
        self._filter = MarkerFilter(self.sources.knows)

    def _tell(self, piece: Piece | Turn) -> list[Event]:
        if isinstance(piece, Thought):
            return [Event(EventType.THOUGHT_CHUNK, {"text": piece.text, "step": self.progress.step})]
        if isinstance(piece, Retracted):
            return self._retract(piece.reason)
        if isinstance(piece, Turn):
            return self._account(piece)
        text = self._filter.feed(piece.text)
        return [self._say(text)] if text else []

    def _say(self, text: str) -> Event:
        self._answer.append(text)
        return Event(EventType.ANSWER_CHUNK, {"text": text, "step": self.progress.step})

    def _retract(self, reason: str) -> list[Event]:
        said, self._answer = self._answer, []
        self._filter = MarkerFilter(self.sources.knows)
        payload = {"step": self.progress.step, "reason": reason}
        return [Event(EventType.ANSWER_RETRACTED, payload)] if said else []

    def _account(self, turn: Turn) -> list[Event]:
        self._turn, self.model = turn, turn.model
        self.spent += turn.spent
        self.estimated = self.estimated or turn.estimated
        payload = {**usage_of(turn.spent, estimated=turn.estimated), "model": turn.model}
        return [Event(EventType.USAGE, {**payload, "step": self.progress.step})]

    def _inquiry(self, decision: Decision) -> Inquiry:
        """System prompt, history, question, what happened since; the reminder stands last."""
        system = self._system()
        question = Message(MessageRole.USER, MessageType.USER, self.assignment.question)
        talk: list[Wire] = [
            {"role": "system", "content": system},
            *lay_out([*self.assignment.history, question, *self.messages]),
        ]
        talk = with_last_words(talk, self._last_words(decision))
        tools = self.toolbox.schemas(decision.tools) if decision.tools else []
        budget = self.assignment.prompt_tokens - sum(
            estimate_tokens(json.dumps(item, ensure_ascii=False)) for item in tools
        )
        return Inquiry(fit(talk, budget), tools, decision.choice, dict(self.assignment.options))

    def _system(self) -> str:
        given = {"role": self.assignment.role, "today": self.assignment.today.isoformat()}
        if not self._cites:
            return load_prompt("agent_plain").render(**given)
        return load_prompt("agent_loop").render(**given, fence=self.sources.fence)

    @property
    def _cites(self) -> bool:
        """Whether there is, or may be, anything to cite."""
        return bool(self.toolbox.tools or self.sources.seen or self.sources.past)

    def _last_words(self, decision: Decision) -> str:
        words = []
        if decision.must_answer:
            words.append(load_prompt("answer_now").render(reason=decision.reason))
        if self.progress.nudged and not self.partial:
            words.append(_EMPTY)
        reminder = "cite_reminder" if self._cites else "plain_reminder"
        return "\n".join([*words, load_prompt(reminder).render(language=self.language)])

    async def _execute(self, turn: Turn, calls: Sequence[StreamedCall]) -> AsyncIterator[Event]:
        step = self.progress.step
        for item in calls:
            yield Event(EventType.TOOL_CALL, {**called(item), "step": step})
        mine = fingerprints(calls)
        results = await execute(calls, self.toolbox, self.sources, before=self.progress.calls)
        self.progress.repeats = self.progress.repeats + 1 if mine == self.progress.calls else 0
        self.progress.calls = mine
        self.progress.retrieved = self.progress.retrieved or any(item.ok for item in results)
        said = turn.text if turn.calls else ""
        self.messages += exchange(said, calls, results, self.sources)
        for result in results:
            yield Event(EventType.TOOL_RESULT, {**told_of(result, self.sources), "step": step})
        yield node("execute", step, calls=len(results), failed=sum(not item.ok for item in results))

    async def _finish(self, decision: Decision) -> AsyncIterator[Event]:
        """The answer with its citations."""
        if not self.partial:
            yield self._say(_NOTHING[self.language])
        if decision.must_answer == "limit":
            yield self._say(f"\n\n{limit_note(self.language)}")
        removed = self._filter.removed
        cited = await cite(self.partial, self.sources, self.assignment.question)
        for marker in dict.fromkeys([*removed, *cited.removed]):
            yield Event(EventType.CITATION_REMOVED, {"marker": marker, "reason": "it points nowhere"})
        self.cited = Cited(
            cited.answer, cited.citations, cited.claims, tuple(dict.fromkeys([*removed, *cited.removed]))
        )
