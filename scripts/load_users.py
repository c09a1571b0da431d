"""The users of a load run: accounts of their own in shared spaces, each doing one thing after the other.

Does nothing when run.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from load_client import Client, GaveUp
from load_ledger import Heard, Ledger, Paper
from load_texts import make_document, make_question

API = "/api/v1"
LONGEST_RUN = 150.0  # seconds until a run whose server died must have ended
FOLDER = 3  # files of a folder that is uploaded
# How often each thing is done, in hundredths.
MIX: Mapping[str, int] = {
    "search": 52,
    "ask": 13,
    "read": 12,
    "list": 9,
    "upload_new": 5,
    "upload_same": 3,
    "upload_version": 3,
    "upload_folder": 1,
    "cancel": 1,
    "stop": 1,
}


@dataclass(slots=True)
class User:
    """An account, the spaces it works in, and what it has done so far."""

    name: str
    token: str
    spaces: tuple[str, ...]  # the first is the one that it writes to
    session_id: str
    library: tuple[str, ...]  # documents that were there before
    client: Client
    ledger: Ledger
    rng: random.Random
    papers: list[Paper] = field(default_factory=list)
    count: int = 0
    gave_up: list[str] = field(default_factory=list)

    async def live(self, until: float, think: float) -> None:
        """Do one thing after the other, with pauses that last `think` seconds on average."""
        await asyncio.sleep(self.rng.uniform(0, think))
        while time.monotonic() < until:
            what = self.rng.choices(list(MIX), weights=list(MIX.values()))[0]
            act: Callable[[], Awaitable[None]] = getattr(self, what)
            try:
                await act()
            except GaveUp as error:
                self.gave_up.append(f"{self.name}: {what}: {error}")
            left = max(0.0, until - time.monotonic())
            await asyncio.sleep(min(self.rng.expovariate(1 / think), left))

    async def search(self) -> None:
        """Look for something in one space, or in all."""
        ids = self.spaces[:1] if self.rng.random() < 0.7 else self.spaces
        form = {"query": make_question(self.rng), "space_ids": list(ids), "k": 10}
        response = await self._call("search", "POST", "/search", json=form)
        if not response.json()["items"]:
            self.ledger.wrong.append(f"{self.name}: nothing was found for {form['query']!r}")

    async def read(self) -> None:
        """Read lines of a document that has been there for long."""
        chosen = self.rng.choice(self.library)
        lines = await self._call("read", "GET", f"/documents/{chosen}/lines", params={"start": 1, "end": 30})
        if not lines.json()["lines"]:
            self.ledger.wrong.append(f"{chosen} has no lines")

    async def list(self) -> None:
        """Look at the documents of the space, or at the talk so far."""
        if self.rng.random() < 0.5:
            await self._call("list", "GET", f"/spaces/{self.spaces[0]}/documents", params={"limit": 50})
        else:
            await self._call("list", "GET", f"/sessions/{self.session_id}/messages")

    async def upload_new(self) -> None:
        """A document that nobody has seen."""
        self.count += 1
        data = make_document(self.rng).encode()
        self.papers.append(await self._upload(f"{self.name}/note-{self.count}.md", data))

    async def upload_same(self) -> None:
        """The same bytes once more: nothing may come of it."""
        if not self.papers:
            await self.upload_new()
        paper = self.rng.choice(self.papers)
        await self._upload(paper.name, paper.data)

    async def upload_version(self) -> None:
        """A new version of an own document; some do not wait until the one before it is done."""
        if not self.papers:
            await self.upload_new()
        paper = self.rng.choice(self.papers)
        now = (await self._call("look", "GET", f"/documents/{paper.document_id}")).json()
        done = now["status"] == "READY" and now["version"] == len(paper.versions)
        if done or self.rng.random() < 0.3:
            paper.hasty = paper.hasty or not done
            await self._upload(paper.name, paper.data + make_document(self.rng, sections=1).encode())

    async def upload_folder(self) -> None:
        """Several files at once."""
        self.count += 1
        names = [f"{self.name}/folder-{self.count}/{number}.md" for number in range(FOLDER)]
        files = {name: make_document(self.rng).encode() for name in names}
        parts = [("file", (name, data, "text/markdown")) for name, data in files.items()]
        path = f"/spaces/{self.spaces[0]}/documents"
        added = (await self._call("upload", "POST", path, files=parts)).json()["added"]
        if len(added) != FOLDER:
            self.ledger.wrong.append(f"{self.name}: {len(added)} files of a folder were taken")
        for item, (name, data) in zip(added, files.items(), strict=False):
            self._note(name, data, item)

    async def cancel(self) -> None:
        """Cancel the work on a new document, then upload it after all."""
        self.count += 1
        name, data = f"{self.name}/note-{self.count}.md", make_document(self.rng).encode()
        response = await self._send(name, data)
        item = response.json()["added"][0]
        self._note(name, data, item).hasty = True
        if item["jobs"]:
            path = f"/jobs/{item['jobs'][-1]['id']}/cancel"
            await self._call("cancel", "POST", path, expect=(200, 409))
        self.papers.append(await self._upload(name, data))

    async def ask(self) -> None:
        """A question, its answer streamed; some break the connection and come back."""
        heard = await self._begin_run()
        await self._follow(heard)

    async def stop(self) -> None:
        """A question whose answer is stopped half-way."""
        heard = await self._begin_run(listen=0.0)
        heard.stopped = True
        path = f"/sessions/{self.session_id}/runs/{heard.run_id}/stop"
        await self._call("stop", "POST", path)
        await self._follow(heard)

    async def _call(self, operation: str, method: str, path: str, **more: Any) -> httpx2.Response:
        response = await self.client.call(operation, method, API + path, token=self.token, **more)
        if response.status_code >= 400 and response.status_code not in more.get("expect", ()):
            raise GaveUp(f"{operation}: {response.status_code} {response.text[:300]}")
        return response

    async def _send(self, name: str, data: bytes) -> httpx2.Response:
        path = f"/spaces/{self.spaces[0]}/documents"
        return await self._call("upload", "POST", path, params={"filename": name}, content=data)

    async def _upload(self, name: str, data: bytes) -> Paper:
        return self._note(name, data, (await self._send(name, data)).json()["added"][0])

    def _note(self, name: str, data: bytes, item: Mapping[str, Any]) -> Paper:
        return self.ledger.note_upload(self.spaces[0], name, data, item["document"]["id"])

    async def _begin_run(self, *, listen: float | None = None) -> Heard:
        """Ask once: whatever becomes of the answer to the request, the question is asked a single time."""
        self.count += 1
        question = f"{make_question(self.rng)} ({self.name}/{self.count})"
        path, form = (
            f"{API}/sessions/{self.session_id}/runs",
            {"question": question, "space_ids": [*self.spaces]},
        )
        deadline = time.monotonic() + LONGEST_RUN
        heard: Heard | None = None
        for attempt in range(1000):
            async with self.client.stream("ask", "POST", path, token=self.token, json=form) as response:
                if response is not None and response.status_code == 200:
                    heard = self.ledger.note_run(response.headers["Kosmos-Run-ID"], self.session_id, question)
                    await self._listen(response, heard, listen)
            if heard is not None:  # also where the stream broke: the question is taken
                return heard
            if (found := await self._find_run()) is not None:
                return self.ledger.note_run(found, self.session_id, question)
            if time.monotonic() > deadline:
                break
            await self.client.pause(attempt)
        raise GaveUp(f"ask: {question}")

    async def _find_run(self) -> str | None:
        """A run that was begun although its beginning could not be told."""
        runs = await self._call("list", "GET", f"/sessions/{self.session_id}/runs")
        return next((one["id"] for one in runs.json()["items"] if one["id"] not in self.ledger.runs), None)

    async def _follow(self, heard: Heard) -> None:
        """Listen until the run has ended, at whichever server, behind what was heard already."""
        path = f"{API}/sessions/{self.session_id}/runs/{heard.run_id}/events"
        deadline = time.monotonic() + LONGEST_RUN
        attempt = 0
        while not heard.ended:
            if time.monotonic() > deadline:
                raise GaveUp(f"follow: the run {heard.run_id} does not end")
            more = {"Last-Event-ID": str(heard.last)}
            async with self.client.stream("follow", "GET", path, token=self.token, headers=more) as response:
                if response is not None and response.status_code == 200:
                    await self._listen(response, heard)
            if not heard.ended:
                await self.client.pause(attempt)
                attempt += 1

    async def _listen(self, response: httpx2.Response, heard: Heard, share: float | None = None) -> None:
        """Take events in; now and then the connection is cut on purpose."""
        cut = self.rng.random() < 0.3 if share is None else True
        left = self.rng.randint(0, 12) if share is None else 0
        async for number, kind in events_of(response):
            heard.events.append((number, kind))
            left -= 1
            if cut and left < 0:
                return


async def events_of(response: httpx2.Response) -> AsyncIterator[tuple[int, str]]:
    """The number and type of each event of a stream, as it comes."""
    held = b""
    async for piece in response.aiter_raw():
        *whole, held = (held + piece).split(b"\n\n")
        for block in whole:
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
            if b"id" in fields:
                yield int(fields[b"id"]), fields[b"event"].decode()
