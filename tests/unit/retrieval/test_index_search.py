"""Index rows of real chunks, and finding the right one again."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kosmos.chunking.structure import chunk_by_structure
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.doubles.clock import START
from kosmos.errors import InvalidInput
from kosmos.ingest.blocks import parse_blocks
from kosmos.retrieval.evidence import Ranked
from kosmos.retrieval.gathering import Shelf
from kosmos.retrieval.indexing import TEXT_ROUTE, TITLE_ROUTE, collection_of, index_rows
from kosmos.retrieval.search import MAX_K, MAX_QUERY, Wanted, check_query, search_shelves
from kosmos.retrieval.terms import term_id, terms
from kosmos.retrieval.tuning import Tuning
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow

GUIDE = """---
secret: xylophone
---
# Guide

Opening words.

## Backups <!-- zeppelin -->

Backups run every night at 03:00 and are kept for thirty days.

<!-- quetzal: an old translation -->

## 安装

运行安装脚本之前，请先停止数据库服务。

## Limits

The largest file that can be uploaded is 100 megabytes.

### Exceptions

向量索引的维度上限是四千零九十六。
"""


def _document(name: str, generation: int = 1) -> Document:
    return Document(
        id=name,
        space_id="s",
        origin=name,
        source=f"{name}.md",
        filename=f"{name}.md",
        filetype="md",
        size=1,
        source_url=None,
        title=name.title(),
        original_sha256="0" * 64,
        canonical_sha256="0" * 64,
        line_count=1,
        status=DocumentStatus.READY,
        error=None,
        version=generation,
        live_generation=generation,
        draft_generation=None,
        metadata={},
        created_at=START,
        updated_at=START,
    )


def _chunks(name: str, text: str) -> list[Chunk]:
    return [
        Chunk(
            id=f"{name}-{position:05}",
            space_id="s",
            document_id=name,
            generation=3,
            parent_id=None if draft.parent is None else f"{name}-{draft.parent:05}",
            type=draft.type,
            level=draft.level,
            start_line=draft.start_line,
            end_line=draft.end_line,
            raw_content=draft.raw_content,
            summary=draft.summary,
            redaction=None,
            token_count=draft.token_count,
            position=position,
            from_split=False,
            merged=False,
            metadata=draft.metadata,
        )
        for position, draft in enumerate(chunk_by_structure(text, parse_blocks(text)))
    ]


def _rows(name: str, text: str) -> list[IndexRow]:
    return index_rows(_document(name, 3), _chunks(name, text))


@pytest.fixture
async def store(tmp_path: Path) -> LocalStore:
    store = LocalStore(tmp_path)
    await store.upsert("guide", _rows("guide", GUIDE.rstrip("\n")))
    await store.upsert(
        "other", _rows("other", "# Whales\n\nWhales sing at night.\n\n# 鲸\n\n鲸鱼是哺乳动物。")
    )
    return store


async def _search(store: LocalStore, collections: Sequence[str], question: str, k: int) -> list[Ranked]:
    shelves = [Shelf(name) for name in collections]
    return (await search_shelves(store, shelves, Wanted(question, k), tuning=Tuning())).ranked


async def _best(store: LocalStore, question: str, *collections: str) -> list[str]:
    found = await _search(store, collections or ["guide", "other"], question, 5)
    texts = {row.pk: str(row.fields["text"]) for name in ("guide", "other") for row in await store.scan(name)}
    return [texts[item.chunk_id] for item in found]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long are backups kept?", "thirty days"),
        ("backup", "thirty days"),
        ("Which file size may I upload?", "100 megabytes"),
        ("安装之前要做什么", "停止数据库服务"),
        ("数据库", "停止数据库服务"),
        ("向量的维度上限是多少？", "四千零九十六"),
        ("鲸鱼是什么动物", "哺乳动物"),
        ("ＷＨＡＬＥＳ singing", "sing at night"),
        ("exceptions to the limits", "四千零九十六"),
    ],
)
async def test_the_right_chunk_comes_first(store: LocalStore, question: str, answer: str) -> None:
    assert answer in (await _best(store, question))[0]


@pytest.mark.parametrize(
    "question", ["xylophone", "secret", "zeppelin", "quetzal", "translation", "the of", "😀"]
)
async def test_front_matter_comments_and_stop_words_find_nothing(store: LocalStore, question: str) -> None:
    assert await _best(store, question) == []


async def test_headings_are_not_hits_but_count_for_what_is_below(store: LocalStore) -> None:
    found = await _best(store, "Backups", "guide")
    assert found
    assert all(not text.startswith("#") for text in found)
    assert (await _best(store, "whales", "other"))[0].startswith("Whales sing")


async def test_ranks_go_over_all_collections(store: LocalStore) -> None:
    found = await _search(store, ["guide", "other"], "night", 5)
    assert {item.chunk_id.split("-")[0] for item in found} == {"guide", "other"}
    assert [item.routes[TEXT_ROUTE].rank for item in found] == [1, 2]
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert await _search(store, [], "night", 5) == []


async def test_equal_scores_over_collections_come_by_id(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for name in ("b", "a", "c"):
        await store.upsert(name, _rows(name, "same words here"))
    await store.upsert("b", _rows("aa", "same words here"))
    found = await _search(store, ["c", "b", "a"], "same", 9)
    # A word is as common as it is in all collections together, so that all of them tie.
    assert [item.chunk_id for item in found] == ["a-00000", "aa-00000", "b-00000", "c-00000"]


@pytest.mark.parametrize(("query", "k"), [("x" * 2**20, 5), ("x" * (MAX_QUERY + 1), 5), ("x", 0), ("x", -1)])
async def test_limits(store: LocalStore, query: str, k: int) -> None:
    for attempt in (lambda: check_query(query, k), lambda: asyncio.ensure_future(_ask(store, query, k))):
        with pytest.raises(InvalidInput) as caught:
            if (task := attempt()) is not None:
                await task
        assert caught.value.remedy


async def _ask(store: LocalStore, query: str, k: int) -> None:
    await _search(store, ["guide"], query, k)


async def test_the_largest_search_allowed(store: LocalStore) -> None:
    with pytest.raises(InvalidInput):
        check_query("x", 100_000)
    words = " ".join(f"backups{number}" for number in range(5000))[: MAX_QUERY - 8] + " backups"
    assert len(words) == MAX_QUERY
    assert len(await _search(store, ["guide"], words, MAX_K)) >= 1


def test_rows_say_where_a_chunk_stands() -> None:
    rows = {row.pk: row.fields for row in _rows("guide", GUIDE)}
    by_text = {str(fields["text"]).split("\n")[0]: fields for fields in rows.values()}
    limits, exceptions, largest = (
        by_text["## Limits"],
        by_text["### Exceptions"],
        by_text["The largest file that can be uploaded is 100 megabytes."],
    )
    assert (largest["title"], limits["title"], exceptions["title"]) == ("Limits", "Limits", "Exceptions")
    assert [rows[str(pk)] for pk in limits["child_ids"]] == [largest, exceptions]
    assert rows[str(exceptions["left_sibling"])] == largest
    assert rows[str(largest["right_sibling"])] == exceptions
    assert largest["left_sibling"] == exceptions["right_sibling"] == ""
    assert (largest["document_id"], largest["generation"], largest["node_type"]) == ("guide", 3, "content")
    assert rows[str(largest["parent_id"])] == limits
    assert largest["source"] == "guide.md"


def test_vectors_hold_the_words_of_the_headings_above() -> None:
    rows = {str(row.fields["text"]).split("\n")[0]: row for row in _rows("guide", GUIDE)}
    deepest = rows["向量索引的维度上限是四千零九十六。"].sparse
    for word in ("exceptions", "limits", "guide", "维度"):
        assert {term_id(term) for term in terms(word)} <= set(deepest[TEXT_ROUTE])
    assert set(deepest[TITLE_ROUTE]) == {term_id(term) for term in terms("Exceptions")}
    assert set(rows["Opening words."].sparse[TITLE_ROUTE]) == {term_id(term) for term in terms("Guide")}
    assert rows["---"].sparse == {}


class Counted(str):
    """An id that counts how often it is compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_a_flat_document_of_many_headings_takes_no_quadratic_time() -> None:
    chunks = _chunks("flat", "\n".join(f"# {number}" for number in range(1000)))
    rows = index_rows(_document("flat"), [replace(chunk, id=Counted(chunk.id)) for chunk in chunks])
    assert Counted.comparisons < 20_000
    assert [row.fields["right_sibling"] for row in rows[:-1]] == [row.pk for row in rows[1:]]


def test_collections_have_names_that_stores_accept() -> None:
    name = collection_of("0198c0de-0000-7000-8000-0123456789ab")
    assert name == "space_0198c0de0000700080000123456789ab"
