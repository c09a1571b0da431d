"""The answer nodes: from a whole paper, from what was recalled, from summaries, or from the talk alone."""

from kosmos.agents.literature.forms import compare, has_table, read_review, reference_list
from kosmos.agents.literature.intents import Intent
from kosmos.agents.literature.laying import (
    choose_evidence,
    describe,
    in_reading_order,
    list_papers,
    show_passages,
)
from kosmos.agents.literature.reports import answer_from_summaries
from kosmos.agents.literature.strategies import Strategy
from kosmos.agents.literature.work import Work
from kosmos.domain.papers import reference_of
from kosmos.errors import KosmosError

NODE, SIMPLE = "answer_generation", "simple_interaction"
PROMPTS = {
    Intent.LITERATURE_SUMMARY: "single_doc_summary",
    Intent.REVIEW_GENERATION: "review_generation",
    Intent.PAPER_REVIEW: "paper_review",
    Intent.LITERATURE_QA: "literature_qa",
}
_NOTHING = {
    "English": "(No passage was found. Say so, and what could be asked instead.)",
    "Chinese": "（没有找到任何片段。请直接说明这一点，并提示可以怎样提问。）",
}
_NO_WEB = {"English": "(none)", "Chinese": "（无）"}


async def answer(work: Work) -> None:
    """Write the answer from what was gathered."""
    intent = work.state.detected_intent or Intent.LITERATURE_QA
    if work.state.strategy is Strategy.MULTI_DOC_SUMMARY:
        await answer_from_summaries(work, intent)
    else:
        prompt = work.prompt(
            PROMPTS[intent],
            question=work.task.question,
            papers=list_papers(work.library.papers, work.sources.fence),
            material=_material(work) or _NOTHING[work.language],
            fence=work.sources.fence,
        )
        await work.speak(prompt, work.task.histories.answer)
    _complete_form(work, intent)


def _material(work: Work) -> str:
    state = work.state
    if state.strategy is Strategy.FULL_CONTENT and state.content is not None:
        return show_passages(work, state.content.passages)
    room = int(state.room * work.task.direct_content_threshold)
    chosen = choose_evidence(work, state.recall_results, room)
    return show_passages(work, in_reading_order(work.library.papers, chosen))


def _complete_form(work: Work, intent: Intent) -> None:
    """Add what the form of an answer needs and the model left out."""
    said = "".join(work.answer)
    if intent is Intent.PAPER_REVIEW:
        work.state.extra["review"] = read_review(said)
    summaries = work.state.document_summaries
    if intent is Intent.REVIEW_GENERATION and summaries and not has_table(said):
        rows = [
            (paper.title, summaries[paper.document_id])
            for paper in work.library.papers
            if paper.document_id in summaries
        ]
        work.fall_back(f"{NODE}: the table was made from the summaries")
        work.say(f"\n\n{compare(rows, work.language)}")


def add_references(work: Work) -> str:
    """The reference list below a literature review, from the papers' own data; nothing below others."""
    papers = [paper for paper in work.library.papers if _is_used(work, paper.document_id)]
    work.state.extra["references"] = [
        {
            "document_id": paper.document_id,
            "title": paper.title,
            "authors": list(paper.facts.authors),
            "year": paper.facts.year,
            "doi": paper.facts.doi,
            "reference": reference_of(paper.facts) if paper.facts.title else paper.source,
        }
        for paper in papers
    ]
    if work.state.detected_intent is not Intent.REVIEW_GENERATION:
        return ""
    lines = [item["reference"] for item in work.state.extra["references"]]
    text = f"\n\n{reference_list(lines, work.language)}"
    work.say(text)
    return text


def _is_used(work: Work, document_id: str) -> bool:
    summaries = work.state.document_summaries
    return work.state.strategy is not Strategy.MULTI_DOC_SUMMARY or document_id in summaries


async def interact(work: Work) -> None:
    """Plain talk, with what the web says where that was asked for."""
    prompt = work.prompt(
        SIMPLE,
        question=work.task.question,
        papers=list_papers(work.library.papers, work.sources.fence)
        if work.library.papers
        else _NO_WEB[work.language],
        material=await _search(work) or _NO_WEB[work.language],
        fence=work.sources.fence,
    )
    await work.speak(prompt, work.task.histories.simple)


async def _search(work: Work) -> str:
    if not work.task.web_search:
        return ""
    if work.search_web is None:
        work.fail("web_search", "No search engine is configured, or the agent may not use it.")
        return ""
    try:
        found = await work.search_web(work.task.question[:400])
    except KosmosError as error:
        work.fail("web_search", error.message)
        return ""
    return show_passages(work, found)


def last_resort(work: Work, reason: str) -> bool:
    """Answer with what was gathered when the model cannot; False when nothing was."""
    state, chinese = work.state, work.language == "Chinese"
    if state.document_summaries:
        parts = [
            f"### {describe(paper)}\n\n{state.document_summaries[paper.document_id]}"
            for paper in work.library.papers
            if paper.document_id in state.document_summaries
        ]
    elif state.recall_results:
        chosen = choose_evidence(work, state.recall_results, 2000)[:5]
        shown = [(work.sources.show(item.passage)[0], item.passage.text) for item in chosen]
        parts = [f"- “{' '.join(text.split())[:300]}” [{number}]" for number, text in shown]
    else:
        return False
    work.retract("the model failed")
    lead = (
        f"模型未能写出回答（{reason}）。以下是已经收集到的内容："
        if chinese
        else (f"The model could not write the answer ({reason}). This is what was gathered:")
    )
    work.say(lead + "\n\n" + "\n\n".join(parts))
    work.fall_back(f"{NODE}: the gathered material stands for the answer")
    return True
