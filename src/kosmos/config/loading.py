"""Reads the environment and `kosmos.toml`, once, and explains what is wrong with them."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kosmos.config.settings import Settings
from kosmos.errors import ConfigError

PREFIX = "KOSMOS_"
CONFIG_VARIABLE = "KOSMOS_CONFIG"
FILE_NAME = "kosmos.toml"


def load_settings(environ: Mapping[str, str] | None = None, /, **overrides: Any) -> Settings:
    """Settings from defaults, then `kosmos.toml`, then the environment, then the overrides."""
    environ = os.environ if environ is None else environ
    from_env = _from_environment(environ)
    home = Path(overrides.get("home") or from_env.get("home") or "~/.kosmos").expanduser().absolute()
    named = environ.get(CONFIG_VARIABLE)
    path = Path(named).expanduser() if named else home / FILE_NAME
    from_file = _from_file(path, must_exist=bool(named))
    values = {**from_file, **from_env, **overrides, "home": home}
    try:
        return Settings(**values)
    except ValidationError as error:
        raise ConfigError(
            _explain(error, path, from_env, overrides),
            remedy="See docs/reference/settings.md for every key and its form.",
        ) from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings among the variables; a variable that looks like one but is none is an error."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name == CONFIG_VARIABLE:
            continue
        key = name.removeprefix(PREFIX).lower()
        if key not in Settings.model_fields:
            raise ConfigError(f"Unknown environment variable {name}.", remedy=_did_you_mean(key, PREFIX))
        if value != "":
            found[key] = value
    return found


def _from_file(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(
                f"The configuration file {path} does not exist.",
                remedy=f"Create it or unset {CONFIG_VARIABLE}.",
            ) from None
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}.", remedy="Correct that line or remove the file."
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", remedy="Check its type and permissions."
        ) from None
    for key in values:
        if key not in Settings.model_fields:
            raise ConfigError(f"Unknown setting {key!r} in {path}.", remedy=_did_you_mean(key))
    if "home" in values:
        raise ConfigError(f"`home` cannot be set in {path}.", remedy="Set the variable KOSMOS_HOME instead.")
    return values


def _did_you_mean(key: str, prefix: str = "") -> str:
    close = difflib.get_close_matches(key, Settings.model_fields, n=1)
    if not close:
        return "Remove it; docs/reference/settings.md lists all settings."
    name = f"{prefix}{close[0].upper()}" if prefix else close[0]
    return f"Did you mean {name}?"


def _explain(
    error: ValidationError, path: Path, from_env: Mapping[str, str], overrides: Mapping[str, Any]
) -> str:
    """One sentence per wrong value, naming where it came from but never the value: it may be a secret."""
    parts = []
    for item in error.errors(include_input=False, include_url=False):
        key = str(item["loc"][0])
        where = f"{PREFIX}{key.upper()}" if key in from_env else f"`{key}` in {path}"
        if key in overrides:
            where = f"The given {key}"
        parts.append(f"{where}: {item['msg']}.")
    return " ".join(parts)
