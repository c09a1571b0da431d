"""A few cases of every fuzzer of inputs, and proof that a broken invariant is noticed."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "scripts"), str(ROOT / "tests")]

from fuzz_inputs import FUZZERS  # noqa: E402
from fuzzing.fuzzer import Broken, Fuzzer, fuzz, run  # noqa: E402

from kosmos.errors import InvalidInput  # noqa: E402

APART = "files through the host"  # starts processes: only in the long run
DEAR = {
    "markdown",
    "markdown bytes",
    "indexer's calls",
    "pdf",
    "docx, xlsx, pptx, epub",
    "streams of providers",
}


@pytest.mark.parametrize(
    "fuzzer", [item for item in FUZZERS if item.name != APART], ids=lambda item: item.name
)
def test_nothing_is_found(fuzzer: Fuzzer) -> None:
    count = 4 if fuzzer.name in DEAR else 30
    tally = fuzz(fuzzer, count, 3, seconds=20)
    assert tally.found == {}, tally.table("fuzzer")
    assert tally.cases >= min(count, 4)


def _refuse(case: int) -> str:
    if case % 3 == 0:
        raise InvalidInput("No.")
    if case % 3 == 1:
        raise Broken("it does not hold")
    raise KeyError(case)


def test_what_is_raised_is_told_apart() -> None:
    tally = fuzz(Fuzzer("odd", "", 60, lambda: st.integers(0, 10**6), _refuse), 60, 1, seconds=20)
    assert tally.rows["odd"].outcomes.keys() == {"refused", "finding"}
    found = {what.split(":")[0] for _, what in tally.found}
    assert "it does not hold" in found
    assert any(what.startswith("KeyError") for what in found)


def _die(_: int) -> str:
    os._exit(9)


def test_a_process_that_dies_is_a_finding() -> None:
    tally = run(Fuzzer("deadly", "", 5, st.integers, _die), 5, 1, seconds=20)
    assert [what for _, what in tally.found] == ["the process died with 9"]
