"""`build_knowledge_base`: a folder of Markdown becomes a searchable space, with one call."""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kosmos.accounts.access import resolve_space
from kosmos.accounts.spaces import change_space, create_space
from kosmos.app import App, open_app
from kosmos.chunking.packing import ChunkSizes
from kosmos.config import Settings, load_settings
from kosmos.db import chunks
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.spaces import Space
from kosmos.errors import ConfigError, InvalidInput, NotFound
from kosmos.retrieval.indexing import collection_of
from kosmos.retrieval.routes import TEXT_DENSE
from kosmos.tasks.documents import list_documents
from kosmos.tasks.folders import Choice, add_paths
from kosmos.tasks.following import follow_encoding
from kosmos.workers import working_beside

MILVUS_PORT = 19530
_MARKDOWN = Choice(include=("*.md", "*.markdown", "*.mdx"))


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """What was built. `notes` say which parameters could not be followed, and what was done instead."""

    space_id: str
    collection: str
    documents: int
    chunks: int
    vectors: int
    failed: tuple[str, ...]
    notes: tuple[str, ...]


def build_knowledge_base(  # noqa: PLR0913 - the parameters by which it is known
    embedding_model_path: str | Path = "../models/Qwen/Qwen3-Embedding-0.6B",
    sparse_model_path: str | Path = "BAAI/bge-m3",
    markdown_folder_path: str | Path = "../raw_data",
    collection_name: str = "knowledge_base_v2",
    max_tokens_per_batch: int = 2048,
    *,
    min_chunk_size: int = 256,
    core_chunk_size: int = 512,
    max_chunk_size: int = 2048,
    milvus_host: str | None = None,
    milvus_port: int | str | None = None,
    milvus_user: str | None = None,
    milvus_password: str | None = None,
    index_type: str = "FLAT",
    metric_type: str = "COSINE",
) -> KnowledgeBase:
    """Add the Markdown of a folder to a space, wait until it is indexed, and fill its vectors.

    Texts are encoded one by one, whatever `max_tokens_per_batch` would allow. A model path that is no
    folder leaves the configured encoder and our own sparse weights in use. Without
    a Milvus host, here or in MILVUS_HOST, the index lies where it is configured.
    """
    folder = Path(markdown_folder_path).expanduser()
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder.", remedy="Give the folder of the Markdown files.")
    sizes = ChunkSizes(min_chunk_size, core_chunk_size, max_chunk_size)
    _check(max_tokens_per_batch, index_type, metric_type)
    notes: list[str] = []
    given = _encoder(embedding_model_path, notes) | _index(
        milvus_host, milvus_port, user=milvus_user, password=milvus_password
    )
    if not Path(sparse_model_path).expanduser().is_dir():
        notes.append(f"{sparse_model_path} is no folder here: sparse weights are computed by BM25.")
    if index_type != "FLAT":
        notes.append(f"The index type is chosen by the store: {index_type} was not passed on.")
    plan = _Plan(folder, collection_name, sizes, tuple(notes))
    return _run(_build(load_settings(**_known(given)), plan))


@dataclass(frozen=True, slots=True)
class _Plan:
    folder: Path
    name: str
    sizes: ChunkSizes
    notes: tuple[str, ...]


async def _build(settings: Settings, plan: _Plan) -> KnowledgeBase:
    async with open_app(settings) as app:
        who = await app.local_user()
        space = await _space(app, who, plan)
        async with working_beside(app, at_least=2):
            report = await add_paths(
                app.bench, who, space.id, [plan.folder], choice=_MARKDOWN, on_step=lambda *_: None
            )
            await follow_encoding(app.bench, space.id, seconds=None, on_step=lambda *_: None)
        vectors = (await app.bench.store.stats(collection_of(space.id))).filled.get(TEXT_DENSE, 0)
        documents, count = await _count(app, who, space.id)
    notes = plan.notes if app.bench.encoder else (*plan.notes, "No encoder: the dense routes stay empty.")
    failed = tuple(f"{item.path}: {item.reason}" for item in report.failed)
    return KnowledgeBase(space.id, collection_of(space.id), documents, count, vectors, failed, notes)


async def _space(app: App, who: Principal, plan: _Plan) -> Space:
    """The space of that name, made where there is none, with the sizes of chunks in its settings."""
    sizes = {"sizes": [plan.sizes.min_tokens, plan.sizes.core_tokens, plan.sizes.max_tokens]}
    async with app.bench.db.write() as conn:
        try:
            space = (await resolve_space(conn, who, plan.name, need=Role.OWNER)).space
        except NotFound:
            space = (await create_space(conn, who, name=plan.name, now=app.bench.clock())).space
        chunking = {**space.settings.get("chunking", {}), **sizes}
        changes = {"settings": {**space.settings, "chunking": chunking}}
        return (await change_space(conn, who, space.id, changes=changes, now=app.bench.clock())).space


async def _count(app: App, who: Principal, space_id: str) -> tuple[int, int]:
    documents = total = 0
    after = ""
    while batch := await list_documents(app.bench, who, space_id, after=after, limit=1000):
        async with app.bench.db.read() as conn:
            total += sum([await chunks.count_live_chunks(conn, document.id) for document in batch])
        documents += len(batch)
        after = batch[-1].id
    return documents, total


def _check(tokens: int, index_type: str, metric_type: str) -> None:
    if tokens < 1:
        raise InvalidInput("max_tokens_per_batch must be at least 1.", remedy="2048 is usual.")
    for name, value, allowed in (
        ("index_type", index_type, ("FLAT", "HNSW")),
        ("metric_type", metric_type, ("COSINE", "IP")),
    ):
        if value not in allowed:
            raise InvalidInput(f"{name} {value!r} is not known.", remedy=f"Use {' or '.join(allowed)}.")


def _encoder(path: str | Path, notes: list[str]) -> dict[str, Any]:
    folder = Path(path).expanduser()
    if folder.is_dir():
        return {"encoder": str(folder.absolute())}
    notes.append(f"{path} is no folder here: the configured encoder is used.")
    return {}


def _index(
    host: str | None, port: int | str | None, *, user: str | None, password: str | None
) -> dict[str, Any]:
    """The address of Milvus, from the parameters or from the environment of the same names."""
    environment = os.environ
    host = host or environment.get("MILVUS_HOST")
    if not host:
        return {}
    port = port or environment.get("MILVUS_PORT") or MILVUS_PORT
    user = user or environment.get("MILVUS_USER") or ""
    password = password or environment.get("MILVUS_ROOT_PASSWORD") or environment.get("MILVUS_PASSWORD") or ""
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    return {"index_url": f"milvus://{login}{host}:{port}"}


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that this version has; one that it lacks must not be passed over in silence."""
    for name in given:
        if name not in Settings.model_fields:
            raise ConfigError(f"This version has no setting {name!r}.", remedy="Leave that parameter out.")
    return dict(given)


def _run(work: Coroutine[Any, Any, KnowledgeBase]) -> KnowledgeBase:
    """To its end, also where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
