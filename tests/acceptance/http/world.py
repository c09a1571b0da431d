"""People with things of their own on one server, made over HTTP."""

import asyncio
import base64
import json
import struct
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx2

from acceptance.http.serving import Served
from kosmos.db import spaces, users
from kosmos.db.approvals import insert_approval
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.approvals import Approval, ApprovalStatus
from kosmos.domain.ids import new_id
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.following import follow_jobs
from kosmos.workers import make_worker

FORM = "multipart/form-data; boundary=kosmos"  # of every body that is given as bytes

MARK = "Quetzalmarker"  # stands in every name and text of the owner, and nowhere else
TEXT = f"""# {MARK} handbook

The {MARK} pump must be oiled every 40 days.

## 证书

{MARK} 的证书每 90 天轮换一次。
"""


@dataclass(frozen=True)
class Person:
    """A user with a token and a connection."""

    id: str
    name: str
    token: str
    http: httpx2.Client

    def call(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """The answer to one request; its body is Python's JSON, which knows NaN, or a form of bytes."""
        return send(self.http, method, path, body)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer to a request that must succeed."""
        answer = self.call(method, path, body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


def send(
    http: httpx2.Client, method: str, path: str, body: Any, headers: dict[bytes, bytes] | None = None
) -> httpx2.Response:
    """One request with a body that is JSON or, given as bytes, a form with files."""
    if body is None:
        return http.request(method, path, headers=headers)
    kind, content = (FORM, body) if isinstance(body, bytes) else ("application/json", json.dumps(body))
    named = {**(headers or {}), b"content-type": kind.encode()}
    return http.request(method, path, content=content, headers=named)


@dataclass(frozen=True)
class World:
    """A served instance. `ids` are the owner's: space, document, credential, token, user."""

    served: Served
    admin: Person
    owner: Person
    stranger: Person
    former: Person
    expired: str
    ids: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)

    def join(self, name: str) -> Person:
        """A new user."""
        return join(self.served, self.admin, name)

    def add(self, space_id: str, name: str = "handbook.md", text: str | bytes = TEXT) -> str:
        """The id of a document put into a space and made ready."""
        return add(self.served, space_id, name, text)

    def with_token(self, person: Person, **form: Any) -> Person:
        """The same user through another token."""
        text = person.ok("POST", "/api/v1/tokens", {"name": "other", **form})["text"]
        return Person(person.id, person.name, text, self.served.client(text))


def first_person(served: Served) -> Person:
    """The administrator that the first start has made."""
    token = served.settings.token_file.read_text().strip()
    http = served.client(token)
    me = http.get("/api/v1/me").json()
    return Person(me["id"], me["name"], token, http)


def join(served: Served, admin: Person, name: str) -> Person:
    """A new user, made by an administrator."""
    made = admin.ok("POST", "/api/v1/users", {"name": name})
    return Person(made["user"]["id"], name, made["token"], served.client(made["token"]))


def add(served: Served, space_id: str, name: str, text: str | bytes) -> str:
    """The id of a document put into a space by its owner, and made ready."""
    data = text if isinstance(text, bytes) else text.encode()
    return served.run(_add(served, space_id, Source(f"test:///{space_id}/{name}", name, data)))


async def _add(served: Served, space_id: str, source: Source) -> str:
    bench = served.app.bench
    async with bench.db.read() as conn:
        members = await spaces.list_members(conn, space_id)
        first = next(member.user_id for member in members if member.role is Role.OWNER)
        owner = await users.get_user(conn, first)
    assert owner is not None
    added = await add_document(bench, Principal(owner, Scope.ADMIN, ""), space_id, source)
    worker = make_worker(served.app, 2)
    working = asyncio.create_task(worker.run())
    async for ended in follow_jobs(bench, [job.id for job in added.jobs]):
        assert ended.failure is None, ended
    worker.stop()
    await working
    return added.document.id


