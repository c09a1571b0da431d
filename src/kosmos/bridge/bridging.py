"""The bridge itself: watches, keeps the board, and writes it into a space from time to time."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kosmos.bridge.records import STATE_TTL, Board
from kosmos.bridge.watching import Watch
from kosmos.db import documents as table
from kosmos.domain.accounts import Principal
from kosmos.domain.documents import Document
from kosmos.errors import KosmosError
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.documents import remove_document
from kosmos.tasks.workbench import Workbench

log = logging.getLogger(__name__)
FLUSH_SECONDS = 5.0
STALE_AFTER = timedelta(seconds=60)


@dataclass(slots=True)
class RuntimeBridge:
    """Writes one document a namespace, `cluster/NAME/namespace.md`: the dynamic part of a space."""

    bench: Workbench
    who: Principal
    space_id: str
    cluster: str
    watches: Sequence[Watch]
    board: Board = field(default_factory=Board)
    heard: datetime | None = None
    _written: dict[str, tuple[datetime, bool]] = field(default_factory=dict)

    async def run(self, *, every: float = FLUSH_SECONDS) -> None:
        """Go on until it is cancelled."""
        await self.sweep()
        tasks = [asyncio.create_task(self._listen(watch)) for watch in self.watches]
        try:
            while True:
                done, _ = await asyncio.wait(tasks, timeout=every, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    task.result()  # a refusal of the cluster ends the bridge
                await self.flush()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, watch: Watch) -> None:
        async for change, thing in watch.changes():
            now = self.bench.clock()
            self.heard = now
            self.board.observe(change, thing, now)

    def stale_since(self, now: datetime) -> datetime | None:
        """Since when nothing can be heard, once that has lasted a minute."""
        if all(watch.connected for watch in self.watches):
            self.heard = now
        heard = self.heard or now
        return heard if now - heard > STALE_AFTER else None

    async def flush(self) -> None:
        """Write what has changed, renew what would soon expire, remove what nothing is known of any more."""
        now = self.bench.clock()
        stale = self.stale_since(now)
        if stale is None:
            self.board.confirm(now)
        self.board.prune(now)
        dirty, self.board.dirty = self.board.dirty, set()
        known = {record.namespace for record in self.board.records.values()}
        for namespace in sorted(dirty | known | set(self._written)):
            if namespace in dirty or self._outdated(namespace, now, stale is not None):
                try:
                    await self._write(namespace, now, stale)
                except KosmosError as error:
                    self.board.dirty.add(namespace)
                    log.warning("a picture could not be written: %s", error.message)

    def _outdated(self, namespace: str, now: datetime, stale: bool) -> bool:
        at, was_stale = self._written.get(namespace, (now, stale))
        return was_stale != stale or (not stale and now - at > STATE_TTL / 2)

    async def _write(self, namespace: str, now: datetime, stale: datetime | None) -> None:
        text = self.board.render(namespace, self.cluster, now, stale_since=stale)
        name = f"{namespace or '_cluster'}.md"
        origin = f"cluster:///{self.cluster}/{name}"
        if not text:
            await self._remove(origin)
            self._written.pop(namespace, None)
            return
        source = Source(origin, f"cluster/{self.cluster}/{name}", text.encode())
        await add_document(self.bench, self.who, self.space_id, source)
        self._written[namespace] = (now, stale is not None)

    async def _remove(self, origin: str) -> None:
        for document in await self._mine():
            if document.origin == origin:
                await remove_document(self.bench, self.who, document.id)

    async def sweep(self) -> int:
        """Remove what an earlier bridge of this cluster left behind: nobody knows whether it still holds."""
        found = await self._mine()
        for document in found:
            await remove_document(self.bench, self.who, document.id)
        return len(found)

    async def _mine(self) -> list[Document]:
        found, after = list[Document](), ""
        async with self.bench.db.read() as conn:
            while page := await table.list_documents(conn, self.space_id, after=after, limit=500):
                found += [one for one in page if one.origin.startswith(f"cluster:///{self.cluster}/")]
                after = page[-1].id
        return found
