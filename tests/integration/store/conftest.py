"""Every store there is, for real: LocalStore, Milvus Lite and PostgreSQL with pgvector."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kosmos.store.contract import Store
from kosmos.store.local import LocalStore
from kosmos.store.local_upkeep import Limits
from kosmos.store.milvus import MilvusStore
from kosmos.store.postgres import PostgresStore

KINDS = ("local", "sealed", "milvus", "postgres")


@dataclass(frozen=True)
class Subject:
    """A store with a collection of one's own."""

    kind: str
    store: Store
    collection: str


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where Milvus Lite keeps its data."""
    return str(tmp_path_factory.mktemp("milvus") / "index.db")


@pytest.fixture(scope="module")
def milvus(milvus_file: str) -> Iterator[MilvusStore]:
    """Milvus Lite; opening it takes long, so that tests share it."""
    store = MilvusStore(milvus_file)
    yield store
    asyncio.run(store.close())


def open_local(folder: Path, *, sealed: bool) -> LocalStore:
    """A LocalStore; a sealed one writes every row into files at once."""
    return LocalStore(folder, limits=Limits(seal_rows=1) if sealed else None)


@pytest.fixture(params=KINDS)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    """Each store, one after another."""
    collection = f"test_{uuid.uuid4().hex}"
    kind: str = request.param
    if kind == "milvus":
        yield Subject(kind, request.getfixturevalue("milvus"), collection)
    elif kind == "postgres":
        store = PostgresStore(request.getfixturevalue("postgres_server"))
        yield Subject(kind, store, collection)
        await store.drop(collection)
        await store.close()
    else:
        yield Subject(kind, open_local(tmp_path / "index", sealed=kind == "sealed"), collection)
