"""The connection to Milvus: opened when it is needed first; its failures become errors with a remedy."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kosmos.errors import ConfigError, EngineUnavailable

SECONDS = 30.0


class Connection:
    """One client of pymilvus; a file is Milvus Lite."""

    def __init__(self, uri: str, token: str, database: str, *, on_failure: Callable[[], None]) -> None:
        self._uri = uri
        self._token = token
        self._database = database
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._client: Any = None

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
            with self._lock:
                if self._client is None:
                    self._client = self._open(MilvusClient)
            yield self._client
        except MilvusException as error:
            self._on_failure()
            raise EngineUnavailable(
                f"Milvus at {self._uri} cannot do this: {error.message}.",
                remedy="Check that it runs and is reachable; Milvus Lite lets only one process in.",
            ) from error

    def close(self) -> None:
        """Close it, if it was opened."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self, make: Any) -> Any:
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs what it raises as well
        if "://" in self._uri:
            return make(self._uri, token=self._token, db_name=self._database, timeout=SECONDS)
        logging.getLogger("grpc._server").setLevel(logging.CRITICAL)  # calls that Milvus Lite lacks
        Path(self._uri).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return make(self._uri)
