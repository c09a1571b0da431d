"""People with things of their own on one server, made over HTTP."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2

from acceptance.http.serving import Served
from kosmos.tasks.adding import Source, add_document

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
        """The answer to one request; a body is sent as Python's JSON, which knows NaN."""
        headers = {} if body is None else {"content-type": "application/json"}
        content = None if body is None else json.dumps(body)
        return self.http.request(method, path, content=content, headers=headers)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer to a request that must succeed."""
        answer = self.call(method, path, body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


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

    def add(self, space_id: str, name: str = "handbook.md", text: str = TEXT) -> str:
        """The id of a document put into a space; uploading over HTTP is not there yet."""
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


def add(served: Served, space_id: str, name: str, text: str) -> str:
    """The id of a document put into a space."""
    source = Source(origin=f"test:///{space_id}/{name}", name=name, data=text.encode())
    document, _ = served.run(add_document(served.app.bench, space_id, source))
    return document.id


def ended_job(person: Person, document_id: str) -> str:
    """The id of a job that has ended: whoever follows it gets its events and is done."""
    job = person.ok("POST", "/api/v1/jobs", {"type": "document_processing", "document_id": document_id})[
        "job"
    ]
    person.ok("POST", f"/api/v1/jobs/{job['id']}/cancel")
    return str(job["id"])


def furnish(served: Served, person: Person, mark: str) -> dict[str, str]:
    """One thing of each kind that belongs to a person; the ids by the name of the path parameter."""
    space = person.ok("POST", "/api/v1/spaces", {"name": f"{mark} space", "description": mark})["id"]
    document = add(served, space, f"{mark}.md", TEXT.replace(MARK, mark))
    form = {"name": f"{mark} model", "type": "LLM", "base_url": f"http://{mark}.invalid/v1", "model": mark}
    credential = person.ok("POST", "/api/v1/credentials", {**form, "key": f"sk-{mark}"})["id"]
    person.ok("PUT", f"/api/v1/spaces/{space}/credentials/{credential}", {})
    token = person.ok("POST", "/api/v1/tokens", {"name": f"{mark} token"})["token"]["id"]
    return {
        "job_id": ended_job(person, document),
        "space_id": space,
        "document_id": document,
        "credential_id": credential,
        "token_id": token,
        "user_id": person.id,
    }
