"""Blobs as objects `prefix/<sha256>` in a bucket of any S3 service."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from pathlib import Path

from kosmos.blobs.bucket import Body, Bucket, Call
from kosmos.blobs.digests import digest_of, is_sha256, missing, require_sha256, verified
from kosmos.blobs.listing import Page, parse_page, unintelligible
from kosmos.blobs.sources import source_chunks, unchanged
from kosmos.errors import NotFound

_PROBE = ".kosmos-check"


class S3Blobs:
    """A blob store that many machines share.

    Storing what is there already sends nothing when the size is right; damage of equal size is found by
    reading, and healed by removing the blob and storing it again.
    """

    def __init__(self, bucket: Bucket, *, page_size: int = 1000) -> None:
        self._bucket = bucket
        self._prefix = bucket.location.prefix
        self._page_size = page_size
        self._conditional = True

    async def put(self, data: bytes) -> str:
        """Store these bytes durably and return their key; storing them again changes nothing."""
        body = await asyncio.to_thread(_body, data)
        await self._store(body)
        return body.sha256

    async def put_file(self, path: Path) -> str:
        """Store the content of a regular file, read piece by piece, and return its key."""
        sha256, size = await asyncio.to_thread(lambda: digest_of(source_chunks(path)))
        await self._store(Body(sha256, size, lambda: unchanged(path, sha256=sha256, size=size)))
        return sha256

    async def read(self, sha256: str) -> bytes:
        """The whole content; DataLost when it is missing or no longer fits its key."""
        return b"".join([chunk async for chunk in self.stream(sha256)])

    def stream(self, sha256: str) -> AsyncGenerator[bytes, None]:
        """The content in pieces; the last is held back until the whole is verified, else DataLost."""
        return verified(sha256, self._chunks(sha256, self._name(sha256)))

    async def exists(self, sha256: str) -> bool:
        """Whether something is stored under this key; its content is not read."""
        if await self._size(sha256) is not None:
            return True
        # HEAD does not say whether the object or the whole bucket is missing.
        await self._page(None, size=1)
        return False

    async def remove(self, sha256: str) -> None:
        """Forget this key; nothing happens when it is not there."""
        await self._delete(self._name(sha256))

    async def keys(self) -> AsyncGenerator[str, None]:
        """Every stored key, page by page; objects that are not ours are passed over."""
        token: str | None = None
        while True:
            page = await self._page(token, size=self._page_size)
            for name in page.names:
                key = name[len(self._prefix) :]
                if name.startswith(self._prefix) and is_sha256(key):
                    yield key
            if page.next_token is None:
                return
            if page.next_token == token:
                raise unintelligible("the list goes round in a circle")
            token = page.next_token

    async def check(self) -> None:
        """List, put and delete once, else EngineUnavailable or ConfigError."""
        await self._page(None, size=1)
        await self._upload(self._prefix + _PROBE, _body(b"check"))
        await self._delete(self._prefix + _PROBE)

    async def close(self) -> None:
        """Close the connections."""
        await self._bucket.close()

    def _name(self, sha256: str) -> str:
        return self._prefix + require_sha256(sha256)

    async def _store(self, body: Body) -> None:
        name, stored = self._name(body.sha256), await self._size(body.sha256)
        if stored == body.size:
            return
        if stored is not None or not self._conditional:
            await self._upload(name, body)
            return
        # 412: somebody else stored it meanwhile. 400 and 501: perhaps the service cannot do conditions.
        call = Call("PUT", name, headers={"If-None-Match": "*"}, body=body, also=frozenset({400, 412, 501}))
        async with self._bucket.call(call) as response:
            status = response.status_code
        if status in {400, 501}:
            await self._upload(name, body)
            self._conditional = False

    async def _upload(self, name: str, body: Body) -> None:
        async with self._bucket.call(Call("PUT", name, body=body)):
            pass

    async def _delete(self, name: str) -> None:
        try:
            async with self._bucket.call(Call("DELETE", name)):
                pass
        except NotFound:
            return

    async def _size(self, sha256: str) -> int | None:
        try:
            async with self._bucket.call(Call("HEAD", self._name(sha256))) as response:
                length = response.headers.get("content-length", "")
        except NotFound:
            return None
        return int(length) if length.isascii() and length.isdigit() else -1

    async def _chunks(self, sha256: str, name: str) -> AsyncGenerator[bytes, None]:
        try:
            async with self._bucket.call(Call("GET", name)) as response:
                async for chunk in response.aiter_raw():
                    yield chunk
        except NotFound as error:
            raise missing(sha256) from error

    async def _page(self, token: str | None, *, size: int) -> Page:
        query = {"list-type": "2", "prefix": self._prefix, "delimiter": "/", "max-keys": str(size)}
        if token is not None:
            query["continuation-token"] = token
        return parse_page(await self._bucket.fetch(Call("GET", query=query)))


def _body(data: bytes) -> Body:
    async def whole() -> AsyncGenerator[bytes, None]:
        yield data

    return Body(hashlib.sha256(data).hexdigest(), len(data), whole)
