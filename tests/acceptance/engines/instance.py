"""An instance as its users see it: a server, a worker, the command, and nothing behind them."""

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from acceptance.agents.server import free_port
from acceptance.cli.running import KOSMOS, Done, Kosmos
from acceptance.engines.double import Double
from acceptance.engines.sets import EngineSet
from acceptance.sent_events import SentEvents

Json = dict[str, Any]
ENDED = ("COMPLETED", "FAILED", "CANCELLED")


@dataclass
class Instance:
    """`kosmos serve` and `kosmos worker` as processes of their own, and the command beside them."""

    folder: Path
    engines: EngineSet
    double: Double
    port: int = field(default_factory=free_port)
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)
    clients: list[httpx2.Client] = field(default_factory=list)

    @property
    def command(self) -> Kosmos:
        """The command of the local user."""
        settings = {**self.engines.environ, "KOSMOS_WORKER_SLOTS": "0", "KOSMOS_PORT": str(self.port)}
        return Kosmos(self.folder / "家 home", settings, quick=True)

    def cli(self, *arguments: str | Path) -> Any:
        """What a command prints with `--json`."""
        return self.command.json(*arguments)

    def refused(self, *arguments: str | Path) -> Done:
        """A command that may fail."""
        return self.command.run(*arguments)

    def start(self, name: str, *arguments: str) -> None:
        """Start a process that goes on until it is ended."""
        with self.log(name).open("ab") as err:
            command = [str(KOSMOS), *arguments]
            process = subprocess.Popen(command, env=self.command.environ, stdout=err, stderr=err)
        self.processes[name] = process

    def start_worker(self) -> None:
        """The worker of the set."""
        self.start("worker", *self.engines.worker)

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> int:
        """End a process; its exit code."""
        process = self.processes.pop(name)
        process.send_signal(how)
        return process.wait(timeout=60)

    def log(self, name: str) -> Path:
        """What a process has said."""
        return self.folder / f"{name}.log"

    def serve(self) -> None:
        """Start the server and return once it answers."""
        self.start("serve", "serve")
        with httpx2.Client(trust_env=False) as http:
            for _ in range(1200):
                assert self.processes["serve"].poll() is None, self.log("serve").read_text()
                try:
                    if http.get(f"http://127.0.0.1:{self.port}/healthz").is_success:
                        return
                except httpx2.TransportError:
                    time.sleep(0.1)
        raise AssertionError(self.log("serve").read_text())

    def client(self, token: str) -> "Caller":
        """Somebody who presents a token."""
        http = httpx2.Client(
            base_url=f"http://127.0.0.1:{self.port}/api/v1",
            headers={"authorization": f"Bearer {token}"},
            timeout=120,
            trust_env=False,
        )
        self.clients.append(http)
        return Caller(http)

    def owner(self) -> "Caller":
        """The local user over HTTP."""
        return self.client((self.command.home / "token").read_text().strip())

    def close(self) -> None:
        """End everything."""
        for client in self.clients:
            client.close()
        for name in list(self.processes):
            self.end(name)


@dataclass(frozen=True)
class Caller:
    """One user over HTTP."""

    http: httpx2.Client

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        """The answer to one request."""
        content = {} if body is None else {"json": body}
        return self.http.request(method, path, **content, **more)

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """The decoded answer to a request that must succeed."""
        answer = self.call(method, path, body, **more)
        assert answer.is_success, (path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def space(self, name: str, **more: Any) -> str:
        """The id of a new space."""
        return str(self.ok("POST", "/spaces", {"name": name, **more})["id"])

    def upload(self, space: str, name: str, data: str | bytes) -> Json:
        """Put one file into a space; it is not worked on yet."""
        content = data.encode() if isinstance(data, str) else data
        path = f"/spaces/{space}/documents"
        (added,) = self.ok("POST", path, params={"filename": name}, content=content)["added"]
        return dict(added)

    def add(self, space: str, name: str, data: str | bytes) -> str:
        """The id of a document once all that is to be done about it has been done."""
        added = self.upload(space, name, data)
        self.settle(space)
        return str(added["document"]["id"])

    def settle(self, space: str) -> None:
        """Wait until nothing of a space is under way; everything must have gone well."""
        for _ in range(1200):
            jobs = self.ok("GET", "/jobs", params={"space_id": space, "limit": 1000})["items"]
            if all(job["status"] in ENDED for job in jobs):
                bad = [(job["type"], job["reason"]) for job in jobs if job["status"] == "FAILED"]
                assert not bad, bad
                return
            time.sleep(0.1)
        raise AssertionError([(job["type"], job["status"], job["reason"]) for job in jobs])

    def until(self, path: str, field_: str, values: Sequence[str]) -> Json:
        """Something as soon as a field of it has one of these values."""
        for _ in range(1200):
            found: Json = self.ok("GET", path)
            if found[field_] in values:
                return found
            time.sleep(0.1)
        raise AssertionError(found)

    def events(self, path: str, **more: Any) -> list[Json]:
        """A stream to its end."""
        with self.http.stream("GET", path, **more) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream"), answer.status_code
            return list(read_events(answer))


def read_events(answer: httpx2.Response) -> Iterator[Json]:
    """Server-sent events as they come."""
    gathered = SentEvents()
    for line in answer.iter_lines():
        if event := gathered.feed(line):
            yield event


@contextmanager
def running(folder: Path, engines: EngineSet, double: Double) -> Iterator[Instance]:
    """A new instance with its server and its worker."""
    made = Instance(folder, engines, double)
    try:
        made.cli("db", "upgrade")
        made.serve()
        made.start_worker()
        yield made
    finally:
        made.close()
