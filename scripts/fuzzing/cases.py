"""Generated requests: as the schema says or just not so, with ids of real things in many of them."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import schemathesis
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.core.result import Ok

from acceptance.http.operations import BODIES, fill_in
from fuzzing.scene import Actor, Ids, Scene

Case = Any  # schemathesis' own classes are generic in ways that say nothing here
Operation = Any

# Fields of bodies and queries that hold ids, and whose.
HOLDS = {
    "space_id": "space_id",
    "space_ids": "space_id",
    "allowed_spaces": "space_id",
    "index_names": "space_id",
    "dataset_ids": "space_id",
    "document_id": "document_id",
    "document_ids": "document_id",
    "doc_ids": "document_id",
    "agent": "agent_id",
    "user": "user_id",
    "after": "job_id",
}
LONG = frozenset(("all_job_events", "job_events", "run_events"))  # they may go on until the client leaves
NOBODY = "http://127.0.0.1:9/"  # may be asked, but nobody listens there
DEEPENED = 0.4  # of the bodies are nearly right
MODES = list(GenerationMode)


def load(api_schema: dict[str, Any]) -> tuple[Any, list[Operation]]:
    """The schema, and its operations."""
    schema = schemathesis.openapi.from_dict(api_schema)
    return schema, [item.ok() for item in schema.get_all_operations() if isinstance(item, Ok)]


def name_of(operation: Operation) -> str:
    """The name of an operation."""
    return str(operation.definition.raw["operationId"])


def boundary_cases(schema: Any, operation: Operation) -> Iterator[Case]:
    """What lies on, just inside and just outside each limit of the schema."""
    config = schema.config.generation
    yield from schema.iter_coverage_cases(operation, generation_modes=MODES, generation_config=config)


def aim(case: Case, actor: Actor, chance: random.Random) -> None:
    """Put ids of real things where ids belong; in half of the places of a body and a query."""
    ids = chance.choice(actor.targets)
    case.path_parameters = {
        name: chance.choice(actor.targets)[name] if chance.random() < 0.1 else ids.get(name, value)
        for name, value in case.path_parameters.items()
    }
    if isinstance(case.query, dict):
        case.query = {name: _aimed(name, value, ids, chance) for name, value in case.query.items()}
    if isinstance(case.body, dict):
        given = {name: _aimed(name, value, ids, chance) for name, value in case.body.items()}
        case.body = _deepened(case, given, ids, chance) if chance.random() < DEEPENED else given
    elif name_of(case.operation) == "upload_documents" and isinstance(case.query, dict):
        case.query = {
            **case.query,
            "filename": chance.choice(("notes.md", "page.html", "证书.txt", "a/b.csv")),
        }


def _deepened(case: Case, given: dict[str, Any], ids: Ids, chance: random.Random) -> dict[str, Any]:
    """A request that would be taken, but for one field at most: it comes further than wholly made-up ones."""
    name = name_of(case.operation)
    valid = chance.choice(BODIES.get(name) or [None])
    if not isinstance(valid, dict):
        return given
    filled = {key: fill_in(value, ids) for key, value in valid.items()}
    if "name" in filled:
        filled["name"] = f"{filled['name']} {chance.getrandbits(32):x}"
    odd = chance.sample(sorted(given), min(len(given), chance.choice((0, 1, 1))))
    return filled | {key: given[key] for key in odd}


def _aimed(name: str, value: Any, ids: Ids, chance: random.Random) -> Any:
    held = HOLDS.get(name)
    if held is None or chance.random() < 0.5:
        return value
    return [ids[held]] if isinstance(value, list) else ids[held]


def tame(case: Case, actor: Actor, scene: Scene) -> None:
    """Keep a request from doing what a fuzz run must not: stream for ever, let others in, ask far servers."""
    name = name_of(case.operation)
    if name == "all_job_events" and isinstance(case.query, Mapping):
        case.query = {**case.query, "seconds": 0}
    body = case.body
    if isinstance(body, NotSet) or not isinstance(body, dict):
        return
    if name == "put_member" and actor.name == "owner" and isinstance(body.get("user"), str):
        case.body = {**body, "user": scene.bystander.id}
    for field in ("url", "base_url", "openai_api_base", "recall_api_url"):
        if isinstance(body.get(field), str) and body[field].lower().startswith(("http:", "https:")):
            case.body = {**case.body, field: NOBODY}


# What takes away, by the name of the path parameter, and how something else to take away is made.
SPARES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "delete_space": ("space_id", "POST", "/api/v1/spaces", {"name": "spare {}"}),
    "remove_agent": ("agent_id", "POST", "/api/v1/agents", {"name": "spare {}"}),
    "remove_session": ("session_id", "POST", "/api/v1/sessions", {"agent": "{agent_id}"}),
    "revoke_token": ("token_id", "POST", "/api/v1/tokens", {"name": "spare {}"}),
    "remove_credential": (
        "credential_id",
        "POST",
        "/api/v1/credentials",
        {"name": "spare {}", "type": "LLM", "base_url": f"{NOBODY}v1", "model": "m"},
    ),
}


def spare(case: Case, actor: Actor) -> None:
    """Let a request that takes something of one's own away take something that is not needed."""
    known = SPARES.get(name_of(case.operation))
    if known is None or actor.person is None:
        return
    parameter, method, path, form = known
    if case.path_parameters.get(parameter) not in (actor.own.get(parameter, ""), actor.token_id):
        return
    mark = f"{random.getrandbits(40):x}"
    body = {key: _named(value, actor, mark) for key, value in form.items()}
    answer = actor.person.call(method, path, body)
    if answer.is_success:
        made = answer.json()
        case.path_parameters = {parameter: made["token"]["id"] if "token" in made else made["id"]}


def _named(value: Any, actor: Actor, mark: str) -> Any:
    if value == "{agent_id}":
        return actor.own["agent_id"]
    return value.replace("{}", mark) if isinstance(value, str) else value
