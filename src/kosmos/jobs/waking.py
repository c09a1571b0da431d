"""Telling workers that there is something to do, so that they need not wait for their next look."""

import logging
from collections.abc import Callable, Sequence

from kosmos.bells import Bell, topics

log = logging.getLogger(__name__)
Wake = Callable[[Sequence[str]], None]


def tell_of(bell: Bell, job_id: str) -> None:
    """Let those look who follow this job, or all jobs."""
    bell.ring(topics.job(job_id), topics.JOBS)


class Waker:
    """Passes the ids of jobs that are due on to whoever listens. Nothing depends on it: workers also poll."""

    def __init__(self) -> None:
        self._listeners: list[Wake] = []

    def add(self, listener: Wake) -> None:
        """Tell this one too."""
        self._listeners.append(listener)

    def wake(self, job_ids: Sequence[str]) -> None:
        """Tell everybody. One that fails must not harm whoever has just made a job."""
        for listener in self._listeners:
            try:
                listener(job_ids)
            except Exception:
                log.exception("a worker could not be told of new jobs; it will find them")
