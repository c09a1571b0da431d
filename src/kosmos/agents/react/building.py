"""`build_react_agent`: the graph as an object to call, over models and retrievers of many kinds."""

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from kosmos.agents.loop import Infer
from kosmos.agents.react.kit import Approvals, Kit, NoApprovals, ReactLimits
from kosmos.agents.react.run import ReactRun
from kosmos.agents.sources import Sources
from kosmos.agents.thinking import answer_language
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.errors import ConfigError, InvalidInput
from kosmos.llm.chat import Call
from kosmos.llm.inference import infer
from kosmos.llm.streaming import Inquiry, Model, StreamedCall, Turn
from kosmos.llm.thoughts import Piece, Text
from kosmos.tools.contract import Passage, Tool
from kosmos.tools.registry import Toolbox

_ROLES = {"user": MessageRole.USER, "human": MessageRole.USER, "ai": MessageRole.ASSISTANT}
_ROLES |= {"assistant": MessageRole.ASSISTANT}


def build_react_agent(
    llm: Any, retriever: Any = None, reranker: Any = None, tool_descriptions: str = "", **more: Any
) -> "ReactAgent":
    """The operations agent.

    `llm`: a `kosmos.llm.streaming.Model`, several of them, a function that streams, or a chat model of
    LangChain. `retriever`: anything with `ainvoke` or `invoke`, or a function of a query. `reranker`:
    anything with `score(query, texts)`, or a function of query and texts. Further: `tools`, `approvals`,
    `checkpointer`, `steps`, `language`, `role`.
    """
    return ReactAgent(
        model_of(llm), retriever_of(retriever), reranker_of(reranker), tool_descriptions, **more
    )


