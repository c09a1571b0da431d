"""The hard site, served for each test."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kosmos.db import Database

from .crawl_scene import CrawlScene, open_scene
from .hard_site import PAGES, SECTIONS, Site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """The site, served for one test."""
    made = Site()
    listener = await asyncio.start_server(made.talk, "127.0.0.1", 0)
    made.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield made


@pytest.fixture
def documents() -> frozenset[str]:
    """The paths of every page whose content a crawl must keep, however it goes."""
    sections = {f"/docs/s{number}/" for number in range(SECTIONS)}
    leaves = {f"{section}p{number}/" for section in sections for number in range(PAGES)}
    single = {"private/open", "slow/0", "slow/1", "busy", "flaky", "manual.pdf", "nofollow", "packed", "gb"}
    single |= {"behind", "only-in-sitemap"}
    return frozenset(
        {"/docs/", "/docs/%E4%B8%AD%E6%96%87/", *(f"/docs/{name}" for name in single)} | sections | leaves
    )


@pytest.fixture
async def scene(db: Database, tmp_path: Path, site: Site) -> AsyncIterator[CrawlScene]:
    """An instance whose way out leads to the site, on each engine."""
    async with open_scene(db, tmp_path, site) as made:
        yield made
