"""A small instance with an owner and a space, and what must always hold in it."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from kosmos.accounts.people import create_user
from kosmos.accounts.spaces import make_space, put_member
from kosmos.accounts.tokens import authenticate
from kosmos.blobs.contract import Blobs
from kosmos.db import chunks, documents
from kosmos.db.tables import blob
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.chunks import Chunk
from kosmos.domain.documents import Document
from kosmos.retrieval.indexing import collection_of
from kosmos.store.filters import Filter
from kosmos.store.local import LocalStore
from kosmos.store.rows import IndexRow
from kosmos.tasks import asking
from kosmos.tasks.adding import Outcome, Source, add_document
from kosmos.tasks.workbench import Workbench


class Crash(Exception):
    """What a test throws where a machine would stop."""


@dataclass(frozen=True)
class Scene:
    """An owner, their space and the engines."""

    bench: Workbench
    owner: Principal
    space_id: str

    def using(self, **engines: Any) -> "Scene":
        """The same instance seen through other engines."""
        return replace(self, bench=replace(self.bench, **engines))

    async def add(self, text: str | bytes, name: str = "a.md") -> tuple[Document, Outcome]:
        """Add a document under a name that is its origin too."""
        data = text if isinstance(text, bytes) else text.encode()
        return await add_document(self.bench, self.space_id, Source(f"file:///x/{name}", name, data))

    async def person(self, name: str) -> Principal:
        """One more user."""
        async with self.bench.db.write() as conn:
            _, token = await create_user(conn, self.owner, name=name, is_admin=False, now=self.bench.clock())
            return await authenticate(conn, token, self.bench.clock())

    async def invite(self, name: str, role: Role) -> None:
        """Make a user a member of the space."""
        async with self.bench.db.write() as conn:
            await put_member(conn, self.owner, self.space_id, user=name, role=role, now=self.bench.clock())

    async def space(self, owner: Principal, name: str) -> str:
        """One more space."""
        async with self.bench.db.write() as conn:
            space = await make_space(conn, owner.user.id, name=name, description="", now=self.bench.clock())
            return space.id

    async def documents(self, space_id: str | None = None) -> list[Document]:
        """The documents of the space."""
        async with self.bench.db.read() as conn:
            return await documents.list_documents(conn, space_id or self.space_id)

    async def chunks(self, document_id: str) -> list[Chunk]:
        """The live chunks of a document."""
        async with self.bench.db.read() as conn:
            return await chunks.live_chunks(conn, document_id)

    async def rows(self) -> list[IndexRow]:
        """Everything in the index of the space."""
        return await self.bench.store.scan(collection_of(self.space_id))

    async def blobs(self) -> set[str]:
        """The keys of all stored bytes."""
        return {key async for key in self.bench.blobs.keys()}  # noqa: SIM118 - not a dictionary

    async def found(self, query: str) -> list[str]:
        """The texts that a search of the owner finds."""
        return [hit.text for hit in await asking.search(self.bench, self.owner, query)]

    async def check_served(self, text: str, name: str = "a.md") -> None:
        """The document has exactly this text everywhere that readers look."""
        (document,) = [item for item in await self.documents() if item.source == name]
        assert document.canonical_sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert (await self.bench.blobs.read(document.canonical_sha256)).decode() == text
        live = await self.chunks(document.id)
        assert "\n".join(chunk.raw_content for chunk in live) == text
        assert {row.pk for row in await self.rows()} >= {chunk.id for chunk in live}

    async def check_tidy(self) -> None:
        """No index row, no blob and no blob row without somebody who needs it, and none missing."""
        present = await self.documents()
        live = [chunk.id for document in present for chunk in await self.chunks(document.id)]
        assert sorted(row.pk for row in await self.rows()) == sorted(live)
        needed = {document.original_sha256 for document in present}
        needed |= {document.canonical_sha256 for document in present if document.canonical_sha256}
        assert await self.blobs() == needed
        async with self.bench.db.read() as conn:
            known = {row.sha256: row.size for row in await conn.execute(sa.select(blob))}
        assert known == {sha256: len(await self.bench.blobs.read(sha256)) for sha256 in needed}


Hook = Callable[[], Awaitable[None]]


async def crash() -> None:
    """The hook that stops everything."""
    raise Crash


@dataclass
class HookedStore(LocalStore):
    """A store at whose calls something else happens."""

    inner: LocalStore
    after_upsert: Hook | None = None
    before_delete: Hook | None = None

    async def upsert(self, collection: str, rows: Any) -> None:
        await self.inner.upsert(collection, rows)
        if self.after_upsert:
            await self.after_upsert()

    async def delete(self, collection: str, where: Filter) -> int:
        if self.before_delete:
            await self.before_delete()
        return await self.inner.delete(collection, where)


class HookedBlobs:
    """Blobs at whose calls something else happens."""

    def __init__(self, inner: Blobs, **hooks: Hook) -> None:
        self._inner = inner
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        method, hook = getattr(self._inner, name), self._hooks.get(name)

        async def call(*args: Any) -> Any:
            if hook and name == "exists":
                await hook()
            result = await method(*args)
            if hook and name != "exists":
                await hook()
            return result

        return call if hook else method
