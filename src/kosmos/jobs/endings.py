"""Recording how claims ended: whatever has ended meanwhile goes into one transaction."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.db import Database
from kosmos.db import jobs as table
from kosmos.db.jobs import Ending
from kosmos.domain.clock import Clock
from kosmos.domain.jobs import JobStatus, Spent
from kosmos.errors import EngineUnavailable

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
Then = Callable[[AsyncConnection], Awaitable[None]]


class Endings:
    """Collects endings and writes them together; each `record` returns when its own is written.

    When the database cannot be reached it tries again for as long as the leases may hold. After that
    the jobs are taken over by whoever comes, which is what leases are for.
    """

    def __init__(
        self, db: Database, clock: Clock, *, patience: float, freed: Callable[[], None] | None = None
    ) -> None:
        self._db = db
        self._tell_freed = freed  # called when something that waited for a job can be taken
        self._freed = False
        self._clock = clock
        self._patience = patience
        self._waiting: list[tuple[Ending, asyncio.Future[bool]]] = []
        self._then: dict[str, Then] = {}
        self._writer: asyncio.Task[None] | None = None

    async def record(self, ending: Ending, then: Then | None = None) -> bool:
        """Write how a claim ended; False when it was no longer held or could not be written.

        `then` writes what follows from the ending, in the same transaction.
        """
        if then is not None:
            self._then[ending.job_id] = then
        written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((ending, written))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return await written

    async def settled(self) -> None:
        """Return when nothing is left to write, or when it was given up."""
        while self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer])

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            held: set[str] = set()
            try:
                held = await self._surely([ending for ending, _ in batch])
            finally:
                for ending, written in batch:
                    self._then.pop(ending.job_id, None)
                    if not written.done():
                        written.set_result(ending.job_id in held)

    async def _surely(self, endings: Sequence[Ending]) -> set[str]:
        """Write them together, or one by one when something is wrong with one of them."""
        try:
            return await self._patiently(endings)
        except Exception:
            if len(endings) == 1:
                log.exception("how a job ended could not be recorded; its lease will run out")
                return set()
        return {job_id for ending in endings for job_id in await self._surely([ending])}

    async def _patiently(self, endings: Sequence[Ending]) -> set[str]:
        left = self._patience
        while True:
            try:
                async with self._db.brief() as conn:
                    held = await self._record(conn, endings)
                self._tell()
                return held
            except EngineUnavailable:
                if left <= 0:
                    log.exception("how jobs ended could not be recorded; their leases will run out")
                    return set()
            await asyncio.sleep(RETRY_SECONDS)
            left -= RETRY_SECONDS

    def _tell(self) -> None:
        freed, self._freed = self._freed, False
        if freed and self._tell_freed is not None:
            self._tell_freed()

    async def _record(self, conn: AsyncConnection, endings: Sequence[Ending]) -> set[str]:
        now = self._clock()
        plain = [item for item in endings if _is_plain(item)]
        held: set[str] = set()
        if plain:
            held |= await table.complete_claims(conn, [(item.job_id, item.epoch) for item in plain], now)
        for item in endings:
            if not _is_plain(item) and await table.end_claim(conn, item, now):
                held.add(item.job_id)
                if item.job_id in self._then:
                    await self._then[item.job_id](conn)
        ended = [item.job_id for item in endings if item.status.ended and item.job_id in held]
        if ended:
            self._freed |= await table.wake_dependants(conn, ended, now) > 0
        return held


def _is_plain(ending: Ending) -> bool:
    return ending.status is JobStatus.COMPLETED and ending.result is None and ending.spent == Spent()
