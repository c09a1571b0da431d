"""Answers from the summaries of many papers: in one go, or by reports on groups that are merged."""

import asyncio
from collections.abc import Sequence

from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.laying import describe
from kosmos.agents.literature.packing import cut_to, pack_groups
from kosmos.agents.literature.work import Work
from kosmos.agents.sources import Sources
from kosmos.domain.events import EventType
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import KosmosError

NODE = "answer_generation"
OVERHEAD = 1000  # tokens of a prompt beside its material
LEAST = 600
_NAMED = {"English": "(named above each summary)", "Chinese": "（见各篇摘要之首）"}
FAMILIES = {
    Intent.LITERATURE_SUMMARY: (
        "multi_doc_summary",
        "multi_doc_summary_synthesis",
        "multi_doc_summary_final_merge",
    ),
    Intent.REVIEW_GENERATION: (
        "review_generation",
        "review_generation_synthesis",
        "review_generation_final_merge",
    ),
}


async def answer_from_summaries(work: Work, intent: Intent) -> None:
    """The final answer: at once where all summaries fit, else from reports on groups of them."""
    limit = max(LEAST, int(work.state.room * 0.95) - OVERHEAD)
    whole, part, merge = FAMILIES[intent]
    blocks = [cut_to(block, limit) for block in _blocks(work)]
    groups = pack_groups([estimate_tokens(block) for block in blocks], limit)
    work.state.groups = len(groups)
    name, first = whole, True
    while len(groups) > 1:
        reports = await _report(work, part, [[blocks[at] for at in group] for group in groups], first=first)
        blocks = [cut_to(report, limit // 2 - 10) for report in reports]  # so that two always fit
        groups = pack_groups([estimate_tokens(block) for block in blocks], limit)
        name, first = merge, False
    await work.speak(_prompt(work, name, blocks), work.task.histories.answer)


def _blocks(work: Work) -> list[str]:
    """The summaries with the names of their papers, as data."""
    found, fence = work.state.document_summaries, Sources(work.sources.fence)
    return [
        fence.fenced(f"{describe(paper)}\n\n{found[paper.document_id]}")
        for paper in work.library.papers
        if paper.document_id in found
    ]


def _prompt(work: Work, name: str, blocks: Sequence[str]) -> str:
    values = {"question": work.task.question, "material": "\n\n".join(blocks), "fence": work.sources.fence}
    if name == "review_generation":
        values["papers"] = _NAMED[work.language]
    return work.prompt(name, **values)


async def _report(work: Work, name: str, groups: Sequence[Sequence[str]], *, first: bool) -> list[str]:
    """A report on each group, beside each other; a group that fails is told and left out."""

    async def one(number: int, blocks: Sequence[str]) -> str:
        about = {"group": number, "groups": len(groups), "level": 1 if first else 2}
        try:
            return await work.ask(NODE, _prompt(work, name, blocks), (), **about)
        except KosmosError as error:
            work.fail(NODE, f"The report on group {number} of {len(groups)} failed: {error.message}")
            return ""

    made = await asyncio.gather(*(one(number, blocks) for number, blocks in enumerate(groups, start=1)))
    fence = Sources(work.sources.fence)
    kept = [fence.fenced(report) for report in made if report.strip()]
    if not kept:
        raise KosmosError("No group of papers could be reported on.")
    work.tell(
        EventType.NODE_COMPLETE, node="group_reports", step=work.step, groups=len(groups), made=len(kept)
    )
    return kept
