"""A run of the literature workflow: its papers, its tools and its cache of summaries, bound to the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.accounts.access import require_space
from kosmos.agents.literature.contract import Histories, LiteratureTask
from kosmos.agents.literature.numbering import PaperSources
from kosmos.agents.literature.pipeline import LiteratureRun
from kosmos.agents.literature.summarising import recipe
from kosmos.agents.literature.work import Infer, SearchWeb, Work
from kosmos.agents.sources import Sources
from kosmos.agents.telling import usage_of
from kosmos.db import credentials
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.agents import AgentForm
from kosmos.domain.answers import Answer
from kosmos.domain.documents import Document
from kosmos.domain.jobs import Spent
from kosmos.domain.sessions import Message, Session
from kosmos.llm.streaming import Model
from kosmos.sessions.budget import tokens_in
from kosmos.sessions.history import Stage, history_for
from kosmos.tasks.knowledge_desk import KnowledgeDesk
from kosmos.tasks.literature import LiteratureDesk, find_documents, given_paper, papers_of
from kosmos.tasks.recalling import Recall, recall
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.summaries import SharedSummaries
from kosmos.tasks.summary_stores import TableSummaries
from kosmos.tasks.workbench import Workbench
from kosmos.tools.contract import Passage, Tool
from kosmos.tools.recall import Recaller, RecallTool, Recollection, recall_over_http
from kosmos.tools.web_search import Post

STRATEGY = "literature"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run has before its papers are opened."""

    desk: KnowledgeDesk
    agent: AgentForm
    session: Session
    wish: RunWish
    models: Sequence[Model]
    past: Sequence[Message]
    window: int
    options: Mapping[str, Any]  # for the provider

    @property
    def bench(self) -> Workbench:
        """The engines."""
        return self.desk.bench

    @property
    def who(self) -> Principal:
        """Who asks."""
        return self.desk.who


async def open_literature(
    setting: Setting, sources: Sources, infer: Infer, *, tools: Sequence[Tool], post: Post
) -> LiteratureRun:
    """The run, ready to go."""
    bench, wish = setting.bench, setting.wish.literature
    documents = (
        []
        if wish.content
        else await find_documents(bench, setting.who, doc_ids_of(setting), setting.desk.space_ids)
    )
    papers = [given_paper(wish.content)] if wish.content else await papers_of(bench, documents)
    tool = _recall_tool(setting, documents, post)
    library = LiteratureDesk(setting.desk, papers, tool, wish.content)
    cache = await _cache(setting, documents)
    work = Work(
        _task(setting), infer, library, cache, PaperSources(sources, library.lines), _web(setting, tools)
    )
    return LiteratureRun(work)


def doc_ids_of(setting: Setting) -> Sequence[str]:
    """The documents that the request names, or else those that its session is about."""
    named = setting.wish.literature.doc_ids
    kept = setting.session.metadata.get("doc_ids")
    if named or setting.wish.space_ids is not None or not isinstance(kept, list):
        return named
    return [item for item in kept if isinstance(item, str)]


def _task(setting: Setting) -> LiteratureTask:
    wish, agent, past = setting.wish, setting.agent, setting.past
    return LiteratureTask(
        question=wish.question,
        role=f"{agent.system_prompt}\n\n{wish.instructions}".strip(),
        histories=Histories(
            intent=history_for(Stage.INTENT, past),
            planning=history_for(Stage.PLANNING, past),
            answer=history_for(Stage.ANSWER, past),
            simple=history_for(Stage.SIMPLE, past),
        ),
        max_context_tokens=setting.window,
        session_tokens=tokens_in(past),
        language=agent.language,
        options=setting.options,
        mode_type=wish.literature.mode_type,
        direct_content_threshold=wish.literature.direct_content_threshold,
        web_search=wish.literature.web_search,
        today=setting.bench.clock().date(),
    )


def _recall_tool(setting: Setting, documents: Sequence[Document], post: Post) -> RecallTool:
    wish = setting.wish.literature.recall
    return RecallTool(
        ask=recall_over_http(post) if wish.api_url else _recall_here(setting),
        api_url=wish.api_url,
        index_names=tuple(dict.fromkeys(document.space_id for document in documents)),
        doc_ids=tuple(document.id for document in documents),
        top_n=wish.top_n,
        similarity_threshold=wish.similarity_threshold,
        vector_similarity_weight=wish.vector_similarity_weight,
        use_rerank=wish.use_rerank,
        api_key=wish.api_key,
    )


def _recall_here(setting: Setting) -> Recaller:
    """Recall in this very instance, with the rights of the caller."""

    async def ask(tool: RecallTool, question: str) -> list[Recollection]:
        wanted = Recall(
            question,
            index_names=tool.index_names,
            document_ids=tool.doc_ids,
            top_n=tool.top_n,
            similarity_threshold=tool.similarity_threshold,
            vector_similarity_weight=tool.vector_similarity_weight,
            use_rerank=tool.use_rerank,
        )
        found = await recall(setting.bench, setting.who, wanted)
        passages = await setting.desk.passages([item.hit for item in found.chunks])
        scores = {item.hit.chunk_id: item.similarity for item in found.chunks}
        return [Recollection(passage, scores[passage.chunk_id]) for passage in passages]

    return ask


def _web(setting: Setting, tools: Sequence[Tool]) -> SearchWeb | None:
    """The web search of the agent, if it has and may use one."""
    allowed = setting.agent.allowed_tools
    tool = next((tool for tool in tools if tool.name == "web_search"), None)
    if tool is None or (allowed is not None and tool.name not in allowed):
        return None

    async def search(query: str) -> Sequence[Passage]:
        return (await tool.run(query=query)).passages

    return search


async def _cache(setting: Setting, documents: Sequence[Document]) -> SharedSummaries:
    bench = setting.bench
    spaces = {document.space_id for document in documents}
    closed = {space for space in spaces if not await _may_share(setting, space)}
    private = {item.id: setting.who.user.id for item in documents if item.space_id in closed}
    since = bench.clock() if setting.wish.literature.refresh_summary_cache else None
    store = bench.summaries or TableSummaries(bench.db, bench.clock)
    return SharedSummaries(store, bench.runs.worker, recipe(), private, since)


async def _may_share(setting: Setting, space_id: str) -> bool:
    """Whether summaries by this caller's model may serve all readers of a space.

    Who may change its documents may; so may everybody whose model is the instance's or the space's own.
    A reader with a model of their own could otherwise have others read what no document says.
    """
    async with setting.bench.db.read() as conn:
        view = await require_space(conn, setting.who, space_id)
        if view.role.rank >= Role.EDITOR.rank:
            return True
        linked = {link.credential.id for link in await credentials.list_links(conn, space_id)}
    used = [model.credential for model in setting.models]
    return all(one.id and (one.owner_id is None or one.id in linked) for one in used)


def answer_of(run: LiteratureRun, run_id: str, spent: Spent) -> Answer | None:
    """The answer of a run, with what was chosen and why."""
    cited = run.cited
    if cited is None:
        return None
    usage = usage_of(spent, estimated=run.estimated)
    strategy = run.work.state.strategy.value
    return Answer(
        cited.answer, cited.citations, strategy, run_id, usage, cited.claims, cited.removed, run.details
    )
