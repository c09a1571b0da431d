"""What is there before a load run begins: accounts, spaces, a model, a library. Does nothing when run."""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Any

from load_client import Client
from load_crew import Place
from load_ledger import Ledger
from load_texts import make_document
from load_users import API, User

SPACES = 8
BATCH = 20  # documents in one upload
AT_ONCE = 8  # accounts that are made at once
IDLE_USERS = 4
IDLE_PAUSE = 0.3
WARM = 6


@dataclass(slots=True)
class Stage:
    """The owner of the instance, who sets everything up."""

    place: Place
    client: Client
    ledger: Ledger
    rng: random.Random
    token: str

    async def call(self, method: str, path: str, **more: Any) -> Any:
        """A request of the owner; what it brought."""
        response = await self.client.call("prepare", method, API + path, token=self.token, **more)
        if response.status_code >= 400:
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text[:500]}")
        return response.json()

    async def add_model(self) -> None:
        """The model double, for everybody."""
        url = f"http://127.0.0.1:{self.place.model_port}/v1"
        form = {"name": "double", "type": "LLM", "base_url": url, "model": "double"}
        await self.call("POST", "/credentials", json={**form, "is_default": True, "for_instance": True})

    async def add_library(self, documents: int) -> dict[str, list[str]]:
        """Spaces with documents that are there before anybody comes: their ids by space."""
        library: dict[str, list[str]] = {}
        spaces = min(SPACES, max(1, documents // BATCH))
        for number in range(spaces):
            space = await self.call("POST", "/spaces", json={"name": f"hall {number}"})
            library[space["id"]] = await self._fill(space["id"], documents // spaces)
        return library

    async def _fill(self, space_id: str, count: int) -> list[str]:
        found: list[str] = []
        for start in range(0, count, BATCH):
            numbers = range(start, min(count, start + BATCH))
            files = {f"library/{number}.md": make_document(self.rng).encode() for number in numbers}
            parts = [("file", (name, data, "text/markdown")) for name, data in files.items()]
            uploaded = await self.call("POST", f"/spaces/{space_id}/documents", files=parts)
            for item, (name, data) in zip(uploaded["added"], files.items(), strict=True):
                document_id = item["document"]["id"]
                self.ledger.note_upload(space_id, name, data, document_id)
                found.append(document_id)
        return found

    async def add_users(self, count: int, library: dict[str, list[str]]) -> list[User]:
        """Users, each with a token and a session, who write to one space and read another."""
        seeds = [self.rng.random() for _ in range(count)]
        found: list[User] = []
        for start in range(0, count, AT_ONCE):
            some = range(start, min(count, start + AT_ONCE))
            found += await asyncio.gather(*(self._add_user(n, library, seeds[n]) for n in some))
        return found

    async def _add_user(self, number: int, library: dict[str, list[str]], seed: float) -> User:
        made = await self.call("POST", "/users", json={"name": f"user{number}"})
        ids = list(library)
        chosen = tuple(dict.fromkeys(ids[(number + step) % len(ids)] for step in (0, 1)))
        for space_id, role in zip(chosen, ("editor", "viewer"), strict=False):
            form = {"user": made["user"]["id"], "role": role}
            await self.call("PUT", f"/spaces/{space_id}/members", json=form)
        session = await self.client.call(
            "prepare", "POST", f"{API}/sessions", token=made["token"], json={"title": f"talk {number}"}
        )
        known = tuple(document for space_id in chosen for document in library[space_id])
        rng = random.Random(seed)  # noqa: S311  (repeatable on purpose)
        own = (made["token"], chosen, session.json()["id"], known)
        return User(f"user{number}", *own, client=self.client, ledger=self.ledger, rng=rng)


async def search_idly(users: list[User], searches: int) -> float:
    """A few users search while nobody else does anything; when the first search that counts began."""
    for user in users[:IDLE_USERS]:
        for _ in range(min(WARM, searches)):
            await user.search()
    began = time.monotonic()

    async def some(user: User) -> None:
        for _ in range(searches):
            await user.search()
            await asyncio.sleep(IDLE_PAUSE)

    await asyncio.gather(*(some(user) for user in users[:IDLE_USERS]))
    return began
