"""Evaluating the operations agent: a kubectl over manifests, recordings, and the whole way with a script."""

from pathlib import Path
from typing import Any

import pytest

from kosmos.eval.ops import (
    Case,
    CaseResult,
    fits,
    judge_commands,
    read_cases,
    summary,
    telling,
    try_case,
)
from kosmos.eval.ops_cluster import FakeCluster, read_command, singular
from kosmos.eval.ops_replay import Recording

from .graphs import ANALYSIS, Form, reading

PODS = """
kind: Pod
metadata: {name: good, namespace: shop, labels: {pizza: x}}
---
kind: Pod
metadata: {name: bad, namespace: shop}
"""
MOCKS: tuple[dict[str, Any], ...] = (
    {
        "tool": "kubectl_describe",
        "match": {"kind": "pod", "name": "web", "namespace": "default"},
        "output": "State: Waiting",
        "status": "success",
        "error": None,
    },
    {
        "tool": "fetch_pod_logs",
        "match": {"pod_name": "web", "namespace": "default"},
        "output": "DEPLOY_ENV is undefined",
        "status": "success",
        "error": None,
    },
    {
        "tool": "check_node_status",
        "match": {},
        "output": "all ready",
        "status": "success",
        "error": None,
    },
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("get pods -n shop", ("get", "pod", "", "shop")),
        ("-n shop get po web", ("get", "pod", "web", "shop")),
        ("describe deploy/web --namespace=shop", ("describe", "deployment", "web", "shop")),
        ("logs web -nshop --previous", ("logs", "pod", "web", "shop")),
        ("get ingresses.networking.k8s.io -A -oyaml", ("get", "ingress", "", "")),
    ],
)
def test_commands_are_understood(words: str, expected: tuple[str, str, str, str]) -> None:
    found = read_command(words.split())
    assert (found.verb, found.kind, found.name, found.namespace) == expected


def test_kinds_have_one_spelling() -> None:
    assert [singular(kind) for kind in ("Pods", "ingress", "policies", "svc")] == [
        "pod",
        "ingress",
        "policy",
        "service",
    ]


def test_a_cluster_out_of_manifests() -> None:
    cluster = FakeCluster([PODS])
    assert cluster.run(["get", "pods", "-n", "shop"]) == ("NAMESPACE  NAME\nshop  good\nshop  bad", True)
    assert "pizza" in cluster.run(["get", "pod", "good", "-n", "shop", "-o", "yaml"])[0]
    assert cluster.run(["get", "pods"]) == ("No resources found in default namespace.", True)
    assert cluster.run(["get", "pod", "none", "-n", "shop"])[1] is False
    assert cluster.run(["delete", "pod", "good"])[1] is False


def test_a_recording_answers_what_was_recorded() -> None:
    recording = Recording(MOCKS)
    assert recording.kubectl(["describe", "pod", "web"]) == ("State: Waiting", True)
    assert recording.kubectl(["logs", "web", "-n", "default"])[0] == "DEPLOY_ENV is undefined"
    assert recording.kubectl(["get", "svc"])[1] is False
    assert recording.other("check_node_status", {}) == ("all ready", True)
    assert recording.others == ["check_node_status()"]
    assert (recording.found, recording.missed) == (3, ["kubectl get svc"])


def test_telling_names_and_figures() -> None:
    assert telling("There are 14 pods in the test-1 namespace") == ["14", "test-1"]
    assert telling("The `DEPLOY_ENV` environment variable is undefined") == ["DEPLOY_ENV"]


def looking(name: str, sent: str) -> Form | str:
    if name == "problem_analysis":
        return ANALYSIS
    if name == "self_evaluation":
        return {"reasoning": "", "status": "PASS", "next_step": "TO_EXPRESSION", "evidence": ["T1"]}
    if name == "execution_plan":
        argv = ["get", "pods", "-n", "shop", "-o", "yaml"]
        return {"reasoning": "", "action": "TOOL_USE", "tool_name": "kubectl", "tool_args": {"argv": argv}}
    return "VIOLATING: bad" if "pizza" in sent else "none"


async def test_the_whole_way() -> None:
    case = Case("g/one", "gatekeeper", "Which?", ("VIOLATING: bad",), ("VIOLATING: good",), files=(PODS,))
    trial = await try_case(case, reading(looking))
    assert trial.passed
    assert (trial.calls, trial.changed, trial.asked) == (1, 0, ())
    results = [CaseResult("g/one", "gatekeeper", (trial, trial))]
    assert summary(results)["gatekeeper"]["pass^k"] == 1.0


async def test_a_change_is_asked_for_and_fails() -> None:
    def deleting(name: str, sent: str) -> Form | str:
        if name != "execution_plan":
            return looking(name, sent)
        arguments = {"argv": ["delete", "pod", "bad"]}
        return {"reasoning": "", "action": "TOOL_USE", "tool_name": "kubectl", "tool_args": arguments}

    case = Case("g/one", "gatekeeper", "Which?", (), files=(PODS,))
    trial = await try_case(case, reading(deleting))
    assert not trial.passed
    assert trial.asked == ("kubectl delete pod bad",)
    assert trial.changed == 0


def test_answers_are_compared() -> None:
    case = Case("i", "investigation", "?", ("web-1",), ("web-2",))
    assert fits(case, "It is WEB-1.")
    assert not fits(case, "It is web-1 or web-2.")
    assert not fits(case, "")


def test_cases_and_commands_are_read(tmp_path: Path) -> None:
    (tmp_path / "gatekeeper_tasks.jsonl").write_text(
        '{"id": "g", "prompts": ["Which?"], "expect": [{"contains": "a"}, {"notContains": "b"}], '
        '"files": {"artifacts/x.yaml": "kind: Pod", "setup.sh": "x"}}\n'
    )
    (case,) = read_cases(tmp_path)
    assert (case.contains, case.lacks, case.files) == (("a",), ("b",), ("kind: Pod",))
    (tmp_path / "c.jsonl").write_text(
        '{"command": "kubectl get pods", "modifies": "no"}\n'
        '{"command": "kubectl delete pod x", "modifies": "yes"}\n'
        '{"command": "kubectl config set-context x", "modifies": "no"}\n'
    )
    report = judge_commands(tmp_path / "c.jsonl")
    assert (report.mutating, report.caught, report.reading, report.low) == (2, 2, 1, 1)
