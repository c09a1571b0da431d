"""Secrets in output of tools are hidden; everything else stays to the letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.tools.secrecy import hide_in, hide_secrets

SECRET = "c2VjcmV0LXZhbHVl"


@pytest.mark.parametrize(
    "text",
    [
        f"apiVersion: v1\nkind: Secret\ndata:\n  password: {SECRET}\n  other: {SECRET}\ntype: Opaque",
        f"- kind: Secret\n  stringData:\n    a: |\n      {SECRET}\n      {SECRET}\n  type: x",
        f'{{"kind": "Secret", "data": {{"a": "{SECRET}", "b": "{SECRET}"}}}}',
        f"DB_PASSWORD={SECRET}",
        f"API_KEY: '{SECRET}'",
        f'- name: DB_PASSWORD\n  value: "{SECRET}"',
        f'{{"name": "MY_TOKEN", "value": "{SECRET}"}}',
        f"users:\n- user:\n    client-key-data: {SECRET}\n    token: {SECRET}",
        f"password: {SECRET}",
        "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.c2VjcmV0LXZhbHVl.c2VjcmV0LXZhbHVl",
        f"postgres://app:{SECRET}9@db/x",
    ],
)
def test_secrets_are_hidden(text: str) -> None:
    assert SECRET not in hide_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "NAME   READY   STATUS\nweb-7cb79f8c87-z96z8   0/1   CrashLoopBackOff",
        "kind: ConfigMap\ndata:\n  colour: blue",
        "Error: secret \"db\" not found",
        "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db",
        "tokens: 12\nthe password is rotated every 90 days",
    ],
)  # fmt: skip
def test_the_rest_stays(text: str) -> None:
    assert hide_secrets(text) == text


def test_inside_of_values() -> None:
    given = {"argv": ["get", "pods"], "password": "hunter2", "n": 3, "deep": [{"DB_TOKEN": "abc"}]}
    hidden = hide_in(given)
    assert hidden["argv"] == ["get", "pods"]
    assert hidden["n"] == 3
    assert "hunter2" not in str(hidden)
    assert "abc" not in str(hidden)


@given(st.text(max_size=200))
def test_any_text_is_taken_and_hiding_is_done_once(text: str) -> None:
    once = hide_secrets(text)
    assert hide_secrets(once) == once
