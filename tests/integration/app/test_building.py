"""`build_knowledge_base`: the whole pipeline behind one call, with the parameters it is known by."""

import asyncio
import inspect
from pathlib import Path

import pytest

import kosmos
from kosmos.app import open_app
from kosmos.building import KnowledgeBase, build_knowledge_base
from kosmos.config import load_settings
from kosmos.errors import InvalidInput
from kosmos.retrieval.search import Wanted
from kosmos.tasks.asking import find

DEFAULTS = {
    "embedding_model_path": "../models/Qwen/Qwen3-Embedding-0.6B",
    "sparse_model_path": "BAAI/bge-m3",
    "markdown_folder_path": "../raw_data",
    "collection_name": "knowledge_base_v2",
    "max_tokens_per_batch": 2048,
    "min_chunk_size": 256,
    "core_chunk_size": 512,
    "max_chunk_size": 2048,
    "milvus_host": None,
    "milvus_port": None,
    "milvus_user": None,
    "milvus_password": None,
    "index_type": "FLAT",
    "metric_type": "COSINE",
}


@pytest.fixture
def raw_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Markdown, and a home beside it."""
    monkeypatch.setenv("KOSMOS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MILVUS_HOST", raising=False)
    folder = tmp_path / "raw_data"
    (folder / "sub").mkdir(parents=True)
    (folder / "pump.md").write_text("# Pump\n\n" + "Oil the pump every 40 days. " * 60)
    (folder / "sub" / "证书.md").write_text("# 证书\n\n叶子证书每九十天轮换一次。\n")
    (folder / "notes.txt").write_text("not Markdown")
    return folder


def test_the_parameters_are_those_of_the_seed() -> None:
    parameters = inspect.signature(kosmos.build_knowledge_base).parameters
    assert {name: item.default for name, item in parameters.items()} == DEFAULTS
    assert kosmos.KnowledgeBase is KnowledgeBase
    with pytest.raises(AttributeError):
        _ = kosmos.build_nothing


def test_a_folder_becomes_a_searchable_space(raw_data: Path) -> None:
    built = build_knowledge_base(markdown_folder_path=raw_data, collection_name="Handbuch 手册")
    assert (built.documents, built.failed) == (2, ())
    assert built.chunks >= 4
    assert any("Qwen3-Embedding" in note for note in built.notes)

    async def search() -> list[str]:
        async with open_app(load_settings()) as app:
            who = await app.local_user()
            found = await find(app.bench, who, Wanted("证书多久轮换"), space_ids=[built.space_id])
            return [hit.text for hit in found.hits]

    assert "九十天" in asyncio.run(search())[0]
    smaller = build_knowledge_base(
        markdown_folder_path=raw_data,
        collection_name="small",
        min_chunk_size=20,
        core_chunk_size=40,
        max_chunk_size=80,
    )
    assert smaller.chunks > built.chunks
    again = build_knowledge_base(markdown_folder_path=raw_data, collection_name="small", min_chunk_size=20)
    assert (again.space_id, again.documents) == (smaller.space_id, 2)


async def test_it_works_where_a_loop_is_running(raw_data: Path) -> None:
    assert build_knowledge_base(markdown_folder_path=raw_data).documents == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"markdown_folder_path": "/no/such/folder"}, "no folder"),
        ({"metric_type": "L2"}, "metric_type"),
        ({"index_type": "IVF"}, "index_type"),
        ({"max_tokens_per_batch": 0}, "max_tokens_per_batch"),
        ({"min_chunk_size": 900, "core_chunk_size": 100}, "do not rise"),
    ],
)
def test_what_cannot_be_built(raw_data: Path, wrong: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        build_knowledge_base(**{"markdown_folder_path": raw_data, **wrong})  # type: ignore[arg-type]
    assert caught.value.remedy
