"""Reviews of calls: what needs a person, what an approval is bound to, what a rehearsal is."""

from dataclasses import replace
from typing import Any

import pytest

from kosmos.tools.contract import Tool, ToolOutput, make_tool
from kosmos.tools.reviewing import graver, rank, rehearsal, review_call


def tool(**labels: Any) -> Tool:
    async def run(argv: list[str]) -> ToolOutput:
        """Run."""
        return ToolOutput()

    return replace(
        make_tool(run, read_only=False), labels={"argv": "argv", "program": ("kubectl",), **labels}
    )


def review(*argv: str, **labels: Any) -> Any:
    return review_call(tool(**labels), {"argv": list(argv)})


def test_reads_run_and_changes_ask() -> None:
    assert not review("get", "pods").needs_approval
    assert review("delete", "pod", "x").needs_approval
    assert review("scale", "deployment", "x", "--replicas=0").needs_approval


def test_an_approval_is_bound_to_words_context_and_namespace() -> None:
    same = review("delete", "pod", "x")
    assert same.digest == review("delete", "pod", "x").digest
    others = [
        review("delete", "pod", "y"),
        review("delete", "pod", "x", "--force"),
        review("delete", "pod", "x", "-n", "prod"),
        review("delete", "pod", "x", context="prod"),
        review("delete", "pod", "x", namespace="prod"),
        review("delete", "pod x"),
    ]
    assert len({same.digest, *(one.digest for one in others)}) == 7


def test_what_is_no_argv_is_grave() -> None:
    assert review_call(tool(), {"argv": "get pods"}).argv == ("kubectl", "get pods")
    assert review_call(tool(), {"argv": "delete pod x"}).needs_approval


def test_levels() -> None:
    assert graver("LOW", None, "HIGH", "MEDIUM") == "HIGH"
    assert graver() == "LOW"
    assert rank("nonsense") == rank("CRITICAL")


@pytest.mark.parametrize(
    ("words", "tried"),
    [
        ("apply -f x.yaml", "diff -f x.yaml"),
        ("-n a delete pod x", "-n a delete pod x --dry-run=server"),
        ("scale deploy x --replicas=0", "scale deploy x --replicas=0 --dry-run=server"),
        ("exec x -- rm -rf /", None),
        ("get pods", None),
        ("delete pod x --dry-run=none", None),
        ("edit deploy x", None),
    ],
)
def test_rehearsals(words: str, tried: str | None) -> None:
    found = rehearsal(("kubectl", *words.split()))
    assert found == (("kubectl", *tried.split()) if tried else None)
