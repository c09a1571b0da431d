"""Whole instances to keep and to move: a home with documents, people, talks and secrets."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from kosmos.app import App, open_app
from kosmos.archive.tables import Content, all_tables, measure, write_rows
from kosmos.config import Settings, load_settings
from kosmos.db.tables import embedding, space_encoder
from kosmos.domain.ids import new_id
from kosmos.encoders.cached import text_hash
from kosmos.jobs.worker import Worker
from kosmos.retrieval.indexing import collection_of
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.filling import fill_rows, read_passages
from kosmos.tasks.job_types import make_registry

TEXTS = {
    "泵.md": "# 泵\n\n蓝色的泵每四十天上油一次，请拨打 13812345678。\n\n## 证书\n\n证书每九十天轮换一次。\n",
    "battery.md": "# Battery\n\nThe battery lasts two years.\n\n" + "A line of filler text.\n\n" * 40,
    "third.txt": "Nothing of note.\n",
}


def settings_of(home: Path, **environ: str) -> Settings:
    """The settings of a home, without an encoder: vectors are made by `give_vectors`."""
    return load_settings({"KOSMOS_HOME": str(home), "KOSMOS_ENCODER": "none", **environ})


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """An instance, open."""
    async with open_app(settings) as app:
        yield app


async def default_space(app: App) -> str:
    """The space of the first owner."""
    from kosmos.accounts.spaces import list_spaces

    async with app.bench.db.read() as conn:
        return (await list_spaces(conn, await app.local_user()))[0].space.id


async def add(app: App, texts: Mapping[str, str], space_id: str | None = None) -> None:
    """Add documents and do all the work."""
    who, space = await app.local_user(), space_id or await default_space(app)
    for name, text in texts.items():
        await add_document(app.bench, who, space, Source(f"file:///x/{name}", name, text.encode()))
    worker = Worker(app.bench.db, make_registry(app.bench), name="test", clock=app.bench.clock)
    async with worker.keeping():
        while await worker.run_one():
            pass


async def give_vectors(app: App, space_id: str) -> None:
    """Vectors of an encoder that is not here any more: in the table, and in the index."""
    from kosmos.db import documents

    rng = np.random.default_rng(7)
    now = app.bench.clock()
    async with app.bench.db.read() as conn:
        found = await documents.list_documents(conn, space_id)
    async with app.bench.db.write() as conn:
        await write_rows(
            conn,
            space_encoder,
            [{"space_id": space_id, "name": "gone", "setting": "gone", "updated_at": now}],
        )
    for document in found:
        wanted = await read_passages(app.bench, document)
        known: dict[str, bytes] = {}
        for text in {text for texts in wanted.values() for text in texts.values()}:
            vector = rng.standard_normal(8).astype(np.float32)
            known[text_hash(text)] = (vector / np.linalg.norm(vector)).astype("<f4").tobytes()
        rows = [
            {"encoder": "gone", "text_sha256": sha256, "vector": raw, "created_at": now}
            for sha256, raw in known.items()
        ]
        async with app.bench.db.write() as conn:
            await write_rows(conn, embedding, rows)
        vectors = {
            pk: {route: np.frombuffer(known[text_hash(text)], "<f4") for route, text in texts.items()}
            for pk, texts in wanted.items()
        }
        await fill_rows(app.bench.store, space_id, vectors)


async def cited_lines(app: App) -> dict[str, Any]:
    """A citation as answers store it, of lines that are there."""
    from kosmos.db import documents

    async with app.bench.db.read() as conn:
        (document, *_) = await documents.find_by_source(conn, await default_space(app), "battery.md")
    place = {"document_id": document.id, "source": document.source, "start_line": 3, "end_line": 4}
    return {"marker": "1", **place, "quote": "The battery lasts two years.", "version": document.version}


async def talk(app: App) -> None:
    """A session with a question, its answer and what was cited; a credential; a waiting approval."""
    who, now = await app.local_user(), app.bench.clock()
    session, run = new_id(), new_id()
    moments = {"created_at": now, "updated_at": now}
    tokens = {"prompt_tokens": 1, "cached_tokens": 0, "output_tokens": 2}
    lost = {"document_id": new_id(), "start_line": 3, "end_line": 4, "score": 0.1 + 0.2}
    cited = {"citations": [await cited_lines(app), lost]}
    message = {"session_id": session, "run_id": run, "metadata": cited, "token_count": 3, "compressed": False}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("chat_session", {"id": session, "owner_id": who.user.id, "title": "谈话", "origin": "chat",
                          "metadata": {}, "total_token_count": 2**40, "message_count": 1, **moments}),
        ("run", {"id": run, "session_id": session, "status": "WAITING", "worker": "w",
                 "stop_requested": False, **tokens, "cost": 0.1, "seen_at": now, "created_at": now}),
        ("chat_message", {"id": new_id(), "position": 0, "role": "assistant", "type": "ASSISTANT",
                          "content": "每四十天 [1]", **message, **moments}),
        ("event", {"run_id": run, "sequence": 1, "session_id": session, "type": "delta",
                   "payload": {"text": "é 漢 😀", "big": 1e22, "small": 1e-7, "none": None},
                   "created_at": now}),
        ("event", {"run_id": run, "sequence": 2, "session_id": session, "type": "final_answer",
                   "payload": {"answer": "两年 [1]", **cited}, "created_at": now}),
        ("approval", {"id": new_id(), "run_id": run, "session_id": session, "owner_id": who.user.id,
                      "status": "PENDING", "digest": "a" * 64, "request": {"command": "ls"}, "reason": "",
                      "created_at": now, "expires_at": now + timedelta(days=1)}),
        ("credential", {"id": new_id(), "owner_id": who.user.id, "name": "模型", "type": "LLM",
                        "base_url": "http://x", "model": "m", "options": {}, "is_default": True,
                        "encrypted_key": app.box.seal("sk-secret"),
                        "key_id": app.box.key_id, **moments}),
        ("agent", {"id": new_id(), "owner_id": who.user.id, "name": "a", "name_key": "a", "description": "",
                   "system_prompt": "", "allowed_tools": None, "chat_options": {}, "workflow": "loop",
                   "step_limit": 3, "language": "zh", **moments}),
    ]  # fmt: skip
    by_name = {table.name: table for table in all_tables()}
    async with app.bench.db.write() as conn:
        for name, row in rows:
            await write_rows(conn, by_name[name], [row])


@asynccontextmanager
async def filled(settings: Settings) -> AsyncIterator[App]:
    """An instance with a bit of everything."""
    async with opened(settings) as app:
        await add(app, TEXTS)
        await give_vectors(app, await default_space(app))
        await talk(app)
        yield app


async def contents(app: App) -> dict[str, Content]:
    """What is in all tables."""
    async with app.bench.db.read() as conn:
        return await measure(conn)


async def index_of(app: App, space_id: str) -> dict[str, Any]:
    """The index of a space in comparable form: texts and vectors by chunk, bit by bit."""
    rows = await app.bench.store.scan(collection_of(space_id))
    return {
        row.pk: (row.fields["text"], {route: vector.tobytes() for route, vector in row.dense.items()})
        for row in rows
    }
