"""Runs one seed again and prints everything that happened: `python -m tests.simulation.replay SEED`."""

import argparse
import sys

from .world import simulate


def main() -> int:
    """Print the trace; exit 1 when something did not hold."""
    parser = argparse.ArgumentParser(description="Run one simulated world and print what happened in it.")
    parser.add_argument("seed", type=int)
    report = simulate(parser.parse_args().seed)
    summary = f"seed {report.seed}: {len(report.violations)} violations"
    for line in (*report.trace, summary, *report.violations):
        sys.stdout.write(f"{line}\n")
    return 1 if report.violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
