"""From the one URL in the settings to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from kosmos.errors import ConfigError
from kosmos.store.contract import Store

_MILVUS = {"milvus": "http", "milvus+tls": "https", "http": "http", "https": "https"}
_REMEDY = "Use a folder, postgresql://user@host/name or milvus://host:19530."


def open_store(location: str) -> Store:
    """The store that a path or URL names. Nothing is made or contacted yet.

    A folder (or `file:///folder`) is a LocalStore, `postgresql://…` pgvector, `milvus://host:port`,
    `http://…` and `https://…` a Milvus server, and `milvus:///path/to/file.db` Milvus Lite.
    """
    scheme, colon, _ = location.partition("://")
    if not colon:
        return _local(location)
    try:
        parts = urlsplit(location)
        _ = parts.port
    except ValueError:
        raise ConfigError("The URL of the index cannot be read.", remedy=_REMEDY) from None
    if scheme == "file" and parts.netloc in ("", "localhost"):
        return _local(unquote(parts.path))
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from kosmos.store.postgres import PostgresStore

        return PostgresStore(location)
    if scheme in _MILVUS:
        return _milvus(location)
    raise ConfigError(f"The URL of the index starts with {scheme!r}, which is not known.", remedy=_REMEDY)


def shown_location(location: str) -> str:
    """The same without passwords."""
    scheme, colon, rest = location.partition("://")
    user, at, place = rest.split("?", maxsplit=1)[0].rpartition("@")
    if not colon:
        return location
    return f"{scheme}://{user.split(':', maxsplit=1)[0]}{at}{place}"


def _local(path: str) -> Store:
    from kosmos.store.local import LocalStore

    if not path.strip() or "\0" in path:
        raise ConfigError("The index is set to no folder.", remedy=_REMEDY)
    return LocalStore(Path(path).expanduser().absolute())


def _milvus(location: str) -> Store:
    from kosmos.store.milvus import MilvusStore

    parts = urlsplit(location)
    if parts.scheme == "milvus" and not parts.netloc:
        if not parts.path.endswith(".db"):
            raise ConfigError(
                "Milvus Lite needs a file that ends with .db.", remedy="milvus:///folder/index.db"
            )
        return MilvusStore(unquote(parts.path))
    host = parts.netloc.rpartition("@")[2]
    token = unquote(parts.netloc.rpartition("@")[0])
    return MilvusStore(f"{_MILVUS[parts.scheme]}://{host}", token=token, database=parts.path.strip("/"))
