"""The processes of a load run: two servers, three workers, the model double. Does nothing when run."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx2
import psutil
from load_texts import Script

START_SECONDS = 240.0
STOP_SECONDS = 20.0
SERVERS = 2
WORKERS = 3
SLOTS = 2  # jobs that a worker has at once


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Place:
    """Where everything lies and how it is reached."""

    folder: Path
    database: str
    redis: str
    ports: tuple[int, ...]
    model_port: int

    @property
    def home(self) -> Path:
        """The home that all processes share."""
        return self.folder / "home"

    @property
    def bases(self) -> tuple[str, ...]:
        """The addresses of the servers."""
        return tuple(f"http://127.0.0.1:{port}" for port in self.ports)

    def environment(self) -> dict[str, str]:
        """What every process is told."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KOSMOS_")}
        return kept | {
            "KOSMOS_HOME": str(self.home),
            "KOSMOS_DATABASE_URL": self.database,
            "KOSMOS_INDEX_URL": self.database,
            "KOSMOS_REDIS_URL": self.redis,
            "KOSMOS_WORKER_SLOTS": "0",
            "KOSMOS_ENCODER_THREADS": "1",
            "KOSMOS_LOG_LEVEL": "WARNING",
        }


class Member:
    """One process, which can be killed and started again. What it says goes to a file."""

    def __init__(self, name: str, words: list[str], place: Place) -> None:
        self.name = name
        self.group = name.rstrip("0123456789")
        self._words = [sys.executable, "-m", "kosmos", *words]
        self._environment = place.environment()
        self._log = place.folder / f"{name}.log"
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(self._words, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        """Start it again."""
        self.process = self._start()

    def stop(self) -> None:
        """Ask it to end; kill it when it does not."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


class Meter:
    """The CPU seconds of groups of processes, also of those that were killed meanwhile."""

    def __init__(self) -> None:
        self._ended: Counter[str] = Counter()

    def note_end(self, group: str, pid: int) -> None:
        """Keep what a process and its children took: it is about to be killed."""
        self._ended[group] += tree_seconds(pid)

    def read(self, living: Mapping[str, list[int]]) -> Counter[str]:
        """What each group took so far."""
        now = Counter(self._ended)
        for group, pids in living.items():
            now[group] += sum(tree_seconds(pid) for pid in pids)
        return now


def tree_seconds(pid: int) -> float:
    """The CPU seconds of a process, its children, and the children that have ended."""
    try:
        top = psutil.Process(pid)
        every = [top, *top.children(recursive=True)]
    except psutil.Error:
        return 0.0
    total = 0.0
    for process in every:
        try:
            total += sum(process.cpu_times()[:4])  # its own, and those of children it has waited for
        except psutil.Error:
            continue
    return total


class Crew:
    """All processes of Kosmos; one that ends by itself is started again, and that is noted."""

    def __init__(self, place: Place) -> None:
        self.place = place
        script = place.folder / "script.json"
        script.write_text(json.dumps({"default": {**asdict(Script()), "repeat": True}}), encoding="utf-8")
        run_command(place, "db", "upgrade")
        model = ["model-double", str(script), "--port", str(place.model_port)]
        self.members = {"model": Member("model", model, place)}
        for number, port in enumerate(place.ports):
            self._add(f"api{number}", ["serve", "--port", str(port)])
            if not number:  # the first makes the owner and the keys that the others use
                asyncio.run(until_ready(place.bases[0]))
        for number in range(WORKERS):
            self._add(f"worker{number}", ["worker", "--dramatiq", "--slots", str(SLOTS)])
        self.crashes: list[str] = []

    def _add(self, name: str, words: list[str]) -> None:
        self.members[name] = Member(name, words, self.place)

    def groups(self) -> dict[str, list[int]]:
        """The living processes by group."""
        found: dict[str, list[int]] = {}
        for member in self.members.values():
            found.setdefault(member.group, []).append(member.process.pid)
        return found

    def tend(self) -> None:
        """Start again what has ended although nobody killed it."""
        for member in self.members.values():
            if member.process.poll() is not None:
                self.crashes.append(f"{member.name} ended with {member.process.returncode}")
                member.start()

    def stop(self) -> None:
        """End them all."""
        for member in self.members.values():
            member.process.terminate()
        for member in self.members.values():
            member.stop()


def run_command(place: Place, *words: str) -> "subprocess.CompletedProcess[str]":
    """A command of Kosmos; RuntimeError with what it said when it fails."""
    command = [sys.executable, "-m", "kosmos", *words]
    done = subprocess.run(command, env=place.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"kosmos {' '.join(words)}: {done.stdout}{done.stderr}")
    return done


async def until_ready(base: str) -> None:
    """Return once a server answers."""
    deadline = time.monotonic() + START_SECONDS
    async with httpx2.AsyncClient() as http:
        while True:
            try:
                if (await http.get(f"{base}/healthz", timeout=2.0)).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            if time.monotonic() > deadline:
                raise TimeoutError(f"{base} does not answer")
            await asyncio.sleep(0.1)
