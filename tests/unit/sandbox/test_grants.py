"""A token grants exactly one command, once, in time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import ConfigError, Forbidden
from kosmos.sandbox.grants import Grants, grant, load_key, new_key

KEY = b"k" * 32
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON = NOW + timedelta(minutes=5)
ONE, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def grants(tmp_path: Path) -> Grants:
    return Grants(KEY, tmp_path / "grants")


def test_a_token_is_used_up(grants: Grants, tmp_path: Path) -> None:
    token = grant(KEY, ONE, expires=SOON)
    grants.redeem(token, ONE, now=NOW)
    with pytest.raises(Forbidden, match="used already"):
        grants.redeem(token, ONE, now=NOW)
    with pytest.raises(Forbidden, match="used already"):
        Grants(KEY, tmp_path / "grants").redeem(token, ONE, now=NOW)
    grants.redeem(grant(KEY, ONE, expires=SOON), ONE, now=NOW)


def test_a_token_is_for_one_command_in_time_and_by_the_key(grants: Grants) -> None:
    with pytest.raises(Forbidden, match="another command"):
        grants.redeem(grant(KEY, ONE, expires=SOON), OTHER, now=NOW)
    with pytest.raises(Forbidden, match="expired"):
        grants.redeem(grant(KEY, ONE, expires=NOW), ONE, now=NOW)
    with pytest.raises(Forbidden, match="genuine"):
        grants.redeem(grant(b"x" * 32, ONE, expires=SOON), ONE, now=NOW)


def test_a_refused_token_is_not_used_up(grants: Grants) -> None:
    token = grant(KEY, ONE, expires=SOON)
    with pytest.raises(Forbidden):
        grants.redeem(token, OTHER, now=NOW)
    grants.redeem(token, ONE, now=NOW)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 200), st.sampled_from("0123456789abcdefg.x-/"))
def test_no_changed_token_is_genuine(tmp_path_factory: pytest.TempPathFactory, at: int, letter: str) -> None:
    token = grant(KEY, ONE, expires=SOON, nonce="c" * 32)
    at %= len(token)
    changed = token[:at] + letter + token[at + 1 :]
    if changed != token:
        with pytest.raises(Forbidden):
            Grants(KEY, tmp_path_factory.mktemp("g")).redeem(changed, ONE, now=NOW)


@pytest.mark.parametrize("token", ["", "g1", "g1.a.b.c.d", "../../etc/passwd", "g1." + "a" * 64, "泵"])
def test_what_is_no_token_is_refused(grants: Grants, token: str) -> None:
    with pytest.raises(Forbidden):
        grants.redeem(token, ONE, now=NOW)


def test_of_many_at_once_one_gets_it(grants: Grants) -> None:
    token = grant(KEY, ONE, expires=SOON)

    def take(_: int) -> bool:
        try:
            grants.redeem(token, ONE, now=NOW)
        except Forbidden:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(32))) == 1


def test_what_expired_long_ago_is_forgotten_and_still_refused(grants: Grants, tmp_path: Path) -> None:
    old = grant(KEY, ONE, expires=SOON)
    grants.redeem(old, ONE, now=NOW)
    later = NOW + timedelta(days=3)
    grants.redeem(grant(KEY, ONE, expires=later + timedelta(minutes=1)), ONE, now=later)
    assert len([*(tmp_path / "grants").iterdir()]) == 1
    with pytest.raises(Forbidden, match="expired"):
        grants.redeem(old, ONE, now=later)


def test_without_a_key_nothing_is_granted(tmp_path: Path) -> None:
    with pytest.raises(Forbidden, match="no key"):
        Grants(None, tmp_path).redeem(grant(KEY, ONE, expires=SOON), ONE, now=NOW)


def test_keys_come_from_a_private_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(new_key() + "\n")
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="read"):
        load_key(file)
    file.chmod(0o600)
    assert load_key(file) == file.read_bytes().strip()
    assert load_key(environment={}) is None
    assert load_key(environment={"OS_MCP_GRANT_KEY": "k" * 32}) == KEY
    with pytest.raises(ConfigError, match="short"):
        load_key(environment={"OS_MCP_GRANT_KEY": "short"})
