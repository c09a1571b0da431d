"""Which rows make up a space that is given to somebody else.

Each table is in one of both lists: what belongs to the knowledge goes along; people, secrets, costs and work
in progress stay, since they mean nothing elsewhere.
"""

from typing import Any

import sqlalchemy as sa

from kosmos.db.tables import asset, chunk, chunk_asset, document, document_version, knowledge_space

CARRIED = (knowledge_space, document, document_version, chunk, asset, chunk_asset)
LEFT = {
    "blob": "made from the bytes that go along",
    "embedding": "shared by all spaces: vectors of strangers must not get there; they are made again",
    "space_encoder": "the encoder is chosen where the space is",
    "model_answer": "shared by all spaces",
    "user": "people stay",
    "api_token": "secrets stay",
    "credential": "secrets stay",
    "space_credential": "secrets stay",
    "space_member": "whoever imports a space owns it",
    "agent": "agents belong to people",
    "chat_session": "talks belong to people",
    "chat_message": "talks belong to people",
    "run": "talks belong to people",
    "event": "talks belong to people",
    "approval": "talks belong to people",
    "crawl": "work in progress",
    "crawl_page": "work in progress",
    "job": "work in progress",
    "job_dependency": "work in progress",
    "job_event": "work in progress",
    "ledger": "costs stay with those who paid",
    "summary_cache": "made again at need",
}


def rows_of(table: sa.Table, space_id: str) -> sa.ColumnElement[bool]:
    """Which rows of a carried table belong to the versions that readers of a space see."""
    shown = sa.and_(document.c.space_id == space_id, document.c.live_generation > 0)
    if table is knowledge_space:
        return table.c.id == space_id
    if table is document:
        return shown
    if table is chunk_asset:
        figures = sa.select(asset.c.id).where(rows_of(asset, space_id))
        return table.c.asset_id.in_(figures)
    mine = sa.and_(document.c.id == table.c.document_id, document.c.live_generation == table.c.generation)
    return sa.exists().where(mine, shown).correlate(table)


def blob_queries(space_id: str) -> list[sa.Select[Any]]:
    """The hashes of all bytes that those rows refer to."""
    columns = (
        document.c.original_sha256,
        document.c.canonical_sha256,
        document_version.c.original_sha256,
        document_version.c.canonical_sha256,
        document_version.c.extract_sha256,
        asset.c.sha256,
    )
    return [sa.select(column).where(rows_of(column.table, space_id)) for column in columns]
