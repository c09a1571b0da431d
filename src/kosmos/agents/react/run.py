"""One run of the graph: its events as they come, and how far it got."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kosmos.agents.citing import Cited, cite
from kosmos.agents.loop import Infer
from kosmos.agents.markers import MarkerFilter
from kosmos.agents.react.graph import compile_graph, missing_extra
from kosmos.agents.react.kit import Kit
from kosmos.agents.react.state import AgentState, CallNote, notes_of
from kosmos.agents.telling import message, usage_of
from kosmos.agents.thinking import limit_note
from kosmos.domain.events import Event, EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.llm.streaming import Inquiry, Turn
from kosmos.llm.thoughts import Piece, Retracted, Text, Thought

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

STRATEGY = "react"
_NOTHING = {"Chinese": "模型没有给出回答。", "English": "The model gave no answer."}


@dataclass(slots=True)
class ReactRun:
    """A run. `waiting` is what a person must decide before it can go on."""

    kit: Kit
    infer: Infer
    thread: str
    checkpointer: Any = None
    spent: Spent = field(default_factory=Spent)
    estimated: bool = False
    model: str = ""
    cited: Cited | None = None
    waiting: Mapping[str, Any] | None = None
    state: AgentState = field(default_factory=AgentState)
    _queue: "asyncio.Queue[Event | None]" = field(default_factory=asyncio.Queue)
    _answer: list[str] = field(default_factory=list)
    _filter: MarkerFilter = field(default_factory=lambda: MarkerFilter(lambda _: False))

    def __post_init__(self) -> None:
        """The nodes tell and ask through this run."""
        self.kit.tell = self._queue.put_nowait
        self.kit.ask = self._ask
        self.kit.say = self._say_whole

    @property
    def partial(self) -> str:
        """What has been said of the answer so far."""
        return "".join(self._answer).strip()

    @property
    def messages(self) -> list[Message]:
        """Calls of tools and their results, as they stand in the talk."""
        mark = self.thread[-8:]  # ids must not occur twice in a session
        return [made for call in notes_of(self.state).get("calls", []) for made in _exchange(call, mark)]

    async def begin(
        self, question: str, history: Sequence[Message] = (), **wish: Any
    ) -> AsyncGenerator[Event, None]:
        """Run a question from the start."""
        given = {
            "messages": [
                *as_talk(history),
                *as_talk([Message(MessageRole.USER, MessageType.USER, question)]),
            ],
            "metadata": {"wish": wish},
            "retrieval_attempts": 0,
        }
        async for event in self._events(given):
            yield event

    async def go_on(self, verdict: Mapping[str, Any] | None = None) -> AsyncGenerator[Event, None]:
        """Go on where a run stopped: with the word of a person, or without one after a crash."""
        from langgraph.types import Command

        found = await self._graph().aget_state(self._config())
        self.state = found.values
        for number in notes_of(self.state).get("references", {}):
            await self.kit.sources.passage(int(number))
        waits = bool(found.interrupts)
        if waits and verdict is None:
            self.waiting = found.interrupts[0].value
            return
        async for event in self._events(Command(resume=dict(verdict)) if waits and verdict else None):
            yield event

    def _graph(self) -> Any:
        return compile_graph(self.kit, self.checkpointer)

    def _config(self) -> dict[str, Any]:
        # The budget of steps ends a run long before this does.
        return {"configurable": {"thread_id": self.thread}, "recursion_limit": 20 + 6 * self.kit.limits.steps}

    async def _events(self, given: Any) -> AsyncIterator[Event]:
        task = asyncio.create_task(self._go(given))
        try:
            while (event := await self._queue.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(task, return_exceptions=True)
        if self.waiting is None:
            for event in await self._finish():
                yield event

    async def _go(self, given: Any) -> None:
        try:
            # Each step is on disk before the next begins: a call that was made is never made again.
            durability = {"durability": "sync"} if self.checkpointer is not None else {}
            found = await self._graph().ainvoke(given, self._config(), **durability)
            stopped = found.pop("__interrupt__", ())
            self.state = found
            self.waiting = stopped[0].value if stopped else None
        finally:
            self._queue.put_nowait(None)

    async def _finish(self) -> list[Event]:
        """The answer with its citations."""
        told: list[Event] = []
        if not self.partial:
            told.append(self._said(_NOTHING[self.kit.language]))
        if notes_of(self.state).get("exhausted"):
            told.append(self._said(f"\n\n{limit_note(self.kit.language)}"))
        cited = await cite(self.partial, self.kit.sources, notes_of(self.state).get("question", ""))
        removed = tuple(dict.fromkeys([*self._filter.removed, *cited.removed]))
        told += [
            Event(EventType.CITATION_REMOVED, {"marker": one, "reason": "it points nowhere"})
            for one in removed
        ]
        self.cited = Cited(cited.answer, cited.citations, cited.claims, removed)
        return told

    async def _ask(self, inquiry: Inquiry, speaking: bool) -> Turn:
        """One inference; the nodes wait for its end, whoever follows does not."""
        turn: Turn | None = None
        thinking = False
        async with aclosing(self.infer(inquiry)) as pieces:
            async for piece in pieces:
                thinking = self._think(piece, thinking)
                if isinstance(piece, Turn):
                    turn = piece
                elif speaking:
                    self._tell(piece)
        if thinking:
            self.kit.tell(Event(EventType.THINKING_END, {}))
        if turn is None:
            turn = Turn("", "", (), "", Spent(), self.model)
        self._account(turn)
        if speaking and (text := self._filter.end()):
            self.kit.tell(self._said(text))
        return turn

    def _think(self, piece: Piece | Turn, thinking: bool) -> bool:
        now = isinstance(piece, Thought)
        if now and not thinking:
            self.kit.tell(Event(EventType.THINKING_START, {}))
        if thinking and not now:
            self.kit.tell(Event(EventType.THINKING_END, {}))
        if isinstance(piece, Thought):
            self.kit.tell(Event(EventType.THOUGHT_CHUNK, {"text": piece.text}))
        return now

    def _tell(self, piece: Piece) -> None:
        if not self._answer:
            self._filter = MarkerFilter(self.kit.sources.knows)
        if isinstance(piece, Retracted):
            self._answer, self._filter = [], MarkerFilter(self.kit.sources.knows)
            self.kit.tell(Event(EventType.ANSWER_RETRACTED, {"reason": piece.reason}))
        elif isinstance(piece, Text) and (text := self._filter.feed(piece.text)):
            self.kit.tell(self._said(text))

    def _say_whole(self, text: str) -> None:
        self._answer, self._filter = [], MarkerFilter(self.kit.sources.knows)
        shown = self._filter.feed(text) + self._filter.end()
        self.kit.tell(self._said(shown))

    def _said(self, text: str) -> Event:
        self._answer.append(text)
        return Event(EventType.ANSWER_CHUNK, {"text": text, "step": notes_of(self.state).get("steps", 0)})

    def _account(self, turn: Turn) -> None:
        self.model, self.spent = turn.model, self.spent + turn.spent
        self.estimated = self.estimated or turn.estimated
        used = usage_of(turn.spent, estimated=turn.estimated)
        self.kit.tell(Event(EventType.USAGE, {**used, "model": turn.model}))


def as_talk(messages: Sequence[Message]) -> "list[BaseMessage]":
    """Messages of a session as the graph holds them."""
    try:
        from langchain_core.messages import AIMessage, HumanMessage
    except ImportError:
        raise missing_extra() from None
    made: list[BaseMessage] = []
    for item in messages:
        kind = AIMessage if item.role is MessageRole.ASSISTANT else HumanMessage
        made.append(kind(content=item.content))
    return made


def _exchange(call: CallNote, mark: str) -> list[Message]:
    """A call and its result in the words of a session."""
    identity = f"{mark}_{call['id']}"
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    wire = {"id": identity, "type": "function", "function": {"name": call["name"], "arguments": arguments}}
    about = {"tool_call_id": identity, "tool": call["name"], "ok": call["ok"]}
    return [
        message(MessageRole.ASSISTANT, MessageType.ASSISTANT, "", {"tool_calls": [wire]}),
        message(MessageRole.TOOL, MessageType.TOOL, call["text"], about),
    ]
