"""What all nodes share: the task, the state, how to ask the model, how to tell what happens."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kosmos.agents.literature.contract import Library, LiteratureTask, SummaryCache
from kosmos.agents.literature.limits import MAX_CONCURRENT_LLM_CALLS, RESERVED_ANSWER_TOKENS
from kosmos.agents.literature.numbering import PaperSources
from kosmos.agents.literature.state import State
from kosmos.agents.markers import MarkerFilter
from kosmos.agents.telling import usage_of
from kosmos.agents.thinking import answer_language
from kosmos.agents.wire import fit, lay_out
from kosmos.domain.events import Event, EventType
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.errors import KosmosError
from kosmos.llm.streaming import Inquiry, Turn
from kosmos.llm.thoughts import Piece, Retracted, Text, Thought
from kosmos.prompts import load_prompt
from kosmos.tools.contract import Passage

CODES = {"Chinese": "zh", "English": "en"}
FLUSH_CHARS, FLUSH_SECONDS = 240, 0.3  # pieces of many texts at once are told together
Infer = Callable[[Inquiry], AsyncGenerator[Piece | Turn, None]]
SearchWeb = Callable[[str], Awaitable[Sequence[Passage]]]


@dataclass(slots=True)
class Work:
    """One question under way."""

    task: LiteratureTask
    infer: Infer
    library: Library
    cache: SummaryCache
    sources: PaperSources
    search_web: SearchWeb | None = None
    state: State = field(default_factory=State)
    told: "asyncio.Queue[Event | None]" = field(default_factory=asyncio.Queue)
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_LLM_CALLS))
    spent: Spent = field(default_factory=Spent)
    estimated: bool = False
    model: str = ""
    answer: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    step: int = 0

    @property
    def language(self) -> str:
        """In which language to answer."""
        return answer_language(self.task.language, self.task.question)

    def tell(self, kind: EventType, **payload: Any) -> None:
        """Say what happens."""
        self.told.put_nowait(Event(kind, payload))

    def fail(self, node: str, error: str) -> None:
        """Say that a node failed; the run goes on."""
        self.state.errors.append({"node": node, "error": error})
        self.tell(EventType.NODE_ERROR, node=node, step=self.step, error=error)

    def fall_back(self, what: str) -> None:
        """Note that something else was done than intended."""
        self.state.fallbacks.append(what)

    @asynccontextmanager
    async def node(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """A node that says when it is complete; what is put into the mapping is told then."""
        self.step += 1
        more: dict[str, Any] = {}
        yield more
        self.tell(EventType.NODE_COMPLETE, node=name, step=self.step, **more)

    def prompt(self, name: str, language: str | None = None, **values: str) -> str:
        """A prompt of the workflow in one of the two languages."""
        code = CODES[language or self.language]
        return load_prompt(f"{name}_{code}").render(**values)

    def inquiry(self, prompt: str, history: Sequence[Message] = ()) -> Inquiry:
        """The talk as it is sent: who the agent is, what was said, what is asked."""
        system = load_prompt("agent_plain").render(role=self.task.role, today=self.task.today.isoformat())
        asked = Message(MessageRole.USER, MessageType.USER, prompt)
        talk = [{"role": "system", "content": system}, *lay_out([*history, asked])]
        window = self.task.max_context_tokens
        budget = window - min(RESERVED_ANSWER_TOKENS, window // 8)
        return Inquiry(fit(talk, budget), options=dict(self.task.options))

    async def ask(self, node: str, prompt: str, history: Sequence[Message] = (), **about: Any) -> str:
        """What the model says to a prompt; it is the thinking of a node, and told as such."""
        told = _Pieces(self, EventType.THOUGHT_CHUNK, {"node": node, "step": self.step, **about})
        self.tell(EventType.THINKING_START, node=node, step=self.step, **about)
        try:
            async with self.gate:
                turn = await self._hear(self.inquiry(prompt, history), told.add, lambda _: None, node)
        finally:
            told.flush()
            self.tell(EventType.THINKING_END, node=node, step=self.step, **about)
        return turn.text

    async def ask_apart(
        self, inquiry: Inquiry, *, say: Callable[[str], None], anew: Callable[[str], None]
    ) -> Turn:
        """A call beside others; `say` gets what is said, `anew` is told when it begins again."""

        def hear(piece: Piece) -> None:
            if isinstance(piece, Text):
                say(piece.text)

        async with self.gate:
            return await self._hear(inquiry, hear, anew, "document_summary")

    async def _hear(
        self, inquiry: Inquiry, hear: Callable[[Piece], None], anew: Callable[[str], None], node: str
    ) -> Turn:
        turn: Turn | None = None
        async with aclosing(self.infer(inquiry)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Turn):
                    turn = piece
                elif isinstance(piece, Retracted):
                    anew(piece.reason)
                else:
                    hear(piece)
        if turn is None:
            raise KosmosError("The model said nothing.")
        self._account(turn, node)
        return turn

    async def speak(self, prompt: str, history: Sequence[Message] = ()) -> None:
        """Let the model write the answer, told as it comes, with markers that point somewhere only."""
        filtering = MarkerFilter(self.sources.knows)
        thoughts = _Thinking(self)

        def hear(piece: Piece) -> None:
            thoughts.hear(piece)
            if isinstance(piece, Text) and (text := filtering.feed(piece.text)):
                self.say(text)

        def anew(reason: str) -> None:
            nonlocal filtering
            self.retract(reason)
            filtering = MarkerFilter(self.sources.knows)

        try:
            async with self.gate:
                await self._hear(self.inquiry(prompt, history), hear, anew, "answer_generation")
        finally:
            thoughts.end()
        if text := filtering.end():
            self.say(text)
        self.removed += filtering.removed

    def say(self, text: str) -> None:
        """A piece of the answer."""
        self.answer.append(text)
        self.tell(EventType.ANSWER_CHUNK, text=text, step=self.step)

    def retract(self, reason: str) -> None:
        """Take back what was said of the answer."""
        said, self.answer = self.answer, []
        if said:
            self.tell(EventType.ANSWER_RETRACTED, step=self.step, reason=reason)

    def _account(self, turn: Turn, node: str) -> None:
        self.model = turn.model
        self.spent += turn.spent
        self.estimated = self.estimated or turn.estimated
        usage = usage_of(turn.spent, estimated=turn.estimated)
        self.tell(EventType.USAGE, **usage, model=turn.model, step=self.step, node=node)


@dataclass(slots=True)
class _Thinking:
    """The thoughts of a model before and between what it says."""

    work: Work
    open: bool = False

    def hear(self, piece: Piece) -> None:
        if isinstance(piece, Thought):
            if not self.open:
                self.work.tell(EventType.THINKING_START, step=self.work.step)
            self.open = True
            self.work.tell(EventType.THOUGHT_CHUNK, text=piece.text, step=self.work.step)
        else:
            self.end()

    def end(self) -> None:
        if self.open:
            self.work.tell(EventType.THINKING_END, step=self.work.step)
        self.open = False


@dataclass(slots=True)
class _Pieces:
    """Pieces of one text, told some at a time."""

    work: Work
    kind: EventType
    about: dict[str, Any]
    _held: list[str] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def add(self, piece: Piece) -> None:
        """A piece of thought or of text."""
        if isinstance(piece, Text | Thought):
            self.say(piece.text)

    def say(self, text: str) -> None:
        """A piece of text."""
        self._held.append(text)
        if sum(map(len, self._held)) >= FLUSH_CHARS or time.monotonic() - self._since > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Tell what is held."""
        if self._held:
            self.work.tell(self.kind, text="".join(self._held), **self.about)
        self._held, self._since = [], time.monotonic()


def pieces_of(work: Work, kind: EventType, **about: Any) -> _Pieces:
    """Where the pieces of one of many texts go."""
    return _Pieces(work, kind, about)
