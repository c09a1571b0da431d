"""What starting Kosmos costs: CPU time of short commands and the imports behind `kosmos --help`.

Reports only: a machine under load makes every time larger, so nothing here passes or fails.
"""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import Measurement, describe_failure, measure, print_table, run_child, write_json

PYTHON = Path(sys.executable)
KOSMOS = PYTHON.with_name("kosmos")
FLOOR = "python -c pass"
COMMANDS: dict[str, list[str | Path]] = {
    FLOOR: [PYTHON, "-c", "pass"],
    'python -c "import typer"': [PYTHON, "-c", "import typer"],
    "kosmos --help": [KOSMOS, "--help"],
    "kosmos --version": [KOSMOS, "--version"],
    "kosmos doctor --help": [KOSMOS, "doctor", "--help"],
}
TRACED = "kosmos --help"
SHOWN_MODULES = 25
SHOWN_PACKAGES = 10
IMPORT_LINE = re.compile(r"^import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """One module and the microseconds its import took, alone and with all it imported."""

    module: str
    own_us: int
    cumulative_us: int


def trace_imports(command: Sequence[str | Path]) -> list[Import] | str:
    """The modules a command imports, the dearest first, or why the command failed."""
    # The variable is `-X importtime` for commands that start Python themselves.
    run = run_child(command, {"PYTHONPROFILEIMPORTTIME": "1"})
    if run.exit_code != 0:
        return describe_failure(run)
    # An optional module that is absent is traced at every attempt, so names may come more than once.
    found: dict[str, Import] = {}
    for own, total, name in IMPORT_LINE.findall(run.stderr):
        if name not in found or int(total) > found[name].cumulative_us:
            found[name] = Import(name, int(own), int(total))
    return sorted(found.values(), key=lambda item: item.cumulative_us, reverse=True)


def count_modules(imports: Sequence[Import]) -> dict[str, int]:
    """How many modules were imported or tried, in all and by where they come from."""
    tops = [item.module.partition(".")[0] for item in imports]
    standard = sum(top in sys.stdlib_module_names for top in tops)
    own = tops.count("kosmos")
    return {"all": len(tops), "standard": standard, "kosmos": own, "other": len(tops) - standard - own}


def count_packages(imports: Sequence[Import]) -> dict[str, int]:
    """The top-level packages with the most imported modules."""
    return dict(Counter(item.module.partition(".")[0] for item in imports).most_common(SHOWN_PACKAGES))


def milliseconds(seconds: float | None) -> str:
    """A duration for the table."""
    return "-" if seconds is None else f"{seconds * 1000:.0f}"


def ratio(seconds: float | None, floor: float | None) -> float | None:
    """How many times the floor, None where one of the two is missing."""
    return round(seconds / floor, 2) if seconds and floor else None


def report_times() -> list[dict[str, object]]:
    """Measure and print every command; the rows go to the JSON file."""
    measured: list[Measurement] = [measure(name, command) for name, command in COMMANDS.items()]
    floor = next(item.median for item in measured if item.name == FLOOR)
    rows = []
    for item in measured:
        times = item.cpu_seconds
        ratios = ratio(item.median, floor)
        spread = f"{milliseconds(min(times))}-{milliseconds(max(times))}" if times else "-"
        rows.append([item.name, milliseconds(item.median), spread, f"{ratios:.1f}" if ratios else "failed"])
    print_table("CPU time, user + system", ["command", "median ms", "range ms", "x floor"], rows)
    for item in measured:
        if item.error:
            print(f"failed: {item.name}: {item.error}")
    return [
        {**asdict(item), "median": item.median, "times_floor": ratio(item.median, floor)} for item in measured
    ]


def report_imports() -> dict[str, object]:
    """Trace and print the imports of one command; the values go to the JSON file."""
    imports = trace_imports(COMMANDS[TRACED])
    if isinstance(imports, str):
        print(f"no import graph of {TRACED}: {imports}")
        return {"command": TRACED, "error": imports}
    floor = trace_imports(COMMANDS[FLOOR])
    top = imports[:SHOWN_MODULES]
    rows = [[item.module, f"{item.cumulative_us / 1000:.1f}", f"{item.own_us / 1000:.1f}"] for item in top]
    print_table(f"Imports of {TRACED}, by wall time", ["module", "cumulative ms", "own ms"], rows)
    counts, packages = count_modules(imports), count_packages(imports)
    at_floor = None if isinstance(floor, str) else len(floor)
    print("modules:", ", ".join(f"{where} {count}" for where, count in counts.items()), f"(floor {at_floor})")
    print("largest packages:", ", ".join(f"{name} {count}" for name, count in packages.items()))
    return {
        "command": TRACED,
        "modules": counts,
        "modules_at_floor": at_floor,
        "packages": packages,
        "top": [asdict(item) for item in top],
    }


def main() -> None:
    """Measure, print, write `bench/results/startup.json`."""
    times = report_times()
    imports = report_imports()
    file = write_json("startup", {"commands": times, "imports": imports})
    print(f"written: bench/results/{file.name}")


if __name__ == "__main__":
    main()
