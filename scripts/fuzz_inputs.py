"""Fuzzes everything that reads what others wrote: `fuzz_inputs.py [--cases 65000] [--seed 1] [--only html]`.

Each fuzzer states what must hold, makes its cases from a grammar or by damaging what was right, and runs in
a process of its own. Exit 1 where anything does not hold, where anything but a refusal is raised, where a
case takes too long, or where a process dies.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / name) for name in ("scripts", "tests", "tests/unit/ingest/formats")]

from fuzzing import inputs_documents, inputs_engines, inputs_models, inputs_outside  # noqa: E402
from fuzzing.fences import stay_on_loopback  # noqa: E402
from fuzzing.fuzzer import Fuzzer, run  # noqa: E402
from fuzzing.tally import Tally  # noqa: E402

FUZZERS: tuple[Fuzzer, ...] = (
    *inputs_documents.FUZZERS,
    *inputs_engines.FUZZERS,
    *inputs_models.FUZZERS,
    *inputs_outside.FUZZERS,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, report, and return the exit code."""
    options = _options(argv)
    logging.disable(logging.CRITICAL)
    stay_on_loopback()
    chosen = [item for item in FUZZERS if options.only is None or item.name in options.only.split(",")]
    part = options.cases / sum(item.cases for item in FUZZERS)
    tally, began = Tally(), time.time()
    for item in chosen:
        count = max(1, int(item.cases * part))
        found = run(item, count, options.seed, seconds=options.seconds)
        tally.rows |= found.rows
        tally.found |= found.found
        made = found.rows[item.name].cases if item.name in found.rows else 0
        print(f"{item.name}: {made} cases, {len(found.found)} findings", file=sys.stderr, flush=True)
    print(tally.table("fuzzer"))
    facts = {"seed": options.seed, "seconds": round(time.time() - began)}
    print(" ".join(f"{name}={value}" for name, value in facts.items()))
    if options.report:
        tally.write(options.report, {**facts, "invariants": {item.name: item.invariant for item in chosen}})
    return 1 if tally.found else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    whole = sum(item.cases for item in FUZZERS)
    parser.add_argument("--cases", type=int, default=whole, help="About so many, shared among the fuzzers.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="Names of fuzzers, separated by commas.")
    parser.add_argument("--seconds", type=float, default=600, help="CPU for one fuzzer, at most.")
    parser.add_argument("--report", type=Path, help="A file for the same as JSON.")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
