"""The two files of a home that open things: the key of provider keys, and the token of the local owner."""

from pathlib import Path

import sqlalchemy as sa

from kosmos.accounts.tokens import authenticate, issue_token
from kosmos.archive.manifest import KEY, TOKEN
from kosmos.archive.reading import Reader
from kosmos.archive.rows import refused
from kosmos.config import Settings
from kosmos.db.tables import user
from kosmos.domain.accounts import Scope
from kosmos.errors import Conflict, Unauthenticated
from kosmos.llm.secrets import write_private
from kosmos.tasks.workbench import Workbench

_MOST = 1000


def read_secrets(settings: Settings) -> dict[str, str]:
    """Those files that are there; a key that is given by a variable is the operator's to keep."""
    files = {KEY: settings.key_file, TOKEN: settings.token_file}
    return {name: path.read_text() for name, path in files.items() if path.is_file()}


def check_secrets(settings: Settings, reader: Reader) -> dict[str, str]:
    """The files of an archive; Conflict where the home has another key."""
    found: dict[str, str] = {}
    for name, path in ((KEY, settings.key_file), (TOKEN, settings.token_file)):
        if name not in reader.manifest.parts:
            continue
        if reader.manifest.parts[name].bytes > _MOST:
            raise refused(f"its {name} is too long")
        found[name] = b"".join(reader.pieces(name)).decode("ascii", "replace")
        if path.exists() and path.read_text() != found[name]:
            raise Conflict(
                f"The home has another {name} than the backup.",
                remedy=f"Move {path} away, or use a new home.",
            )
    return found


def write_secrets(settings: Settings, secrets: dict[str, str]) -> None:
    """Put them into the home, readable by its owner only; what is there stays."""
    files: dict[str, Path] = {KEY: settings.key_file, TOKEN: settings.token_file}
    for name, text in secrets.items():
        write_private(files[name], text)


async def keep_token(settings: Settings, bench: Workbench) -> None:
    """Whoever restores an instance can use it: without a token that opens it, its first administrator
    gets a new one."""
    async with bench.db.write() as conn:
        try:
            await authenticate(conn, _read(settings.token_file), bench.clock())
            return
        except Unauthenticated:
            admins = sa.select(user.c.id).where(user.c.is_admin).order_by(user.c.created_at, user.c.id)
            first = await conn.scalar(admins.limit(1))
        if first is not None:
            _, text = await issue_token(conn, first, name="restored", scope=Scope.ADMIN, now=bench.clock())
            settings.token_file.unlink(missing_ok=True)
            write_private(settings.token_file, text + "\n")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
