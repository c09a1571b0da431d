"""A load run tells what is excused from what is not, and sees what is missing or there twice."""

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules of the load run."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    names = ("client", "ledger", "proof", "report", "texts")
    return SimpleNamespace(**{name: importlib.import_module(f"load_{name}") for name in names})


@pytest.mark.parametrize(
    ("server", "began", "status", "clean", "excused"),
    [
        (0, 10.0, 0, True, True),  # the connection to the server that was killed
        (1, 10.0, 0, True, False),  # the other one was there
        (0, 3.0, 0, True, False),  # before
        (0, 15.0, 0, True, True),  # a moment after its return
        (0, 19.0, 0, True, False),  # long after
        (1, 10.0, 503, True, True),  # what it leaves undone may be felt elsewhere
        (1, 10.0, 503, False, False),  # no problem body
        (0, 10.0, 500, True, False),  # never
        (0, 10.0, 502, True, False),
    ],
)
def test_what_a_killed_server_excuses(
    scripts: Any, server: int, began: float, status: int, clean: bool, excused: bool
) -> None:
    absence = scripts.client.Absence("api0", since=9.0, until=13.0)
    record = scripts.client.Record(absences=[absence])
    assert record.excused(scripts.client.Try("search", server, began, 0.5, status, clean)) is excused


def test_a_database_that_is_away_is_felt_everywhere(scripts: Any) -> None:
    record = scripts.client.Record(absences=[scripts.client.Absence("postgres", since=9.0, until=10.0)])
    for server in (0, 1):
        assert record.excused(scripts.client.Try("ask (broken)", server, 5.0, 4.5, 0))
        assert record.excused(scripts.client.Try("upload", server, 12.0, 0.1, 503))
        assert not record.excused(scripts.client.Try("upload", server, 14.0, 0.1, 503))


def row(**more: Any) -> Any:
    """A document as it is stored."""
    known = {"status": "READY", "draft_generation": None, "error": None, "version": 2}
    return SimpleNamespace(**{**known, "original_sha256": "b", **more})


@pytest.mark.parametrize(
    ("rows", "lost", "duplicated"),
    [
        ([row()], 0, 0),
        ([], 1, 0),
        ([row(), row()], 0, 1),
        ([row(status="FAILED", error="x")], 1, 0),
        ([row(draft_generation=3)], 1, 0),
        ([row(original_sha256="a")], 1, 0),
        ([row(version=1)], 1, 0),
        ([row(version=3)], 0, 1),
    ],
)
def test_a_document_is_held_against_what_was_confirmed(
    scripts: Any, rows: list[Any], lost: int, duplicated: int
) -> None:
    paper = scripts.ledger.Paper("space", "a.md", b"", "id", versions=["a", "b"])
    verdict = scripts.proof.Verdict()
    scripts.proof._judge_paper(paper, rows, verdict)
    assert (len(verdict.lost), len(verdict.duplicated)) == (lost, duplicated)


WHOLE = [(1, "run_start"), (2, "answer_chunk"), (3, "final_answer"), (4, "run_end")]


@pytest.mark.parametrize(
    ("heard", "stored", "status", "faults"),
    [
        (WHOLE, WHOLE, "COMPLETED", 0),
        (WHOLE[:-1], WHOLE, "COMPLETED", 1),
        (WHOLE, WHOLE, "INTERRUPTED", 1),
        ([*WHOLE[:2], *WHOLE[3:]], [*WHOLE[:2], *WHOLE[3:]], "STOPPED", 1),
        (WHOLE[:3], WHOLE[:3], "COMPLETED", 1),
        ([*WHOLE, (5, "run_end")], [*WHOLE, (5, "run_end")], "COMPLETED", 1),
        ([], [], "COMPLETED", 2),
    ],
)
def test_a_run_is_held_against_what_was_heard(
    scripts: Any, heard: list[tuple[int, str]], stored: list[tuple[int, str]], status: str, faults: int
) -> None:
    seen = scripts.ledger.Heard("r", "s", "q", events=heard)
    assert len(list(scripts.proof._run_faults(seen, status, stored))) == faults


def test_percentiles(scripts: Any) -> None:
    values = [float(n) for n in range(1, 101)]
    assert [scripts.report.percentile(values, share) for share in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert scripts.report.percentile([7.0], 50) == 7.0
    assert scripts.report.percentile([], 95) == 0.0
