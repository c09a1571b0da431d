"""Which blobs are known, and which of them are still needed: the count of references is the count of rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.brief import hot
from kosmos.db.tables import asset, blob, document, document_version

REFERENCES = (
    document.c.original_sha256,
    document.c.canonical_sha256,
    document_version.c.original_sha256,
    document_version.c.canonical_sha256,
    document_version.c.extract_sha256,
    asset.c.sha256,
)


def _hold(insert: Any) -> Any:
    made = insert(blob)
    return hot(made.on_conflict_do_update(index_elements=["sha256"], set_={"size": made.excluded.size}))


_HOLD = {"postgresql": _hold(postgresql.insert), "sqlite": _hold(sqlite.insert)}


async def hold(conn: AsyncConnection, sha256: str, size: int, now: datetime) -> None:
    """Make the blob known and lock its row, so that it cannot be collected before this transaction ends."""
    values = {"sha256": sha256, "size": size, "created_at": now}
    await conn.execute(_HOLD[conn.dialect.name], values)


async def release(conn: AsyncConnection, sha256: str, now: datetime) -> bool:
    """Forget the blob if nothing refers to it; True means that the bytes may go, before this commits.

    An unknown blob is made known first: whoever is about to hold the same bytes has to wait for us.
    """
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    known = insert(blob).values(sha256=sha256, size=0, created_at=now)
    await conn.execute(known.on_conflict_do_nothing())
    needed = sa.or_(*(sa.exists().where(column == sha256) for column in REFERENCES))
    gone = await conn.execute(blob.delete().where(blob.c.sha256 == sha256, ~needed))
    return gone.rowcount == 1


async def unreferenced(conn: AsyncConnection, among: Sequence[str]) -> list[str]:
    """Those of the given hashes that nothing refers to."""
    needed: set[str] = set()
    for start in range(0, len(among), 500):
        part = among[start : start + 500]
        for column in REFERENCES:
            rows = await conn.execute(sa.select(column).where(column.in_(part)))
            needed.update(row[0] for row in rows)
    return [sha256 for sha256 in among if sha256 not in needed]


async def unneeded(conn: AsyncConnection) -> list[str]:
    """The known blobs that nothing refers to; a crash may have left their rows without bytes."""
    needed = sa.or_(*(sa.exists().where(column == blob.c.sha256) for column in REFERENCES))
    return list((await conn.execute(sa.select(blob.c.sha256).where(~needed))).scalars())
