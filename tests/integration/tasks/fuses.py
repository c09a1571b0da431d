"""Engines that stop the whole machine at a chosen call: before it, or after it and before anybody knows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from .scene import Crash, Scene


class Fuse:
    """Lets so many steps happen; from then on nothing happens at all."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.blown = False

    def burn(self) -> None:
        """One step more, or the end."""
        self.blown = self.blown or self._left == 0
        self._left -= 1
        if self.blown:
            raise Crash


class Fused:
    """An engine that burns a fuse before and after the calls of these names."""

    def __init__(self, inner: Any, fuse: Fuse, *names: str) -> None:
        self._inner, self._fuse, self._names = inner, fuse, names

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._names:
            return method

        async def call(*args: Any) -> Any:
            self._fuse.burn()
            result = await method(*args)
            self._fuse.burn()
            return result

        return call


class FusedDatabase(Fused):
    """A database that burns a fuse before and after it commits."""

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        """A transaction that may be lost, or committed with nobody left to hear of it."""
        async with self._inner.write() as conn:
            yield conn
            self._fuse.burn()
        self._fuse.burn()

    @asynccontextmanager
    async def brief(self) -> AsyncIterator[Any]:
        """The same for a brief one."""
        async with self._inner.brief() as conn:
            yield conn
            self._fuse.burn()
        self._fuse.burn()


def fused(scene: Scene, fuse: Fuse) -> Scene:
    """The same instance on a machine that will stop."""
    bench = scene.bench
    return scene.using(
        db=FusedDatabase(bench.db, fuse),
        blobs=Fused(bench.blobs, fuse, "put", "read", "exists", "remove"),
        store=Fused(bench.store, fuse, "upsert", "delete"),
    )
