"""Summaries of papers that everybody who may read a paper shares; each is made by one at a time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kosmos.agents.literature.contract import Condensed, Make, Paper
from kosmos.domain.ids import new_id
from kosmos.errors import EngineUnavailable, KosmosError
from kosmos.tasks.run_hall import is_dead
from kosmos.tasks.summary_stores import LEASE, Kept, SummaryStore
from kosmos.telemetry.measures import count_lookups

log = logging.getLogger(__name__)
POLL_SECONDS = 0.2


def cache_key(document_id: str, content_hash: str) -> str:
    """Under which a summary is kept."""
    return f"doc_summary:{document_id}:{content_hash}"


@dataclass(frozen=True, slots=True)
class SharedSummaries:
    """The cache as one request sees it.

    `recipe` tells summaries of this version of the prompt from others. `private` are documents whose
    summaries this caller must not give to others: who may not change a document may not put words in its
    place either. `since` makes everything anew that is older.
    """

    store: SummaryStore
    worker: str
    recipe: str
    private: Mapping[str, str]  # suffixes of keys, by document
    since: datetime | None = None

    async def get_many(self, papers: Sequence[Paper]) -> Mapping[str, Condensed]:
        """Those that there are, by one look."""
        if self.since is not None:
            return {}
        keys = {key: paper.document_id for paper in papers for key in self._keys(paper)}
        kept = await self.store.get_many(list(keys))
        usable = {keys[key]: found for key in keys if (found := self._usable(kept, key)) is not None}
        count_lookups("summary", hits=len(usable), misses=len(papers) - len(usable))
        return usable

    async def take(self, paper: Paper, make: Make) -> tuple[Condensed, bool]:
        """The summary: one that is there, one that somebody is just making, or a new one."""
        holder = f"{self.worker}/{new_id()[-12:]}"
        key = self._keys(paper)[0]
        try:
            found = await self._wait(paper, key, holder)
        except EngineUnavailable:
            log.warning("the cache of summaries cannot be used", exc_info=True)
            return await make(), True
        if found is not None:
            return found, False
        try:
            async with self._holding(paper, key, holder):
                made = await make()
        except BaseException:
            await asyncio.shield(self._release(key, holder))
            raise
        with suppress(KosmosError):  # the summary is there, whether it can be kept or not
            await self.store.put(key, _plain(made, self.recipe), holder)
        return made, True

    def _keys(self, paper: Paper) -> list[str]:
        """Where to look: the caller's own, if there is such, then everybody's."""
        shared = cache_key(paper.document_id, paper.content_hash)
        suffix = self.private.get(paper.document_id)
        return [f"{shared}:{suffix}", shared] if suffix else [shared]

    async def _wait(self, paper: Paper, key: str, holder: str) -> Condensed | None:
        """A usable summary, or None once it is ours to make."""
        while True:
            claimed = await self.store.claim(key, paper.document_id, holder)
            kept = await self.store.get_many(self._keys(paper))
            found = next((one for name in kept if (one := self._usable(kept, name)) is not None), None)
            if claimed and found is not None:
                await self.store.release(key, holder)
            if claimed or found is not None:
                return found
            if not await self._dead(key):
                await asyncio.sleep(POLL_SECONDS)

    async def _dead(self, key: str) -> bool:
        """Whether whoever made it is gone; then it is free."""
        other = await self.store.holder(key)
        if other is None or not is_dead(other.split("/")[0], self.worker):
            return False
        await self.store.release(key, other)
        return True

    def _usable(self, kept: Kept, key: str) -> Condensed | None:
        if key not in kept:
            return None
        value, made_at = kept[key]
        old = self.since is not None and made_at <= self.since
        return None if old or value.get("recipe") != self.recipe else _condensed(value)

    @asynccontextmanager
    async def _holding(self, paper: Paper, key: str, holder: str) -> AsyncIterator[None]:
        """Renew the claim for as long as it takes."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(LEASE.total_seconds() / 3)
                with suppress(KosmosError):
                    await self.store.claim(key, paper.document_id, holder)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _release(self, key: str, holder: str) -> None:
        with suppress(KosmosError):
            await self.store.release(key, holder)


def _plain(summary: Condensed, recipe: str) -> dict[str, Any]:
    places = {str(number): list(place) for number, place in summary.places.items()}
    return {"text": summary.text, "places": places, "model": summary.model, "recipe": recipe}


def _condensed(value: Mapping[str, Any]) -> Condensed:
    places = {int(number): (int(place[0]), int(place[1])) for number, place in value["places"].items()}
    return Condensed(str(value["text"]), places, str(value.get("model", "")))
