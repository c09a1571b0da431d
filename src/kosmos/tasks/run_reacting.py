"""A run through the graph of operations: the kit of its nodes out of what the instance has."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kosmos.agents.react.kit import Kit, ReactLimits
from kosmos.agents.react.run import STRATEGY, ReactRun
from kosmos.agents.telling import usage_of
from kosmos.agents.thinking import answer_language
from kosmos.domain.answers import Answer
from kosmos.domain.events import Event, EventType
from kosmos.errors import ProviderError
from kosmos.sessions.budget import Budget
from kosmos.sessions.history import Stage, history_for
from kosmos.tasks.approvals import RunApprovals
from kosmos.tasks.knowledge_desk import KnowledgeDesk
from kosmos.tasks.reranking import score_passages
from kosmos.tasks.run_models import window_of
from kosmos.tasks.run_past import open_sources
from kosmos.tools.contract import Passage, Tool, ToolOutput
from kosmos.tools.registry import Toolbox, ToolFailed, choose_tools
from kosmos.tools.reviewing import ARGV, PROGRAM, rehearsal
from kosmos.tools.secrecy import hide_secrets

if TYPE_CHECKING:
    from kosmos.tasks.run_driving import Drive
    from kosmos.tasks.workbench import Workbench

MOST_PREVIEW = 8000
OWN_OPTIONS = frozenset({"retrieve", "max_context_tokens", "title", "structured"})


async def react_events(drive: "Drive", desk: KnowledgeDesk) -> AsyncGenerator[Event, None]:
    """Everything that happens until the answer stands, or until somebody must be asked."""
    async for event in drive.look_back(window_of(drive.agent, drive.wish.model, drive.models)):
        yield event
    kept = await kept_notes(drive.bench, drive.run.id) if drive.resumes else {}
    _remember(drive, kept.get("references", {}))
    run = drive.loop = await _make_run(drive, desk)
    if drive.resumes:
        if drive.verdict is not None:
            yield Event(EventType.APPROVAL_RESULT, drive.verdict)
        steps = run.go_on(drive.verdict)
    else:
        history = history_for(Stage.ANSWER, drive.past.messages)
        spaces = list(drive.wish.space_ids) if drive.wish.space_ids is not None else None
        wish = {"space_ids": spaces, "instructions": drive.wish.instructions}
        steps = run.begin(drive.wish.question, history, **wish)
    async for event in steps:
        yield event
    drive.last_number = run.kit.sources.next_number - 1
    if run.waiting is not None:
        run.waiting = {**run.waiting, "preview": await rehearse(run.kit.toolbox, run.waiting)}
    elif run.cited is not None:
        usage = usage_of(drive.total, estimated=run.estimated)
        cited = run.cited
        made = Answer(
            cited.answer, cited.citations, STRATEGY, drive.run.id, usage, cited.claims, cited.removed
        )
        for event in drive.conclude(made):
            yield event


async def kept_notes(bench: "Workbench", run_id: str) -> Mapping[str, Any]:
    """The notes of a run as its last checkpoint has them."""
    saver = await bench.checkpoints.saver()
    found = await saver.aget_tuple({"configurable": {"thread_id": run_id, "checkpoint_ns": ""}})
    notes = found.checkpoint["channel_values"].get("metadata") if found is not None else None
    return notes or {}


def _remember(drive: "Drive", references: Mapping[str, Mapping[str, Any]]) -> None:
    """Passages of the part of this run that is over count as those of the talk before."""
    known = {int(number): item for number, item in references.items()}
    last = max([drive.past.last_number, *known])
    drive.past = replace(drive.past, references={**drive.past.references, **known}, last_number=last)


async def _make_run(drive: "Drive", desk: KnowledgeDesk) -> ReactRun:
    agent = drive.agent

    async def retrieve(query: str, depth: int) -> Sequence[Passage]:
        return await desk.search(query, k=min(depth, 50), document=None)

    async def rerank(query: str, passages: Sequence[Passage]) -> Sequence[Passage]:
        return await _rerank(drive, query, passages)

    kit = Kit(
        ask=_unasked,
        toolbox=choose_tools(await _tools(drive, desk), agent.allowed_tools),
        sources=open_sources(drive.past, drive.session.id, desk),
        retrieve=retrieve,
        rerank=rerank,
        approvals=RunApprovals(drive.bench, drive.run.id),
        limits=ReactLimits(steps=agent.step_limit),
        language=answer_language(agent.language, drive.wish.question),
        role=f"{agent.system_prompt}\n\n{drive.wish.instructions}".strip(),
        options={key: value for key, value in agent.chat_options.items() if key not in OWN_OPTIONS},
        prompt_tokens=Budget(window_of(agent, drive.wish.model, drive.models)).prompt,
        structured=str(agent.chat_options.get("structured", "tools")),
        today=drive.bench.clock().date(),
    )
    saver = await drive.bench.checkpoints.saver()
    return ReactRun(kit, drive.ask_model, drive.run.id, saver, spent=drive.run.spent)


async def _unasked(*_: Any) -> Any:
    raise ProviderError("No model is bound to this run.")


async def _tools(drive: "Drive", desk: KnowledgeDesk) -> list[Tool]:
    """All but `search`, which is a step of the graph itself."""
    found = [tool for tool in drive.tools(desk) if tool.name != "search"]
    return [*found, *await drive.bench.mcp.tools(), *drive.bench.ops_tools]


async def _rerank(drive: "Drive", query: str, passages: Sequence[Passage]) -> Sequence[Passage]:
    """By the reranker of the instance, where there is one that answers."""
    texts = [passage.text for passage in passages]
    try:
        scores = await score_passages(drive.bench, drive.who, "auto", query, texts)
    except ProviderError:
        return passages
    if scores is None:
        return passages
    order = sorted(range(len(passages)), key=lambda at: (-scores[at], at))
    return [passages[at] for at in order]


async def rehearse(toolbox: Toolbox, asked: Mapping[str, Any]) -> str:
    """What a command would change, by a command that changes nothing; empty where there is none."""
    tool = toolbox.tools.get(str(asked.get("tool")))
    tried = rehearsal(asked.get("argv") or ())
    if tool is None or tried is None:
        return ""
    before = len(tool.labels.get(PROGRAM, ()))
    name = str(tool.labels[ARGV])
    try:
        arguments = tool.check({**asked["arguments"], name: list(tried[before:])})
        found: ToolOutput = await toolbox.run(tool.name, arguments)
        text = f"$ {' '.join(tried)}\n{found.text}{found.data}"
    except ToolFailed as error:
        text = f"$ {' '.join(tried)}\n{error}"
    return hide_secrets(text)[:MOST_PREVIEW]