def notebook(mark: str) -> bytes:
    """A notebook with a text and a picture."""
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {"image/png": _picture(mark)}}]
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": f"# {mark} picture"},
        {"cell_type": "code", "metadata": {}, "source": "draw()", "execution_count": 1, "outputs": outputs},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _picture(mark: str) -> str:
    """A grey square in PNG, another one for each mark."""
    size = 32 + sum(mark.encode()) % 64
    rows = zlib.compress((b"\x00" + b"\x80" * size) * size)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    ]
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def add_asset(served: Served, person: Person, space_id: str, mark: str) -> str:
    """The id of a figure in a document of a space."""
    document = add(served, space_id, f"{mark}.ipynb", notebook(mark))
    (asset,) = person.ok("GET", f"/api/v1/documents/{document}/assets")["items"]
    return str(asset["id"])


def first_chunk(person: Person, document_id: str) -> str:
    """The id of a chunk of a document."""
    return str(person.ok("GET", f"/api/v1/documents/{document_id}/chunks")["items"][0]["id"])


def ended_job(person: Person, document_id: str) -> str:
    """The id of a job that has ended: whoever follows it gets its events and is done."""
    job = person.ok("POST", "/api/v1/jobs", {"type": "document_processing", "document_id": document_id})[
        "job"
    ]
    person.ok("POST", f"/api/v1/jobs/{job['id']}/cancel")
    return str(job["id"])


def ended_crawl(person: Person, space_id: str, mark: str) -> str:
    """The id of a crawl of a site that does not answer; it is not under way."""
    form = {"space_id": space_id, "url": f"http://127.0.0.1:9/{mark}/"}
    made = person.ok("POST", "/api/v1/crawls", form)
    person.ok("POST", f"/api/v1/jobs/{made['job']['id']}/cancel")
    return str(made["crawl"]["id"])


def ended_run(person: Person, mark: str) -> dict[str, str]:
    """An agent, a session with it and a run in it that has ended; no model is asked."""
    name = f"{mark} agent {uuid.uuid4().hex[:8]}"
    agent = person.ok("POST", "/api/v1/agents", {"name": name, "system_prompt": mark})["id"]
    session = person.ok("POST", "/api/v1/sessions", {"agent": agent, "title": mark})["id"]
    form = {"question": f"What about {mark}?", "stream": False}
    run = person.ok("POST", f"/api/v1/sessions/{session}/runs", form)["run_id"]
    return {"agent_id": agent, "session_id": session, "run_id": run}


def asked_approval(served: Served, person: Person, ids: Mapping[str, str], mark: str) -> str:
    """The id of something that a run asked for."""
    return served.run(_ask(served, person, ids, mark))


async def _ask(served: Served, person: Person, ids: Mapping[str, str], mark: str) -> str:
    now = served.app.bench.clock()
    asked = Approval(
        id=new_id(),
        run_id=ids["run_id"],
        session_id=ids["session_id"],
        owner_id=person.id,
        status=ApprovalStatus.PENDING,
        digest="0" * 64,
        request={"tool": "kubectl", "argv": ["kubectl", "delete", "pod", mark]},
        created_at=now,
        expires_at=now + timedelta(days=1),
    )
    async with served.app.bench.db.write() as conn:
        await insert_approval(conn, asked)
    return asked.id


def furnish(served: Served, person: Person, mark: str) -> dict[str, str]:
    """One thing of each kind that belongs to a person; the ids by the name of the path parameter."""
    space = person.ok("POST", "/api/v1/spaces", {"name": f"{mark} space", "description": mark})["id"]
    document = add(served, space, f"{mark}.md", TEXT.replace(MARK, mark))
    form = {"name": f"{mark} model", "type": "LLM", "base_url": f"http://{mark}.invalid/v1", "model": mark}
    credential = person.ok("POST", "/api/v1/credentials", {**form, "key": f"sk-{mark}"})["id"]
    person.ok("PUT", f"/api/v1/spaces/{space}/credentials/{credential}", {})
    token = person.ok("POST", "/api/v1/tokens", {"name": f"{mark} token"})["token"]["id"]
    run = ended_run(person, mark)
    return {
        "approval_id": asked_approval(served, person, run, mark),
        "job_id": ended_job(person, document),
        "asset_id": add_asset(served, person, space, mark),
        "crawl_id": ended_crawl(person, space, mark),
        "chunk_id": first_chunk(person, document),
        "space_id": space,
        "document_id": document,
        "credential_id": credential,
        "token_id": token,
        "user_id": person.id,
        **run,
    }
