"""Whatever lies in a folder: each file gives text or a clear reason, and nothing else is harmed."""

import asyncio
import json
import threading
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pytest

from acceptance.cli.hostile_files import FORMATS, Sample, write_samples
from acceptance.cli.memory import MemoryWatch
from acceptance.cli.running import Kosmos
from kosmos.accounts.access import resolve_space
from kosmos.app import open_app
from kosmos.config import Settings
from kosmos.db import documents
from kosmos.domain.documents import DocumentStatus

MOST_MEMORY = 10**9


@dataclass(frozen=True)
class Outcome:
    """What `kosmos add` made of a folder: what it said, and what is there afterwards, by name."""

    samples: list[Sample]
    report: dict[str, Any]
    exit_code: int
    complaints: str
    peak: int
    texts: dict[str, str]
    errors: dict[str, str]

    def reasons(self, name: str) -> dict[str, str]:
        """Why files of a list are not there."""
        return {PurePath(item["path"]).name: item["reason"] for item in self.report[name]}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The folder, added by the command."""
    folder = tmp_path_factory.mktemp("hostile")
    samples = write_samples(folder / "files")
    process = Kosmos(folder / "home").start("add", folder / "files", "--json")
    memory = MemoryWatch(process.pid)
    watcher = threading.Thread(target=memory.run)
    watcher.start()
    out, complaints = process.communicate(timeout=300)
    memory.stop()
    watcher.join()
    texts, errors = asyncio.run(_stored(folder / "home"))
    return Outcome(samples, json.loads(out), process.returncode, complaints, memory.peak, texts, errors)


async def _stored(home: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the documents that can be found, and what is wrong with the others."""
    texts, errors = {}, {}
    async with open_app(Settings(home=home)) as app:
        async with app.bench.db.read() as conn:
            space = (await resolve_space(conn, await app.local_user(), "default")).space
            found = await documents.list_documents(conn, space.id, limit=1000)
        for item in found:
            if item.status is DocumentStatus.READY:
                texts[item.filename] = (await app.bench.blobs.read(item.canonical_sha256 or "")).decode()
            else:
                errors[item.filename] = item.error or ""
    return texts, errors


def test_the_set_covers_every_format(outcome: Outcome) -> None:
    assert len(outcome.samples) >= 40
    good = {PurePath(sample.name).suffix[1:] for sample in outcome.samples if not sample.reason}
    assert good >= set(FORMATS)


def test_every_file_is_told_once_and_the_command_says_that_some_failed(outcome: Outcome) -> None:
    assert (outcome.exit_code, outcome.complaints) == (1, "")
    assert (outcome.report["updated"], outcome.report["unchanged"]) == ([], [])
    added = [PurePath(source).name for source in outcome.report["added"]]
    told = added + list(outcome.reasons("skipped")) + list(outcome.reasons("failed"))
    assert sorted(told) == sorted(sample.name for sample in outcome.samples)
    assert sorted(added) == sorted(outcome.texts)


def test_what_is_sound_gives_text(outcome: Outcome) -> None:
    for sample in outcome.samples:
        if not sample.reason:
            assert sample.words in outcome.texts[sample.name], sample.name


def test_what_is_not_gives_a_reason(outcome: Outcome) -> None:
    failed, skipped = outcome.reasons("failed"), outcome.reasons("skipped")
    for sample in outcome.samples:
        if sample.reason:
            reason = {**failed, **skipped}[sample.name]
            assert reason.startswith(sample.name), reason  # it is about the file, not about our troubles
            assert sample.reason in reason
    assert outcome.errors == failed


def test_memory_stays_below_a_gigabyte(outcome: Outcome) -> None:
    assert 0 < outcome.peak < MOST_MEMORY, f"{outcome.peak / 1e6:.0f} MB"
