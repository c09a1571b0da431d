"""One table of what may follow what, said twice: in the domain, and in the migration that enforces it."""

import importlib

import pytest

from kosmos.domain.jobs import TRANSITIONS, JobStatus
from kosmos.errors import InvalidInput
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run


async def _nothing(_run: Run) -> None:
    """Does nothing."""


def test_the_database_and_the_domain_agree() -> None:
    enforced = set(importlib.import_module("kosmos.db.migrations.versions.0003_jobs").LEGAL)
    assert enforced == {(old.value, new.value) for old, news in TRANSITIONS.items() for new in news}


def test_only_what_has_ended_has_ended() -> None:
    ended = {status for status in JobStatus if status.ended}
    assert ended == {JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED}
    assert TRANSITIONS[JobStatus.COMPLETED] == frozenset()
    assert all(new is JobStatus.PENDING for status in ended for new in TRANSITIONS[status])


def test_an_unknown_type_is_refused_with_those_that_there_are() -> None:
    registry = Registry(JobType("chunking", _nothing, limit=2), JobType("crawling", _nothing))
    with pytest.raises(InvalidInput, match="no job type 'baking'") as refusal:
        registry.get("baking")
    assert refusal.value.remedy == "Use one of: chunking, crawling."
    assert not registry.known("baking")
    assert registry.limits == {"chunking": 2}
