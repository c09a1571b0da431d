"""Queries on crawls and their pages. A page is stored as it is; the columns beside it are for choosing."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db.tables import crawl, crawl_page

JsonPage = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Crawl:
    """A site that a space follows."""

    id: str
    space_id: str
    start: str
    plan: Mapping[str, Any]
    round: int
    created_at: datetime
    updated_at: datetime


def url_key(url: str) -> str:
    """What a page is found by."""
    return hashlib.sha256(url.encode()).hexdigest()


async def insert_crawl(conn: AsyncConnection, value: Crawl) -> None:
    """Store a new crawl."""
    values = {column.name: getattr(value, column.name) for column in crawl.c}
    await conn.execute(crawl.insert(), values | {"plan": dict(value.plan)})


async def get_crawl(conn: AsyncConnection, crawl_id: str) -> Crawl | None:
    """The crawl of that id."""
    row = (await conn.execute(sa.select(crawl).where(crawl.c.id == crawl_id))).first()
    return Crawl(**row._mapping) if row else None


async def find_crawl(conn: AsyncConnection, space_id: str, start: str) -> Crawl | None:
    """The crawl of a space that starts there."""
    query = sa.select(crawl).where(crawl.c.space_id == space_id, crawl.c.start == start)
    row = (await conn.execute(query.order_by(crawl.c.id))).first()
    return Crawl(**row._mapping) if row else None


async def list_crawls(conn: AsyncConnection, space_id: str) -> list[Crawl]:
    """The crawls of a space, oldest first."""
    rows = await conn.execute(sa.select(crawl).where(crawl.c.space_id == space_id).order_by(crawl.c.id))
    return [Crawl(**row._mapping) for row in rows]


async def update_crawl(
    conn: AsyncConnection, crawl_id: str, changes: Mapping[str, Any], now: datetime
) -> None:
    """Change columns of a crawl."""
    await conn.execute(crawl.update().where(crawl.c.id == crawl_id).values(**changes, updated_at=now))


async def known_pages(conn: AsyncConnection, crawl_id: str, urls: Sequence[str]) -> dict[str, JsonPage]:
    """Those of the pages that are known, by address."""
    found: dict[str, JsonPage] = {}
    keys = [url_key(url) for url in urls]
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        query = sa.select(crawl_page.c.page).where(
            crawl_page.c.crawl_id == crawl_id, crawl_page.c.url_sha256.in_(part)
        )
        found.update({page["url"]: page for (page,) in await conn.execute(query)})
    return found


async def put_pages(conn: AsyncConnection, crawl_id: str, pages: Sequence[JsonPage]) -> None:
    """Write pages, each in place of the one of the same address; new ones come after all others."""
    if not pages:
        return
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    count = await conn.scalar(
        sa.select(sa.func.coalesce(sa.func.max(crawl_page.c.number), 0)).where(
            crawl_page.c.crawl_id == crawl_id
        )
    )
    rows = [
        {
            "crawl_id": crawl_id,
            "url_sha256": url_key(page["url"]),
            "number": (count or 0) + position,
            "sitemap": page["kind"] == "sitemap",
            "pending": page["state"] == "pending",
            "depth": page["depth"],
            "due": page["due"],
            "page": dict(page),
        }
        for position, page in enumerate(pages, start=1)
    ]
    statement = insert(crawl_page)
    changed = {name: statement.excluded[name] for name in ("sitemap", "pending", "depth", "due", "page")}
    keys = ["crawl_id", "url_sha256"]
    await conn.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), rows)


async def due_pages(conn: AsyncConnection, crawl_id: str, most: int, now: float) -> list[JsonPage]:
    """Pending pages whose time has come: sitemaps first, then by depth, in the order they were entered."""
    columns = crawl_page.c
    query = (
        sa.select(columns.page)
        .where(columns.crawl_id == crawl_id, columns.pending, columns.due <= now)
        .order_by(columns.sitemap.desc(), columns.depth, columns.number)
        .limit(most)
    )
    return [page for (page,) in await conn.execute(query)]


async def next_due(conn: AsyncConnection, crawl_id: str) -> float | None:
    """When the earliest pending page is due."""
    query = sa.select(sa.func.min(crawl_page.c.due)).where(
        crawl_page.c.crawl_id == crawl_id, crawl_page.c.pending
    )
    moment: float | None = await conn.scalar(query)
    return moment


async def all_pages(conn: AsyncConnection, crawl_id: str) -> list[JsonPage]:
    """Every page of a crawl in the order they were entered."""
    query = sa.select(crawl_page.c.page).where(crawl_page.c.crawl_id == crawl_id)
    return [page for (page,) in await conn.execute(query.order_by(crawl_page.c.number))]


async def clear_pages(conn: AsyncConnection, crawl_id: str) -> None:
    """Forget all pages of a crawl."""
    await conn.execute(crawl_page.delete().where(crawl_page.c.crawl_id == crawl_id))
