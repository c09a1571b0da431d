"""Who takes part in a fuzz run of the API, and what must never come to whom."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acceptance.http.serving import Served
from acceptance.http.world import Person, add, first_person, furnish, join

PRIVATE = "Quetzalcanary"  # in all names and texts of the victim's own things
SHARED = "Heroncanary"  # the same for the space that the viewer may read
OWN = "Ownthing"
PHONE = "13812345678"
HIDING = f"# {SHARED} duty\n\nCall {PHONE} when the pump leaks.\n\n## More\n\nWords.\n"
OF_THE_PERSON = ("agent_id", "session_id", "run_id", "approval_id", "token_id")
# Where something of one's own is seen; whatever is gone there is made again.
PLACES = {
    "space_id": "/api/v1/spaces/{}",
    "document_id": "/api/v1/documents/{}",
    "asset_id": "/api/v1/assets/{}",
    "credential_id": "/api/v1/credentials/{}",
    "job_id": "/api/v1/jobs/{}",
    "crawl_id": "/api/v1/crawls/{}",
    "agent_id": "/api/v1/agents/{}",
    "session_id": "/api/v1/sessions/{}",
    "approval_id": "/api/v1/approvals/{}",
}
Ids = Mapping[str, str]


@dataclass
class Actor:
    """Somebody who sends what was generated: with which ids, and what no answer may show them."""

    name: str
    person: Person | None
    targets: Sequence[Ids]
    forbidden: frozenset[str]
    own: dict[str, str] = field(default_factory=dict)
    token_id: str = ""  # of the token that they use

    @property
    def headers(self) -> dict[str, str]:
        """What they send with every request."""
        return {"Authorization": f"Bearer {self.person.token}"} if self.person else {}

    @property
    def is_outside(self) -> bool:
        """Whether they may not even learn that something of the victim is there."""
        return self.name != "viewer"


class Scene:
    """A served instance with a silent victim, and those who fuzz."""

    def __init__(self, served: Served) -> None:
        self.served = served
        admin = first_person(served)
        mark = uuid.uuid4().hex[:6]
        people = ("Victor", "viewer", "stranger", "owner", "bystander")
        joined = [join(served, admin, f"{name} {mark}") for name in people]
        self._victim, self._viewer, self._stranger, self._owner, self.bystander = joined
        self.private = furnish(served, self._victim, PRIVATE)
        self.shared = furnish(served, self._victim, SHARED)
        add(served, self.shared["space_id"], "duty.md", HIDING)
        self._let_in()
        tokens = {person.id: _token_of(person) for person in joined}
        self.actors = {actor.name: actor for actor in self._actors()}
        for actor in self.actors.values():
            actor.token_id = tokens[actor.person.id] if actor.person else ""

    def _actors(self) -> list[Actor]:
        secret = {PRIVATE, PRIVATE.lower(), PHONE, f"sk-{SHARED}", f"sk-{OWN}", self._victim.token}
        secret |= {value for name, value in self.private.items() if name != "user_id"}
        to_viewer = frozenset(secret | {self.shared[name] for name in OF_THE_PERSON})
        outside = to_viewer | {SHARED, SHARED.lower(), self._victim.name, *self.shared.values()}
        own = furnish(self.served, self._owner, OWN)
        return [
            Actor("owner", self._owner, [own, own, own, self.private], outside, own),
            Actor("viewer", self._viewer, [self.shared, self.shared, self.private], to_viewer),
            Actor("stranger", self._stranger, [self.private, self.shared], outside),
            Actor("anonymous", None, [self.private, self.shared], outside),
        ]

    def _let_in(self) -> None:
        form = {"user": self._viewer.id, "role": "viewer"}
        self._victim.ok("PUT", f"/api/v1/spaces/{self.shared['space_id']}/members", form)

    def mend(self, actor: Actor) -> None:
        """Make again what somebody has thrown away, so that the next case finds something."""
        if actor.name == "viewer":
            self._let_in()
        if actor.person is None or not actor.own:
            return
        lost = [name for name, path in PLACES.items() if not self._sees(actor, path, actor.own[name])]
        if lost:
            actor.own.update(furnish(self.served, actor.person, f"{OWN}{uuid.uuid4().hex[:6]}"))

    def _sees(self, actor: Actor, path: str, identity: str) -> bool:
        return actor.person is not None and actor.person.call("GET", path.format(identity)).is_success

    def intact(self) -> list[str]:
        """What the victim has lost: nobody may have taken anything."""
        wanted = [(name, ids[name]) for ids in (self.private, self.shared) for name in PLACES]
        seen = {name: PLACES[name] for name in PLACES}
        return [
            f"{name} {identity}"
            for name, identity in wanted
            if not self._victim.call("GET", seen[name].format(identity)).is_success
        ]


def _token_of(person: Person) -> str:
    """The id of the first token of somebody."""
    return str(min(item["id"] for item in person.ok("GET", "/api/v1/tokens")["items"]))
