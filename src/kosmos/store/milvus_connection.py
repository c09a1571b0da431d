"""The connection to Milvus: opened when it is needed first; its failures become errors with a remedy."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from kosmos.errors import ConfigError, EngineUnavailable
from kosmos.store import milvus_lite

SECONDS = 30.0
# Milvus Lite breaks off with whoever asks it every ten seconds whether it still lives, as pymilvus does.
_QUIET = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}


class Connection:
    """One client of pymilvus; a file is Milvus Lite, opened here or by another process."""

    def __init__(self, uri: str, token: str, database: str, *, forget: Callable[[], None]) -> None:
        self._uri = uri
        self._token = token
        self._database = database
        self._forget = forget
        self._lock = threading.Lock()
        self._client: Any = None
        self._file: milvus_lite.LiteFile | None = None
        self._writing = threading.RLock()
        self._depth = 0

    @contextmanager
    def use(self) -> Iterator[Any]:
        """The client; EngineUnavailable when Milvus does not do what it is asked."""
        try:
            from pymilvus import MilvusClient, MilvusException
        except ImportError:
            raise ConfigError(
                "The index is in Milvus, but pymilvus is not installed.",
                remedy="Run: pip install 'kosmos[milvus]'",
            ) from None
        try:
            yield self._opened(MilvusClient)
        except MilvusException as error:
            self._forget()
            if self._file is not None:
                self._client = None  # its host may have ended
            raise EngineUnavailable(
                f"Milvus at {self._uri} cannot do this: {error.message}.",
                remedy="Check that it runs and is reachable.",
            ) from error

    @contextmanager
    def write(self) -> Iterator[Any]:
        """The client, for one writer at a time: of this process, and with Milvus Lite of all of them."""
        with self.use() as client, self._writing, ExitStack() as stack:
            if self._file is not None and self._depth == 0:
                stack.enter_context(milvus_lite.writing(self._uri))
                self._forget()  # others may have written meanwhile
            self._depth += 1
            try:
                yield client
            finally:
                self._depth -= 1

    def close(self) -> None:
        """Close it, if it was opened."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None
            if self._file is not None:
                milvus_lite.leave(self._file)
                self._file = None

    def _opened(self, make: Any) -> Any:
        with self._lock:
            if self._file is not None:
                self._file.be_hosted()
            if self._client is None:
                self._client = self._open(make)
            return self._client

    def _open(self, make: Any) -> Any:
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs what it raises as well
        if "://" in self._uri:
            return make(self._uri, token=self._token, db_name=self._database, timeout=SECONDS)
        logging.getLogger("grpc._server").setLevel(logging.CRITICAL)  # calls that Milvus Lite lacks
        if self._file is None:
            self._file = milvus_lite.enter(self._uri)
        return make(self._file.address, grpc_options=_QUIET)
