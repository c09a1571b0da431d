"""The document summary node: every paper is condensed, many at once, each at most once for everybody."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from kosmos.agents.literature.contract import Condensed, Paper, PaperText
from kosmos.agents.literature.laying import describe
from kosmos.agents.literature.limits import IN_HAND
from kosmos.agents.literature.numbering import disarm
from kosmos.agents.literature.work import CODES, Work, pieces_of
from kosmos.agents.markers import clean_markers
from kosmos.agents.sources import Sources
from kosmos.domain.events import EventType
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import KosmosError
from kosmos.prompts import load_prompt
from kosmos.tools.contract import Passage

log = logging.getLogger(__name__)
NODE = "document_summary"
AFTER_OTHERS = 0.5  # seconds: what is ready to be asked goes out before more is read
# What a summary of a paper too large to be read at once is made from.
ASPECTS = {
    "English": (
        "problem and motivation, research question, contributions",
        "method, model, algorithm, approach",
        "data set, samples, experimental setup",
        "results, evaluation, comparison with baselines",
        "limitations, discussion, conclusion, future work",
    ),
    "Chinese": (
        "研究问题 动机 贡献",
        "方法 模型 算法",
        "数据集 样本 实验设置",
        "结果 评估 对比",
        "局限 讨论 结论 未来工作",
    ),
}


@dataclass(slots=True)
class _Progress:
    """How many papers are done, in whatever way."""

    total: int
    done: int = 0
    made: int = 0
    failed: int = 0
    found: dict[str, Condensed] = field(default_factory=dict)


async def summarise_documents(work: Work) -> None:
    """Condense every paper; what fails is told and left out."""
    papers = work.library.papers
    known = await _look_up(work, papers)
    progress = _Progress(len(papers))
    listed = [{"document_id": paper.document_id, "title": paper.title} for paper in papers]
    work.tell(EventType.DOC_SUMMARY_INIT, total=len(papers), cached=len(known), documents=listed)
    hands = asyncio.Semaphore(IN_HAND)

    async def one(paper: Paper) -> None:
        if paper.document_id in known:
            _complete(work, progress, paper, known[paper.document_id], made=False)
            return
        async with hands:
            if work.gate.locked():
                await asyncio.sleep(AFTER_OTHERS)
            await _take(work, progress, paper)

    await asyncio.gather(*(one(paper) for paper in papers))
    state = work.state
    state.cached_summaries = progress.done - progress.made - progress.failed
    state.document_summaries = {
        paper.document_id: work.sources.adopt(paper, progress.found[paper.document_id])
        for paper in papers
        if paper.document_id in progress.found
    }


async def _look_up(work: Work, papers: Sequence[Paper]) -> dict[str, Condensed]:
    try:
        return dict(await work.cache.get_many(papers))
    except KosmosError as error:
        work.fail(NODE, f"The cache of summaries cannot be read: {error.message}")
        return {}


async def _take(work: Work, progress: _Progress, paper: Paper) -> None:
    """One paper; this is the boundary behind which its failure stays."""
    try:
        summary, made = await work.cache.take(paper, lambda: condense(work, paper))
        _complete(work, progress, paper, summary, made=made)
    except KosmosError as error:
        _fail(work, progress, paper, error.message)
    except Exception:
        log.exception("a summary failed", extra={"document": paper.document_id})
        _fail(work, progress, paper, "It failed unexpectedly; the log has the details.")


async def condense(work: Work, paper: Paper) -> Condensed:
    """The summary of a paper by the model: of the whole paper, or of what its aspects recall."""
    about = {"document_id": paper.document_id, "title": paper.title}
    work.tell(EventType.DOC_SUMMARY_START, **about)
    text = await work.library.read(paper)
    if not text.passages:
        raise KosmosError(f"{paper.source} has no text.")
    local = Sources(work.sources.fence)
    shown, _ = local.show([disarm(passage) for passage in await _material(work, paper, text)])
    prompt = work.prompt(
        "document_condensed_summary",
        text.language,
        paper=local.fenced(describe(paper)),
        material=shown,
        fence=local.fence,
    )
    told = pieces_of(work, EventType.DOC_SUMMARY_CHUNK, **about)

    def anew(reason: str) -> None:
        told.flush()
        work.tell(EventType.DOC_SUMMARY_START, **about, again=reason)

    turn = await work.ask_apart(work.inquiry(prompt), say=told.say, anew=anew)
    told.flush()
    said, used, _ = clean_markers(turn.text, local.knows)
    if not said.strip():
        raise KosmosError("The model gave no summary.")
    places = {one: (local.seen[one].start_line, local.seen[one].end_line) for one in used}
    return Condensed(said.strip(), places, turn.model)


async def _material(work: Work, paper: Paper, text: PaperText) -> Sequence[Passage]:
    most = int(work.state.room * work.task.direct_content_threshold)
    if text.tokens <= most:
        return text.passages
    try:
        asked = [work.library.recall(aspect, paper) for aspect in ASPECTS[text.language]]
        found = [item for part in await asyncio.gather(*asked) for item in part]
    except KosmosError as error:
        work.fail(NODE, f"{paper.source} could not be searched: {error.message}")
        found = []
    ranked = [item.passage for item in sorted(found, key=lambda item: -item.score)]
    chosen = _within(ranked or text.passages, most)
    return sorted(chosen, key=lambda passage: passage.start_line)


def _within(passages: Sequence[Passage], most: int) -> list[Passage]:
    kept: dict[tuple[str, int, int], Passage] = {}
    for passage in passages:
        if passage.place in kept:
            continue
        most -= estimate_tokens(passage.text) + 30
        if kept and most < 0:
            break
        kept[passage.place] = passage
    return list(kept.values())


def _complete(work: Work, progress: _Progress, paper: Paper, summary: Condensed, *, made: bool) -> None:
    progress.done += 1
    progress.made += made
    progress.found[paper.document_id] = summary
    work.tell(
        EventType.DOC_SUMMARY_COMPLETE,
        document_id=paper.document_id,
        title=paper.title,
        cached=not made,
        tokens=estimate_tokens(summary.text),
        done=progress.done,
        total=progress.total,
        progress=round(progress.done / progress.total, 4),
    )


def _fail(work: Work, progress: _Progress, paper: Paper, reason: str) -> None:
    progress.done += 1
    progress.failed += 1
    work.state.errors.append({"node": NODE, "error": f"{paper.source}: {reason}"})
    work.tell(
        EventType.DOC_SUMMARY_ERROR,
        document_id=paper.document_id,
        title=paper.title,
        error=reason,
        done=progress.done,
        total=progress.total,
        progress=round(progress.done / progress.total, 4),
    )


def recipe() -> str:
    """What summaries are made by: a summary of another prompt is another summary."""
    return "".join(load_prompt(f"document_condensed_summary_{code}").sha256[:16] for code in CODES.values())
