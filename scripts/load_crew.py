"""The processes of a load run: two servers, three workers, the model double. Does nothing when run."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx2
from load_texts import Script

START_SECONDS = 240.0
STOP_SECONDS = 20.0
SERVERS = 2
TEND_SECONDS = 1.0
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
        self.struck = False  # it is killed on purpose, and will be started again
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(self._words, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """Kill -9."""
        self.struck = True
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        """Start it again."""
        self.process = self._start()
        self.struck = False

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
        self._ended: dict[str, float] = {}

    def note_end(self, group: str, pid: int) -> None:
        """Keep what a process and its children took: it is about to be killed."""
        self._ended[group] = self._ended.get(group, 0.0) + tree_seconds(pid)

    def read(self, living: Mapping[str, list[int]]) -> dict[str, float]:
        """What each group took so far."""
        return {
            group: self._ended.get(group, 0.0) + sum(map(tree_seconds, pids))
            for group, pids in living.items()
        }


def tree_seconds(pid: int) -> float:
    """The CPU seconds of a process, its children, and those of its children that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:  # the name, in parentheses, may hold anything
            words = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(path.parent.name)
        parents[number] = int(words[1])
        ticks[number] = sum(map(int, words[11:15]))  # user, system, and both of children waited for
    found, fresh = {pid}, [pid]
    while fresh:
        fresh = [one for one, parent in parents.items() if parent in fresh and one not in found]
        found.update(fresh)
    return sum(ticks.get(one, 0) for one in found) / os.sysconf("SC_CLK_TCK")


class Crew:
    """All processes of Kosmos; one that ends by itself is started again, and that is noted."""

    def __init__(self, place: Place, workers: int) -> None:
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
        for number in range(workers):
            self._add(f"worker{number}", ["worker", "--dramatiq", "--slots", str(SLOTS)])
        self.crashes: list[tuple[float, str]] = []

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
            if not member.struck and member.process.poll() is not None:
                text = f"{member.name} ended by itself with {member.process.returncode}"
                self.crashes.append((time.monotonic(), text))
                member.start()

    async def tend_on(self) -> None:
        """Do so for ever."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            self.tend()

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
