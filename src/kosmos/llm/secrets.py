"""Encryption of provider keys at rest."""

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from kosmos.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SecretBox:
    """Seals and opens provider keys. `key_id` tells keys apart without giving anything away."""

    key_id: str
    _fernet: Fernet

    def seal(self, secret: str) -> bytes:
        """Encrypt."""
        return self._fernet.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt, or say that this is the wrong key."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken:
            raise ConfigError(
                "A stored provider key cannot be decrypted: it was encrypted with another key.",
                remedy="Restore the former secret.key (or KOSMOS_SECRET_KEY), or add the credential again.",
            ) from None


def open_box(key: str | None, key_file: Path) -> SecretBox:
    """The box of the given key, or of the key file, which is made at the first start."""
    if key is not None:
        return _box(key, "KOSMOS_SECRET_KEY")
    return _box(_read_or_make(key_file), str(key_file))


def passing_box() -> SecretBox:
    """A box whose key is kept nowhere: what it seals, nobody opens later."""
    return _box(Fernet.generate_key().decode(), "memory")


def _box(key: str, where: str) -> SecretBox:
    try:
        raw = base64.urlsafe_b64decode(key.strip().encode())
        fernet = Fernet(key.strip().encode())
    except ValueError:
        raise ConfigError(
            f"The encryption key in {where} is not 32 bytes of URL-safe base64.",
            remedy="Restore the former key. A new one (old provider keys become unreadable): "
            'python3 -c "import base64,os;print(base64.urlsafe_b64encode(os.urandom(32)).decode())"',
        ) from None
    return SecretBox(key_id=hashlib.sha256(b"kosmos key id" + raw).hexdigest()[:16], _fernet=fernet)


def _read_or_make(path: Path) -> str:
    """The key in the file. The file appears whole or not at all, and is never overwritten."""
    try:
        if not path.exists():
            write_private(path, Fernet.generate_key().decode() + "\n")
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The encryption key file {path} cannot be read or made: {error}.",
            remedy="Check its permissions, or restore it from a backup.",
        ) from None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, unless somebody else was faster."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        temporary.unlink()
