"""Six papers as PDF files: the four intents with the answers of a careful reader; every citation resolves."""

import json
from typing import Any

import pytest

from kosmos.agents.literature.intents import Intent
from kosmos.domain.documents import Document
from kosmos.domain.papers import load_facts
from kosmos.doubles.model_server import ModelServer
from kosmos.tasks import sessions
from kosmos.tasks.papers import export_bibtex
from kosmos.tasks.reading import open_text
from kosmos.tasks.sessions import NewSession

from .paper_pdfs import ANSWERS, papers_in
from .papers import Reader, literature_talk, wish
from .scene import Scene
from .talks import Body, Talk

ASKED = {
    "en": ("Which method copes best when gauges fail, and by how much?", "Review it.", "Summarise."),
    "zh": ("雨天对渗漏监测有什么影响？", "请评审这篇论文。", "请总结这些论文。"),
}
TABLE = {
    "en": "| Paper | Problem | Method | Data | Result | Limits |",
    "zh": "| 论文 | 问题 | 方法 | 数据 | 结果 | 局限 |",
}


def careful(language: str) -> Reader:
    """The reader whose answers were kept."""
    kept = ANSWERS[language]

    def condense(body: Body) -> str:
        text = str(body["messages"][-1]["content"])
        return str(next(said for title, said in kept["condensed"].items() if f"\n{title} · " in text))

    return Reader(
        Intent.LITERATURE_QA,
        document_condensed_summary=condense,
        sub_question_generation=kept["sub_questions"],
        literature_qa=kept["answer"],
        review_generation=kept["survey"],
        paper_review=kept["review"],
        single_doc_summary=kept["summary"],
        multi_doc_summary=kept["summary"],
    )


async def check_citations(scene: Scene, answer: dict[str, Any]) -> None:
    """Every quote stands in its lines, and none of them in a reference list."""
    assert answer["citations"]
    assert answer["removed"] == []
    for item in answer["citations"]:
        opened = await open_text(scene.bench, scene.owner, item["document_id"])
        lines = opened.text.split("\n")[item["start_line"] - 1 : item["end_line"]]
        assert item["quote"]
        assert item["quote"] in "\n".join(lines)
        listed = load_facts(opened.document.metadata).bibliography
        assert listed is not None
        assert not listed[0] <= item["start_line"] <= listed[1]


async def add_papers(scene: Scene, language: str) -> list[Document]:
    return [(await scene.add(data, name))[0] for name, data in papers_in(language).items()]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_four_intents(scene: Scene, language: str) -> None:
    found = await add_papers(scene, language)
    ids = tuple(document.id for document in found)
    async with ModelServer(careful(language)) as server:
        talk = await literature_talk(scene, server)
        answers = await _ask_all(talk, ids, language)
    for answer in answers.values():
        await check_citations(scene, answer)
    assert [answers[name]["strategy"] for name in ("ask", "survey")] == ["chunk_recall", "multi_doc_summary"]
    survey = answers["survey"]
    assert TABLE[language] in survey["answer"]
    assert len(survey["details"]["references"]) == 3
    for item in survey["details"]["references"]:
        assert item["reference"] in survey["answer"]
        assert item["doi"] in survey["answer"]
    cited = {item["document_id"] for item in survey["citations"]}
    assert cited == set(ids)
    assert answers["review"]["details"]["review"]["rating"] in (5.0, 6.0)
    assert answers["review"]["details"]["review"]["missing"] == []
    scores = answers["ask"]["details"]["evidence"]
    assert scores
    assert all(0 <= item["score"] <= 1 for item in scores)
    assert any(item["used"] for item in scores)


async def _ask_all(talk: Talk, ids: tuple[str, ...], language: str) -> dict[str, dict[str, Any]]:
    question, judge, sum_up = ASKED[language]
    reviewed = ids[1:2] if language == "en" else ids[:1]
    summed = ids[:1] if language == "en" else ids
    wishes = {
        "ask": (question, wish(doc_ids=ids)),
        "survey": (sum_up, wish(doc_ids=ids, mode_type=Intent.REVIEW_GENERATION)),
        "review": (judge, wish(doc_ids=reviewed, mode_type=Intent.PAPER_REVIEW)),
        "summary": (sum_up, wish(doc_ids=summed, mode_type=Intent.LITERATURE_SUMMARY)),
    }
    answers = {}
    for name, (said, more) in wishes.items():
        # Each in a session of its own: the kept answers count from 1.
        fresh = await _again(talk)
        answers[name] = await fresh.answer(said, **more)
    return answers


async def _again(talk: Talk) -> Talk:
    scene = talk.scene
    new = NewSession(agent=talk.agent.id, title="A talk")
    return Talk(scene, talk.agent, await sessions.create_session(scene.bench, scene.owner, new))


async def test_what_papers_say_about_themselves(scene: Scene) -> None:
    found = [load_facts(item.metadata, item.title) for item in await add_papers(scene, "en")]
    assert [facts.authors for facts in found] == [
        ("Mara Lindqvist", "Joris van Dael"),
        ("Chen Wei", "Mara Lindqvist", "Tomas Rehak"),
        ("Ama Boateng", "Tomas Rehak"),
    ]
    chinese = [load_facts(item.metadata, item.title) for item in await add_papers(scene, "zh")]
    assert [facts.authors for facts in chinese] == [
        ("李文博", "王小雨"),
        ("陈思远", "李文博", "赵一鸣"),
        ("吴佳", "陈思远"),
    ]
    assert [facts.year for facts in (*found, *chinese)] == [2019, 2022, 2024, 2020, 2022, 2023]
    text = await export_bibtex(scene.bench, scene.owner, "default")
    assert text.count("@article{") == 6
    assert "author = {Chen Wei and Mara Lindqvist and Tomas Rehak}" in text
    assert "doi = {10.5555/dams.2020.033}" in text


async def test_a_reference_list_is_never_recalled(scene: Scene) -> None:
    await add_papers(scene, "en")
    assert all("Okafor" not in text for text in await scene.found("Okafor neural Journal of Harbours"))
    whole = json.dumps([row.fields["text"] for row in await scene.rows() if row.sparse])
    assert "Okafor" not in whole
