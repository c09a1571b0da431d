"""Settings: precedence, and a clear word about everything that is wrong."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from kosmos.config import load_settings
from kosmos.errors import ConfigError


def test_defaults_live_in_the_home(tmp_path: Path) -> None:
    settings = load_settings({"KOSMOS_HOME": str(tmp_path)})
    assert settings.database == f"sqlite:///{tmp_path}/kosmos.db"
    assert settings.host == "127.0.0.1"
    assert settings.embedded


def test_environment_wins_over_file(tmp_path: Path) -> None:
    (tmp_path / "kosmos.toml").write_text('port = 1111\nlog_level = "INFO"\n')
    settings = load_settings({"KOSMOS_HOME": str(tmp_path), "KOSMOS_PORT": "2222"})
    assert (settings.port, settings.log_level) == (2222, "INFO")


def test_settings_are_frozen(tmp_path: Path) -> None:
    settings = load_settings({"KOSMOS_HOME": str(tmp_path)})
    with pytest.raises(ValidationError):
        setattr(settings, "port", 1)  # noqa: B010


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("port = ", "not valid TOML", "Correct that line"),
        ("prot = 1", "Unknown setting 'prot'", "Did you mean port?"),
        ("port = 70000", "`port` in", "settings.md"),
        ('home = "x"', "`home` cannot be set", "KOSMOS_HOME"),
    ],
)
def test_bad_file_is_explained(tmp_path: Path, text: str, message: str, remedy: str) -> None:
    (tmp_path / "kosmos.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings({"KOSMOS_HOME": str(tmp_path)})
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "kosmos.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_settings({"KOSMOS_HOME": str(tmp_path)})


def test_unknown_variable_is_named_with_the_nearest_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({"KOSMOS_HOME": str(tmp_path), "KOSMOS_DATABSE_URL": "x"})
    assert caught.value.remedy == "Did you mean KOSMOS_DATABASE_URL?"


def test_a_secret_never_appears_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "kosmos.toml").write_text("s3_secret_key = 12345678\n")
    with pytest.raises(ConfigError) as caught:
        load_settings({"KOSMOS_HOME": str(tmp_path)})
    assert "12345678" not in caught.value.message


def test_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_settings({"KOSMOS_HOME": str(tmp_path), "KOSMOS_CONFIG": str(tmp_path / "none.toml")})
