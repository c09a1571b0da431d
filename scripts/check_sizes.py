"""Keeps files, functions and parameter lists small: `python scripts/check_sizes.py [ROOT]`.

Exit 0: nothing found. Exit 1: findings, one a line. Exit 2: nothing to check under ROOT.
"""

import argparse
import ast
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("src", "tests", "scripts", "bench")
MAX_BODY = 60
MAX_FILE = 500
LARGE_FILE = 300
MAX_PARAMETERS = 7
KNOWN_BY_ITS_PARAMETERS = {"build_knowledge_base"}  # other programs call it so
SPLITLINES = 'also splits at form feeds and U+2028; canonical text is split by .split("\\n") only'

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Report:
    """What one file, or all of them together, came to."""

    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below the node with its dotted name, nested ones too."""
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, Function):
            yield prefix + child.name, child
        if isinstance(child, Function | ast.ClassDef):
            inner = f"{prefix}{child.name}."
        yield from functions(child, inner)


def body_length(function: Function) -> int:
    """Lines from the first statement after the docstring to the last one."""
    body = function.body if ast.get_docstring(function, clean=False) is None else function.body[1:]
    if not body:
        return 0
    # A decorated first statement starts at its decorator, which its own line number leaves out.
    decorators: list[ast.expr] = getattr(body[0], "decorator_list", [])
    start = min([body[0].lineno, *(decorator.lineno for decorator in decorators)])
    return (body[-1].end_lineno or body[-1].lineno) - start + 1


def parameter_count(function: Function) -> int:
    """How many parameters a caller sees; `self` and `cls` are not among them."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    bound = bool(positional) and positional[0].arg in {"self", "cls"}
    variadic = [arg for arg in (args.vararg, args.kwarg) if arg]
    return len(positional) - bound + len(args.kwonlyargs) + len(variadic)


def check_source(tree: ast.Module, path: str) -> Iterator[str]:
    """Findings that count only in the package itself."""
    for name, function in functions(tree):
        # In the command line a parameter is an option of a command, and a command may have many.
        if "/cli/" in path or name in KNOWN_BY_ITS_PARAMETERS:
            continue
        if (count := parameter_count(function)) > MAX_PARAMETERS:
            yield f"{path}:{function.lineno} {name}: {count} parameters, at most {MAX_PARAMETERS}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "splitlines":
            yield f"{path}:{node.end_lineno} .splitlines: {SPLITLINES}"


def check_file(file: Path, root: Path) -> Report:
    """Everything to say about one Python file."""
    path = file.relative_to(root).as_posix()
    try:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        return Report(findings=(f"{path}:{line} file: cannot be parsed: {error}",))
    found = [(name, function, body_length(function)) for name, function in functions(tree)]
    findings = [
        f"{path}:{function.lineno} {name}: {length} lines, at most {MAX_BODY}"
        for name, function, length in found
        if length > MAX_BODY
    ]
    notes: list[str] = []
    if path.startswith("src/"):
        findings += check_source(tree, path)
        lines = len(text.removesuffix("\n").split("\n"))
        if lines > MAX_FILE:
            findings.append(f"{path}:1 file: {lines} lines, at most {MAX_FILE}")
        elif lines > LARGE_FILE:
            notes.append(f"note: {path}: {lines} lines, think again above {LARGE_FILE}")
    return Report(tuple(findings), tuple(notes), tuple(length for _, _, length in found))


def python_files(root: Path) -> list[Path]:
    """The Python files of the checked folders; hidden folders stay out."""
    files = (file for folder in FOLDERS for file in sorted((root / folder).rglob("*.py")))
    return [file for file in files if not any(part[0] == "." for part in file.relative_to(root).parts)]


def summary(files: int, lengths: Sequence[int]) -> str:
    """One line on how large functions are."""
    ordered = sorted(lengths) or [0]
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    median = statistics.median(ordered)
    return f"{files} files, {len(lengths)} functions, length median {median:g}, p95 {p95}"


def main(argv: Sequence[str] | None = None) -> int:
    """Check the tree, print what was found, return the exit code."""
    parser = argparse.ArgumentParser(description="Check the sizes of files and functions.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    root: Path = parser.parse_args(argv).root.resolve()
    files = python_files(root)
    if not files:
        print(f"no Python files in {', '.join(FOLDERS)} under {root}")
        return 2
    reports = [check_file(file, root) for file in files]
    findings = [finding for report in reports for finding in report.findings]
    for line in [*(note for report in reports for note in report.notes), *findings]:
        print(line)
    print(summary(len(files), [length for report in reports for length in report.lengths]))
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
