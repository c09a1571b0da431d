"""Which URL names which store."""

from pathlib import Path

import pytest

from kosmos.errors import ConfigError
from kosmos.store.local import LocalStore
from kosmos.store.milvus import MilvusStore
from kosmos.store.opening import open_store, shown_location
from kosmos.store.postgres import PostgresStore


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("relative/folder", LocalStore),
        ("file:///tmp/with%20space", LocalStore),
        ("postgresql://user:pw@host:5432/name", PostgresStore),
        ("postgres://host/name", PostgresStore),
        ("milvus://host:19530", MilvusStore),
        ("milvus://root:Milvus@host:19530/database", MilvusStore),
        ("http://host:19530", MilvusStore),
        ("https://cluster.example:443", MilvusStore),
        ("milvus:///folder/index.db", MilvusStore),
    ],
)
async def test_each_engine_has_its_urls(location: str, kind: type, tmp_path: Path) -> None:
    store = open_store(location)
    assert type(store) is kind
    await store.close()


@pytest.mark.parametrize(
    "location",
    [
        "",
        "  ",
        "a\0b",
        "redis://host",
        "milvus:///folder",
        "postgresql://host",
        "http://[bad",
        "milvus://h:port",
    ],
)
def test_what_names_no_store_is_refused_with_examples(location: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(location)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/home/me/index", "/home/me/index"),
        ("postgresql://me:se@cret@host/name?password=x", "postgresql://me@host/name"),
        ("milvus://host:19530", "milvus://host:19530"),
    ],
)
def test_passwords_are_not_shown(location: str, shown: str) -> None:
    assert shown_location(location) == shown
