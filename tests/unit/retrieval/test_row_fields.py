"""What an index row says beside its text, what encoders read of it, and feedback from rows."""

from dataclasses import replace

import pytest

from kosmos.retrieval.feedback import OWN, TERMS, expand
from kosmos.retrieval.indexing import LINKS, NAVIGATION, dense_texts, entry_urls, index_rows
from kosmos.retrieval.terms import question_terms, terms
from kosmos.store.rows import Found, IndexRow

from .shelves import chunks, document, rows

MIXED = (
    "# Guide\n\nEnglish words stand here, and many more of them follow so that this page is English.\n\n"
    "## 安装\n\n先停止数据库，再运行安装脚本。\n"
)
CHINESE = "# 安装\n\n先停止数据库服务，再运行安装脚本。\n\n# 命令\n\n```\nkubectl apply -f x.yaml\n```\n"


def test_languages_of_rows() -> None:
    english = [row for row in rows("guide", MIXED) if row.fields["node_type"] == "content"]
    assert [row.fields["language"] for row in english] == ["en", "zh"]
    chinese = rows("zh", CHINESE)
    assert {row.fields["language"] for row in chinese} == {"zh"}  # code of a Chinese page is Chinese too


def test_what_encoders_read() -> None:
    row = rows("guide", MIXED)[-1]
    texts = dense_texts(row.fields)
    assert texts["vector"].startswith("Guide 安装\n先停止")  # the title once, though a heading repeats it
    assert texts["summary_vector"].startswith("Guide 安装: 先停止")
    front = rows("front", "---\ntitle: x\n---\nText.")[0]
    assert (dense_texts(front.fields), front.sparse) == ({}, {})


def test_metadata_dates_and_pages() -> None:
    made = chunks("a", "# A\n\nText.")
    made = [replace(chunk, metadata={**chunk.metadata, "page": 7}) for chunk in made]
    row = index_rows(document("a", metadata={"author": "Li", "tags": ["x", "y"]}), made)[-1]
    assert row.fields["metadata"] == ["author=Li", "tags=x", "tags=y"]
    assert row.fields["page"] == 7
    assert row.fields["updated_at"].endswith("Z")
    assert (row.fields["start_line"], row.fields["end_line"]) == (3, 3)


def test_links_and_where_to_read_on() -> None:
    made = chunks("a", "# A\n\nText.")
    links = [{"url": url, "line": 3} for url in ("b.md", "#here", "https://x.io", "b.md")]
    steps = {"next_step": "go on", "see_also": "there"}
    made[0] = replace(made[0], metadata={**made[0].metadata, NAVIGATION: steps})
    made[1] = replace(made[1], metadata={**made[1].metadata, LINKS: links})
    related = [{"document_id": "b", "relation": "mention"}]
    first, second = index_rows(document("a"), made, related={made[1].id: related})
    assert entry_urls(made[1]) == second.fields["entry_urls"] == ["b.md", "https://x.io"]
    assert (first.fields["related_links"], second.fields["related_links"]) == ([], related)
    assert {row.fields["nav_next_step"] for row in (first, second)} == {"go on"}
    assert {row.fields["nav_see_also"] for row in (first, second)} == {"there"}


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("证书怎么轮换", "证书 轮换"),
        ("能不能在线扩容吗", "在线扩容"),
        ("怎么", "怎么"),
        ("What is a pump?", "pump"),
    ],
)
def test_words_that_only_ask_are_not_looked_for(question: str, left: str) -> None:
    assert sorted(question_terms(question)) == sorted(terms(left))


def test_feedback_lends_the_weightiest_terms() -> None:
    vectors = {"a": {1: 2.0, 5: 6.0}, "b": {1: 1.0, **dict.fromkeys(range(10, 60), 1.0)}}
    found = {pk: IndexRow(pk, {}, {"r": vector}) for pk, vector in vectors.items()}
    query = {1: 3.0, 9: 1.0}
    mixed = expand(query, [Found("a", 3.0), Found("b", 1.0), Found("gone", 9.0)], found, "r")
    assert sum(mixed.values()) == pytest.approx(sum(query.values()))
    assert mixed[9] == pytest.approx(OWN * 1.0)
    assert mixed[5] > mixed[10] > 0
    assert len(mixed) <= len(query) + TERMS
    assert expand(query, [], found, "r") == query
    assert expand({}, [Found("a", 1.0)], found, "r") == {}
