"""Hundreds of simulated worlds in which nothing may be lost, done twice, or left for ever.

KOSMOS_SIM_SEEDS says how many (thousands after a change of the jobs), KOSMOS_SIM_FIRST with which to begin.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .world import simulate

SEEDS = int(os.environ.get("KOSMOS_SIM_SEEDS", "400"))
FIRST = int(os.environ.get("KOSMOS_SIM_FIRST", "0"))
SHARDS = 20
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_whatever_happens_the_rules_hold(shard: int) -> None:
    failures = []
    for seed in range(FIRST + shard, FIRST + SEEDS, SHARDS):
        report = simulate(seed)
        if report.violations:
            failures.append(f"seed {seed}: {'; '.join(report.violations[:3])}")
            failures.append(f"  replay it with: python -m tests.simulation.replay {seed}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("seed", [7, 61, 146])
def test_a_seed_tells_the_same_story_every_time(seed: int) -> None:
    first, second = simulate(seed), simulate(seed)
    assert first == second
    assert len(first.trace) > 20


def test_another_process_replays_a_seed() -> None:
    """Neither the hash seed nor what ran before makes a difference."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.replay", "13"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    expected = "\n".join((*simulate(13).trace, "seed 13: 0 violations", ""))
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
