"""Which programs may run with which words."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import ConfigError, Forbidden, InvalidInput
from kosmos.sandbox.commands import Rule, admit
from kosmos.sandbox.policy import default_policy, load_policy

GREP = Rule("/usr/bin/grep", frozenset({"-n", "-i", "--color"}), frozenset({"-A", "--include"}), operands=3)
RULES = {"grep": GREP, "kubectl": Rule("/usr/bin/env", open=True, refused=frozenset({"--token", "-s"}))}


def _words(*argv: str) -> tuple[str, ...]:
    return admit(RULES, argv)[1][1:]


def test_operands_are_put_behind_a_separator() -> None:
    assert _words("grep", "x", "-n", "file") == ("-n", "--", "x", "file")
    assert _words("grep", "-ni", "-A", "3", "x") == ("-ni", "-A", "3", "--", "x")
    assert _words("grep", "--include=*.md", "x") == ("--include=*.md", "--", "x")
    assert _words("grep", "-n", "--", "-x", "--file=/etc/shadow") == ("-n", "--", "-x", "--file=/etc/shadow")


@pytest.mark.parametrize(
    "argv",
    [
        ("sh", "-c", "grep"),
        ("/usr/bin/grep", "x"),
        ("./grep", "x"),
        ("../grep",),
        ("grep ", "x"),
        ("grep;id",),
        ("GREP",),
        ("",),
        ("grep", "-f", "/etc/shadow"),
        ("grep", "--file=/etc/shadow", "x"),
        ("grep", "-nf", "x"),
        ("grep", "-A", "-f", "x"),
        ("grep", "-A"),
        ("grep", "--include", "--file=x"),
        ("grep", "--incl=x", "y"),
        ("grep", "-A3", "x"),
        ("grep", "a", "b", "c", "d"),
        ("kubectl", "get", "pods", "--token=x"),
        ("kubectl", "-shttp://evil", "get", "pods"),
        ("kubectl", "--token", "x"),
    ],
)
def test_other_words_are_refused(argv: tuple[str, ...]) -> None:
    with pytest.raises(Forbidden):
        admit(RULES, argv)


def test_what_is_no_list_of_words_is_refused() -> None:
    for argv in ((), ("grep", "a\0b")):
        with pytest.raises(InvalidInput):
            admit(RULES, argv)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["-n", "-f", "-A", "3", "--", "x", "-", "--include", "-ni", "--file=x"]), max_size=7
    )
)
def test_no_option_gets_through_that_is_not_listed(words: list[str]) -> None:
    try:
        made = _words("grep", *words)
    except Forbidden:
        return
    front = made[: made.index("--")] if "--" in made else made
    assert all(word in {"-n", "-ni", "-A", "--include", "3", "x"} for word in front)
    assert "-f" not in front


def test_the_program_is_the_one_behind_the_links(tmp_path: Path) -> None:
    (tmp_path / "grep").symlink_to("/usr/bin/env")
    rule = {"grep": Rule(str(tmp_path / "grep")), "gone": Rule(str(tmp_path / "gone"))}
    assert admit(rule, ("grep",))[1][0] == str(tmp_path / "grep")
    with pytest.raises(Forbidden, match="not installed"):
        admit(rule, ("gone",))


def test_the_default_policy_reads_and_does_nothing_else() -> None:
    policy = default_policy(environment={"HOME": "/nowhere"})
    assert {"cat", "grep", "ls"} <= set(policy.commands)
    assert not {"sh", "bash", "python3", "rm", "find", "env", "awk", "sed", "xargs"} & set(policy.commands)
    assert policy.approve_writes
    for argv in (("sort", "-o", "x"), ("sort", "--output=x"), ("date", "-s", "x"), ("uniq", "a", "b")):
        with pytest.raises(Forbidden):
            admit(policy.commands, argv)


def test_a_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        "defaults = false\napprove_writes = false\n[limits]\nseconds = 5\n"
        '[commands.helm]\npath = "/usr/bin/env"\nopen = true\nrefused = ["--kubeconfig"]\nnetwork = true\n'
        'read = ["/etc/hosts"]\nenvironment = {A = "b"}\n'
    )
    policy = load_policy(file)
    rule = policy.commands["helm"]
    assert (set(policy.commands), policy.limits.seconds, policy.approve_writes) == ({"helm"}, 5, False)
    assert (rule.network, rule.read, rule.refused) == (True, ("/etc/hosts",), frozenset({"--kubeconfig"}))
    assert dict(rule.environment) == {"A": "b"}


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "frobnicate = 1",
        "[limits]\nfrobnicate = 1",
        '[limits]\nseconds = "x"',
        "[commands.x]\n",
        '[commands.x]\npath = "relative"',
        '[commands.x]\npath = "/x"\nfrobnicate = 1',
        '[commands.x]\npath = "/x"\nflags = "-n"',
    ],
)
def test_a_wrong_policy_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        load_policy(file)
