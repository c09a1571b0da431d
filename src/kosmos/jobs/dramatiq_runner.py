"""Workers woken by Dramatiq over Redis. The message is a job id; the truth stays in the table.

Losing, repeating or delaying messages does no harm: a sweeper sends due jobs again, and a job that
cannot be taken is left alone. Hence no retries, no delays and no results in the broker.
"""

import asyncio
import logging
import threading
from collections.abc import Iterable
from concurrent.futures import CancelledError
from datetime import datetime

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import ShutdownNotifications
from redis.exceptions import RedisError

from kosmos.db import jobs as table
from kosmos.errors import EngineUnavailable
from kosmos.jobs.hosting import JobThread
from kosmos.jobs.worker import Worker

log = logging.getLogger(__name__)

QUEUE = "kosmos"
ACTOR = "run_job"
SWEEP_SECONDS = 2.0
SWEEP_LIMIT = 500
QUEUE_LIMIT = 1000  # so many wait to be delivered: more would wake nobody earlier
RESEND_SECONDS = 15
STOP_SECONDS = 10.0
_LONGEST_ID = 36


def make_broker(url: str) -> RedisBroker:
    """A broker without the middleware that would decide things the table decides."""
    return RedisBroker(  # type: ignore[no-untyped-call]
        url=url,
        middleware=[ShutdownNotifications()],
        heartbeat_timeout=15_000,
        maintenance_chance=100_000,
    )


def send(broker: RedisBroker, job_ids: Iterable[str]) -> None:
    """Wake a worker for each of the jobs."""
    for job_id in job_ids:
        broker.enqueue(
            dramatiq.Message(queue_name=QUEUE, actor_name=ACTOR, args=(job_id,), kwargs={}, options={})
        )


class Sweeper:
    """Sends the ids of due jobs. Redis notes what was sent, so that many sweepers do the work of one.

    A note is about a job and the moment since when it is due. It goes with everything else when Redis
    loses its memory, and it does not fit any more when a worker took the job and died.
    """

    def __init__(self, broker: RedisBroker, worker: Worker) -> None:
        self._broker = broker
        self._worker = worker

    async def sweep(self) -> int:
        """Send what is due now and was not sent a moment ago; how many ids were sent."""
        async with self._worker.db.read() as conn:
            due = await table.due_times(conn, self._worker.clock(), limit=SWEEP_LIMIT)
        return await asyncio.to_thread(self._send, due) if due else 0

    def _send(self, due: list[tuple[str, datetime]]) -> int:
        if self._broker.do_qsize(QUEUE) >= QUEUE_LIMIT:
            return 0
        with self._broker.client.pipeline(transaction=False) as notes:
            for job_id, since in due:
                notes.set(f"{QUEUE}:sent:{job_id}:{since.timestamp()}", 1, nx=True, ex=RESEND_SECONDS)
            new = notes.execute()
        fresh = [job_id for (job_id, _), is_new in zip(due, new, strict=True) if is_new]
        send(self._broker, fresh)
        return len(fresh)

    async def run(self) -> None:
        """Sweep for ever; a database or a Redis that is away is waited for."""
        while True:
            try:
                await self.sweep()
            except (EngineUnavailable, RedisError, dramatiq.errors.BrokerConnectionError, OSError) as error:
                log.warning("due jobs could not be sent to Redis; trying again: %s", error)
            await asyncio.sleep(SWEEP_SECONDS)


class DramatiqRunner:
    """A Dramatiq worker whose messages start jobs in a job thread that does not poll, and a sweeper."""

    def __init__(self, url: str, thread: JobThread, *, threads: int = 4) -> None:
        self._broker = make_broker(url)
        self._thread = thread
        self._stop = threading.Event()
        dramatiq.Actor(
            self._run_job,
            broker=self._broker,
            actor_name=ACTOR,
            queue_name=QUEUE,
            priority=0,
            options={"max_retries": 0},
        )
        self._worker = dramatiq.Worker(self._broker, worker_threads=threads, worker_timeout=500)
        self._worker.queue_prefetch = 1  # what is fetched and not begun could run elsewhere
        self._sweeper = threading.Thread(target=self._sweep, name="sweeper", daemon=True)

    @property
    def broker(self) -> RedisBroker:
        """The broker, for sending."""
        return self._broker

    def start(self) -> None:
        """Take messages until stopped."""
        self._worker.start()
        self._sweeper.start()

    def stop(self) -> None:
        """Take no more messages, and stop the job thread, which gives back what runs."""
        self._stop.set()
        # Dramatiq waits for what runs, and what runs ends when the thread stops: both at once.
        wait = {"timeout": int(STOP_SECONDS * 1000)}
        closing = threading.Thread(target=self._worker.stop, kwargs=wait, daemon=True)
        closing.start()
        self._thread.stop()
        closing.join(2 * STOP_SECONDS)
        self._broker.close()

    def _run_job(self, job_id: object = None, *_more: object, **_options: object) -> None:
        if not isinstance(job_id, str) or len(job_id) > _LONGEST_ID:
            log.warning("a message that names no job was ignored")
            return
        try:
            self._thread.submit(lambda worker: work_on(worker, job_id)).result()
        except EngineUnavailable as error:
            log.warning("a job could not be taken; it will be sent again: %s", error)
        except (CancelledError, RuntimeError):  # the thread stops or starts anew: the job stays due
            log.info("a message came while no jobs are taken")

    def _sweep(self) -> None:
        while not self._stop.is_set():
            try:
                self._thread.submit(lambda worker: Sweeper(self._broker, worker).run()).result()
            except Exception as error:
                if not self._stop.is_set():
                    log.warning("the sweeper starts again", exc_info=error)
            self._stop.wait(SWEEP_SECONDS)


async def work_on(worker: Worker, job_id: str) -> None:
    """Run the job, then whatever else is due: a job that had no room when its message came gets its turn."""
    taken = await worker.run_one(job_id)
    while taken:
        taken = await worker.run_one()
