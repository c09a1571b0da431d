"""Approvals that cannot be made up: a token grants exactly one command, once, until it expires.

The client that asks people and the server that acts share a key. The client signs the digest of the
command; the server checks the signature and remembers what was used.
"""

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from kosmos.domain.clock import system_clock
from kosmos.errors import ConfigError, Forbidden

KEY_VARIABLE = "OS_MCP_GRANT_KEY"
MIN_KEY = 32
_FORM = re.compile(r"g1\.([0-9a-f]{64})\.(\d{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})")
_REMEDY = "Ask for the approval of exactly this command again."


def load_key(file: Path | None = None, *, environment: Mapping[str, str] | None = None) -> bytes | None:
    """The shared key from a file or the environment; None when there is none: then nothing can be granted."""
    if file is None:
        text = (os.environ if environment is None else environment).get(KEY_VARIABLE, "")
        return _checked_key(text.encode(), KEY_VARIABLE) if text else None
    found = file.stat()
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"Others can read the key in {file}.", remedy=f"chmod 600 {file}")
    return _checked_key(file.read_bytes().strip(), str(file))


def new_key() -> str:
    """A key for both sides."""
    return secrets.token_hex(32)


def _checked_key(key: bytes, where: str) -> bytes:
    if len(key) < MIN_KEY:
        raise ConfigError(
            f"The key in {where} is too short.", remedy=f"Use at least {MIN_KEY} random characters."
        )
    return key


def grant(key: bytes, digest: str, *, expires: datetime, nonce: str | None = None) -> str:
    """A token for the command with this digest."""
    body = f"g1.{digest}.{int(expires.timestamp())}.{nonce or secrets.token_hex(16)}"
    return f"{body}.{_mac(key, body)}"


def _mac(key: bytes, body: str) -> str:
    return hmac.new(key, body.encode("ascii"), hashlib.sha256).hexdigest()


class Grants:
    """Takes tokens, each one once. What was used is remembered in a folder, for every process and restart."""

    def __init__(self, key: bytes | None, folder: Path) -> None:
        self._key = key
        self._folder = folder

    def redeem(self, token: str, digest: str, *, now: datetime | None = None) -> None:
        """Use the token up for this command; Forbidden unless it grants just that, for the first time."""
        if self._key is None:
            raise Forbidden(
                "Nothing can be approved here: there is no key.",
                remedy=f"Set {KEY_VARIABLE} or give a key file, the same for both sides.",
            )
        match = _FORM.fullmatch(token)
        body = token.rpartition(".")[0]
        if not match or not hmac.compare_digest(_mac(self._key, body), match[4]):
            raise Forbidden("The approval is not genuine.", remedy=_REMEDY)
        if not hmac.compare_digest(match[1], digest):
            raise Forbidden("The approval is for another command.", remedy=_REMEDY)
        moment = int((now or system_clock()).timestamp())
        if int(match[2]) <= moment:
            raise Forbidden("The approval has expired.", remedy=_REMEDY)
        self._forget(moment)
        self._use(match[3], match[2])

    def _use(self, nonce: str, expires: str) -> None:
        """Making the file is the use: only one process can."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            fd = os.open(self._folder / f"{nonce}.{expires}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            raise Forbidden("The approval was used already.", remedy=_REMEDY) from None
        os.fsync(fd)
        os.close(fd)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _forget(self, moment: int) -> None:
        """What has expired long since is refused by its date, and need not be remembered."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                expires = file.name.rpartition(".")[2]
                if expires.isdigit() and int(expires) < moment - 86400:
                    file.unlink(missing_ok=True)