@dataclass(frozen=True, slots=True)
class ReactAgent:
    """The graph, ready to be called. Without `approvals` nothing that changes anything is ever run."""

    infer: Infer
    retrieve: Any = None
    rerank: Any = None
    tool_descriptions: str = ""
    tools: Sequence[Tool] = ()
    approvals: Approvals = field(default_factory=NoApprovals)
    checkpointer: Any = None
    steps: int = 16
    language: str = "auto"
    role: str = ""

    def invoke(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The same as `ainvoke`, for callers without an event loop, and for those inside of one."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(self.ainvoke(given))).result()

    async def ainvoke(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The last state of a run over `{"messages": […]}`; `__interrupt__` is what a person must decide."""
        talk = [read_message(item) for item in given.get("messages") or []]
        if not talk or talk[-1].role is not MessageRole.USER:
            remedy = 'Give {"messages": [("user", "…")]}.'
            raise InvalidInput("The last message is not one of the user.", remedy=remedy)
        run = ReactRun(self._kit(talk[-1].content), self.infer, new_id(), self._saver())
        async for _ in run.begin(talk[-1].content, talk[:-1]):
            pass
        asked = {"__interrupt__": run.waiting} if run.waiting is not None else {}
        return {**run.state, **asked}

    def _saver(self) -> Any:
        """An interruption needs somewhere to wait."""
        if self.checkpointer is not None:
            return self.checkpointer
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()

    def _kit(self, question: str) -> Kit:
        async def unbound(*_: Any) -> Any:
            raise ConfigError("No model is bound.")

        return Kit(
            ask=unbound,
            toolbox=Toolbox({tool.name: tool for tool in self.tools}),
            sources=Sources(new_id()[-10:]),
            retrieve=self.retrieve,
            rerank=self.rerank,
            approvals=self.approvals,
            limits=ReactLimits(steps=self.steps),
            language=answer_language(self.language, question),
            role=self.role,
            tool_descriptions=self.tool_descriptions,
        )


def read_message(item: Any) -> Message:
    """A message as LangChain, a pair or a mapping gives it."""
    if isinstance(item, tuple):
        role, content = item
    elif isinstance(item, Mapping):
        role, content = item.get("role"), item.get("content")
    else:
        role, content = getattr(item, "type", ""), getattr(item, "content", "")
    kind = _ROLES.get(str(role))
    if kind is None:
        raise InvalidInput(f"There is no message of {role!r} here.", remedy="Use user and assistant.")
    return Message(kind, MessageType(kind.value.upper()), str(content))


def model_of(llm: Any) -> Infer:
    """Whatever can be asked, as the graph asks."""
    if isinstance(llm, Model):
        return lambda inquiry: infer([llm], inquiry)
    if isinstance(llm, Sequence) and llm and all(isinstance(one, Model) for one in llm):
        return lambda inquiry: infer(llm, inquiry)
    if hasattr(llm, "ainvoke"):
        return _chat_model(llm)
    if callable(llm):
        return llm  # type: ignore[no-any-return]
    raise InvalidInput("llm is no model.", remedy="Give a kosmos.llm.streaming.Model or a chat model.")


def _chat_model(llm: Any) -> Infer:
    async def ask(inquiry: Inquiry) -> AsyncGenerator[Piece | Turn, None]:
        bound = llm
        talk = [(str(item["role"]), str(item["content"])) for item in inquiry.messages]
        if inquiry.tools:
            try:
                bound = llm.bind_tools(list(inquiry.tools), tool_choice="any")
            except (NotImplementedError, AttributeError):
                schema = json.dumps(inquiry.tools[0]["function"]["parameters"], ensure_ascii=False)
                talk[-1] = (
                    talk[-1][0],
                    f"{talk[-1][1]}\n\nAnswer with one JSON object of this schema:\n{schema}",
                )
        said = await bound.ainvoke(talk)
        text = said.content if isinstance(said.content, str) else json.dumps(said.content)
        calls = tuple(
            StreamedCall(
                str(call.get("id") or "c"), Call(call["name"], call["args"], json.dumps(call["args"]))
            )
            for call in getattr(said, "tool_calls", None) or ()
        )
        if text and not calls:
            yield Text(text)
        yield Turn(text, "", calls, "stop", Spent(), type(llm).__name__, estimated=True)

    return ask


def retriever_of(retriever: Any) -> Any:
    """Whatever finds documents, as the graph looks them up."""
    if retriever is None:
        return None
    find = getattr(retriever, "ainvoke", None) or getattr(retriever, "invoke", None) or retriever

    async def retrieve(query: str, depth: int) -> list[Passage]:
        found = await _result(find, query)
        return [_passage(item, at) for at, item in enumerate(list(found)[:depth], start=1)]

    return retrieve


def _passage(item: Any, at: int) -> Passage:
    if isinstance(item, Passage):
        return item
    about = dict(getattr(item, "metadata", None) or {})
    source = str(about.get("source") or about.get("title") or f"document {at}")
    start, end = int(about.get("start_line") or 0), int(about.get("end_line") or 0)
    text = str(getattr(item, "page_content", item))
    identity = str(about.get("document_id") or about.get("pk") or f"{source}#{hash(text)}")
    return Passage(
        text, source, str(about.get("title") or ""), identity, start or 1, end or text.count("\n") + 1
    )


def reranker_of(reranker: Any) -> Any:
    """Whatever scores passages, as the graph ranks them."""
    if reranker is None:
        return None
    score: Callable[..., Any] = getattr(reranker, "score", reranker)

    async def rerank(query: str, passages: Sequence[Passage]) -> list[Passage]:
        scores = list(await _result(score, query, [passage.text for passage in passages]))
        order = sorted(range(len(passages)), key=lambda at: (-float(scores[at]), at))
        return [passages[at] for at in order]

    return rerank


async def _result(work: Callable[..., Any], *given: Any) -> Any:
    """What a function gives, at once or later; one that blocks runs beside the loop."""
    if inspect.iscoroutinefunction(work):
        return await work(*given)
    found = await asyncio.to_thread(work, *given)
    return await found if inspect.isawaitable(found) else found
