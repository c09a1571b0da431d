"""Where runs of the graph are kept between two steps: a SQLite file, or the PostgreSQL of the instance."""

import asyncio
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from kosmos.agents.react import schemas
from kosmos.agents.react.graph import missing_extra
from kosmos.errors import ConfigError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

_OWN = (
    schemas.NamedEntity,
    schemas.ProblemAnalysis,
    schemas.ExecutionPlan,
    schemas.SelfEvaluation,
    schemas.OperationType,
    schemas.RiskLevel,
    schemas.PlanAction,
    schemas.EvaluatedStatus,
    schemas.NextStep,
)

_KIND = "msgpack"  # the one form that is read back: others could make objects of any class


def _config(run_id: str) -> "RunnableConfig":
    return {"configurable": {"thread_id": run_id, "checkpoint_ns": ""}}


class Checkpoints:
    """Opened when the first run needs it. A checkpoint can hold our own forms and nothing else that acts."""

    def __init__(self, url: str = "sqlite:///:memory:") -> None:
        self._url = url
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._saver: BaseCheckpointSaver[str] | None = None

    async def saver(self) -> "BaseCheckpointSaver[str]":
        """What LangGraph stores with."""
        async with self._lock:
            if self._saver is None:
                # What is read back must be one of our forms: a checkpoint is input like any other.
                os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
                try:
                    self._saver = await self._open()
                except ImportError:
                    raise missing_extra() from None
            return self._saver

    async def _open(self) -> "BaseCheckpointSaver[str]":
        from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        serde = JsonPlusSerializer(allowed_msgpack_modules=_OWN)
        if self._url.startswith("sqlite"):
            return await self._open_sqlite(serde)
        return await self._open_postgres(serde)

    async def _open_sqlite(self, serde: Any) -> "BaseCheckpointSaver[str]":
        import aiosqlite
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        path = self._url.removeprefix("sqlite:///")
        conn = await self._stack.enter_async_context(aiosqlite.connect(path, timeout=30))
        saver = AsyncSqliteSaver(conn, serde=serde)
        await saver.setup()
        return saver

    async def _open_postgres(self, serde: Any) -> "BaseCheckpointSaver[str]":
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool

        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        address = self._url.replace("postgresql+psycopg://", "postgresql://", 1)
        pool: Any = AsyncConnectionPool(address, min_size=1, max_size=4, open=False, kwargs=options)
        await self._stack.enter_async_context(pool)
        saver = AsyncPostgresSaver(pool, serde=serde)
        await saver.setup()
        return saver

    async def pack(self, run_id: str) -> tuple[str, bytes] | None:
        """The last checkpoint of a run as bytes that `unpack` takes on any engine; None if there is none."""
        saver = await self.saver()
        found = await saver.aget_tuple(_config(run_id))
        if found is None:
            return None
        writes = [list(write) for write in found.pending_writes or ()]
        return saver.serde.dumps_typed([found.checkpoint, found.metadata, writes])

    async def unpack(self, run_id: str, kind: str, data: bytes) -> None:
        """Let a run go on from such bytes; ValueError if they are none."""
        saver = await self.saver()
        if kind != _KIND:
            raise ValueError(kind)
        try:
            checkpoint, metadata, writes = saver.serde.loads_typed((kind, data))
            versions = checkpoint["channel_versions"]
            placed = await saver.aput(_config(run_id), checkpoint, metadata, versions)
            for task in dict.fromkeys(write[0] for write in writes):
                await saver.aput_writes(
                    placed, [(one, value) for to, one, value in writes if to == task], task
                )
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(str(error)) from error

    async def forget(self, run_id: str) -> None:
        """Remove what is kept of a run of the graph that has ended."""
        try:
            saver = await self.saver()
        except ConfigError:  # without the extra nothing was ever kept
            return
        await saver.adelete_thread(run_id)

    async def close(self) -> None:
        """Let go of connections."""
        self._saver = None
        await self._stack.aclose()
