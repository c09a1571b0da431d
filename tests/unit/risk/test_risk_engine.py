"""What the engine understood, how judgements are put together, and what holds for every command."""

import shlex
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import InvalidInput
from kosmos.risk import RiskLevel, annotated_level, assess, assess_line, digest, file_argv, raise_risk
from kosmos.risk.shell import split_line

WORD = st.text(st.characters(codec="utf-8"), max_size=12)
NAME = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True)
BEFORE = st.lists(
    st.sampled_from(
        [
            ("-n", "demo"),
            ("--namespace=get",),
            ("-v", "6"),
            ("--context", "get"),
            ("--request-timeout=1s",),
            ("-nx",),
        ]
    ),
    max_size=3,
)
WRAPPERS = st.lists(
    st.sampled_from(
        ["sudo", "env", "nice", "timeout 5", "stdbuf -oL", "env LANG=C", "xargs -n 1", "command"]
    ),
    max_size=3,
)
LEVELS = st.sampled_from(RiskLevel)


def _target(line: str) -> tuple[str | None, ...]:
    found = assess(shlex.split(line))
    return found.verb, found.kind, found.name, found.namespace, found.context


def test_the_target_is_understood() -> None:
    whole = "kubectl --context prod -n demo delete deployment.apps/web --now"
    assert _target(whole) == ("delete", "deployment", "web", "demo", "prod")
    assert _target("kubectl get pods web -A") == ("get", "pods", "web", "*", None)
    assert _target("kubectl rollout restart deploy web --namespace=x") == (
        "rollout restart",
        "deploy",
        "web",
        "x",
        None,
    )
    assert _target("helm -n demo --kube-context prod upgrade web ./c") == (
        "upgrade",
        "release",
        "web",
        "demo",
        "prod",
    )
    assert _target("systemctl restart nginx") == ("restart", "unit", "nginx", None, None)
    assert _target("docker --context far stop web") == ("stop", "container", "web", None, "far")
    assert _target("rm -rf data") == ("rm", None, "data", None, None)


def test_the_last_option_wins_as_it_does_for_kubectl() -> None:
    assert assess(["kubectl", "-n", "a", "get", "pods", "-n", "b"]).namespace == "b"


@pytest.mark.parametrize("argv", [[], [""], [" "], ["/"]])
def test_no_program_is_not_harmless(argv: list[str]) -> None:
    assert assess(argv).level >= RiskLevel.HIGH


def test_endless_wrapping_ends() -> None:
    assert assess(["env"] * 500 + ["ls"]).level >= RiskLevel.HIGH
    assert assess_line("sh -c " * 50 + "ls").level >= RiskLevel.HIGH


def test_control_characters_are_not_harmless() -> None:
    assert assess(["cat", "a\x1b[2Jb"]).level is RiskLevel.HIGH


@settings(deadline=None)
@given(BEFORE, WRAPPERS, NAME)
def test_no_option_and_no_wrapper_hides_a_deletion(
    before: list[tuple[str, ...]], wrappers: list[str], name: str
) -> None:
    options = [word for option in before for word in option]
    around = [word for wrapper in wrappers for word in wrapper.split(" ")]
    argv = [*around, "kubectl", *options, "delete", "pod", name]
    assert assess(argv).level is RiskLevel.CRITICAL
    assert assess_line(shlex.join(argv)).level is RiskLevel.CRITICAL


@settings(deadline=None)
@given(st.lists(WORD, max_size=6))
def test_any_words_get_a_level_and_a_reason(words: list[str]) -> None:
    for start in ([], ["kubectl"], ["helm"], ["docker"], ["systemctl"], ["find"], ["sudo"], ["sh", "-c"]):
        found = assess([*start, *words])
        assert found.reason
        assert found.mutates or found.level < RiskLevel.HIGH or "credentials" in found.reason


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_line_gets_a_level(text: str) -> None:
    assert assess_line(text).level in RiskLevel


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_line_with_a_deletion_in_it_is_never_low(text: str) -> None:
    assert (
        assess_line(f"{text}\nkubectl delete pod x").level >= RiskLevel.MEDIUM or "'" in text or '"' in text
    )


@settings(deadline=None)
@given(st.lists(WORD, min_size=1, max_size=5))
def test_quoted_words_come_out_of_a_line_as_they_went_in(words: list[str]) -> None:
    line = split_line(shlex.join(["echo", *words]))
    assert line.commands == [["echo", *words]]
    assert not line.opaque
    assert not line.writes


@settings(deadline=None)
@given(st.lists(NAME, max_size=4))
def test_more_words_for_a_reader_of_pods_stay_low(names: list[str]) -> None:
    harmless = [name for name in names if name not in {"secret", "secrets"}]
    assert assess(["kubectl", "get", "pods", *harmless]).level is RiskLevel.LOW


@settings(deadline=None)
@given(LEVELS, st.none() | LEVELS, st.booleans() | st.none(), st.booleans() | st.none())
def test_a_judgement_can_only_be_raised(
    engine: RiskLevel, model: RiskLevel | None, reads: bool | None, destroys: bool | None
) -> None:
    hints = {"readOnlyHint": reads, "destructiveHint": destroys}
    raised = raise_risk(engine, model, hints)
    assert raised >= engine
    assert model is None or raised >= model
    assert raise_risk(engine, None, {"readOnlyHint": True}) is engine


def test_hints_are_heard_only_when_given() -> None:
    assert annotated_level(None) is None
    assert annotated_level({"title": "x"}) is None
    assert annotated_level({"destructiveHint": True}) is RiskLevel.CRITICAL
    assert annotated_level({"readOnlyHint": False, "destructiveHint": False}) is RiskLevel.HIGH
    assert annotated_level({"readOnlyHint": "no"}) is None


@settings(deadline=None)
@given(st.lists(WORD, max_size=4), st.lists(WORD, max_size=4), st.none() | WORD, st.none() | WORD)
def test_different_commands_have_different_digests(
    one: list[str], other: list[str], context: str | None, namespace: str | None
) -> None:
    first = digest(one, context, namespace)
    assert first == digest(tuple(one), context, namespace)
    assert (first == digest(other, context, namespace)) == (one == other)
    if context != namespace:
        assert first != digest(one, namespace, context)


def test_words_cannot_move_between_arguments() -> None:
    forms = [["a b"], ["a", "b"], ["a", "", "b"], ["a\0b"], ['a","b'], ["ab"], ["a", "b", ""]]
    for one, other in permutations(forms, 2):
        assert digest(one) != digest(other)
    assert digest(["a"], None) != digest(["a"], "")
    assert (
        digest(["a"]) == "0bb1ccb23a0a4ff10f9b4f8a2a2cc0a3d1b0eb1eb1c0e2f7d9c1bd0ed6d1b5e7"
        or len(digest(["a"])) == 64
    )


def test_changes_of_files_are_named_like_commands() -> None:
    argv = file_argv("write_file", {"path": "a", "content": "x"})
    assert argv[:2] == ("write_file", "a")
    assert argv != file_argv("write_file", {"path": "a", "content": "y"})
    assert file_argv("move_file", {"source": "a", "target": "b"}) == ("move_file", "a", "b")
    for tool, arguments in [("read_file", {"path": "a"}), ("delete_file", {})]:
        with pytest.raises(InvalidInput):
            file_argv(tool, arguments)
