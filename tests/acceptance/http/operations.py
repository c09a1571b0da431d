"""Every operation that the API declares, and a valid request for each.

A new route needs an entry in `BODIES`; a new path parameter one in `furnish`. The tests that walk over
all operations fail until both are there.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
NOBODY = "http://127.0.0.1:9/"  # may be fetched, but nobody listens there
_CREDENTIAL = {"name": "m", "type": "LLM", "base_url": "http://127.0.0.1:9/v1", "model": "m", "key": "k"}
_UPLOAD = (
    b'--kosmos\r\nContent-Disposition: form-data; name="file"; filename="notes.md"\r\n\r\n'
    b"# Notes\n\nA valve.\n\r\n--kosmos--\r\n"
)

# Streams that would go on for ever.
ENDING = {"all_job_events": "?seconds=0"}
# Valid bodies for each operation, JSON or a form of bytes; `{…}` stands for an id of the one whose things
# are asked for.
BODIES: dict[str, Sequence[Any]] = {
    "healthz": [None],
    "metrics": [None],
    "me": [None],
    "list_users": [None],
    "create_user": [{"name": "new user"}],
    "list_tokens": [None],
    "create_token": [{"name": "new token"}],
    "revoke_token": [None],
    "list_spaces": [None],
    "create_space": [{"name": "new space"}],
    "get_space": [None],
    "change_space": [{"description": "changed"}],
    "delete_space": [None],
    "list_members": [None],
    "put_member": [{"user": "{user_id}", "role": "viewer"}],
    "remove_member": [None],
    "list_links": [None],
    "link_credential": [{"priority": 1}],
    "unlink_credential": [None],
    "list_credentials": [None],
    "add_credential": [_CREDENTIAL],
    "get_credential": [None],
    "change_credential": [{"model": "changed"}],
    "remove_credential": [None],
    "test_credential": [None],
    "list_documents": [None],
    "get_document": [None],
    "remove_document": [None],
    "upload_documents": [_UPLOAD],
    "add_address": [{"url": NOBODY}],
    "view_document": [None],
    "get_original": [None],
    "list_assets": [None],
    "get_asset": [None],
    "list_chunks": [None],
    "list_chunk_errors": [None],
    "retry_chunk": [None],
    "verify_space": [None],
    "document_cost": [None],
    "list_calls": [None],
    "space_cost": [None],
    "read_lines": [None],
    "grep_lines": [
        {"pattern": "pump|证书"},
        {"pattern": "pump|证书", "document_id": "{document_id}"},
        {"pattern": "pump|证书", "space_ids": ["{space_id}"]},
    ],
    "search": [{"query": "pump 证书"}, {"query": "pump 证书", "space_ids": ["{space_id}"]}],
    "retrieval": [
        {"question": "pump 证书"},
        {"question": "pump 证书", "index_names": ["{space_id}"]},
        {"question": "pump 证书", "doc_ids": ["{document_id}"]},
    ],
    "list_jobs": [None],
    "create_job": [{"type": "indexing", "document_id": "{document_id}"}],
    "estimate_job": [{"type": "indexing", "document_id": "{document_id}"}],
    "get_job": [None],
    "all_job_events": [None],
    "job_events": [None],
    "pause_job": [None],
    "resume_job": [None],
    "cancel_job": [None],
    "retry_job": [None],
    "list_crawls": [None],
    "start_crawl": [{"space_id": "{space_id}", "url": NOBODY}],
    "get_crawl": [None],
    "get_crawl_picture": [None],
    "list_agents": [None],
    "create_agent": [{"name": "new agent"}],
    "import_agent": [{"yaml": "name: imported agent"}],
    "get_agent": [None],
    "change_agent": [{"description": "changed"}],
    "remove_agent": [None],
    "export_agent": [None],
    "list_sessions": [None],
    "create_session": [{"agent": "{agent_id}"}],
    "get_session": [None],
    "change_session": [{"title": "changed"}],
    "remove_session": [None],
    "list_messages": [None],
    "create_run": [{"question": "pump 证书?", "stream": False}],
    "list_runs": [None],
    "get_run": [None],
    "run_events": [None],
    "stop_run": [None],
    "list_approvals": [None],
    "get_approval": [None],
    "decide_approval": [{"approved": False, "reason": "no"}],
    "list_models": [None],
    "chat_completions": [{"model": "{agent_id}", "messages": [{"role": "user", "content": "pump 证书?"}]}],
    "render_markdown": [{"texts": ["**pump** <b>证书</b>"]}],
    "list_evaluations": [None],
    "ask": [{"question": "pump 证书?"}, {"question": "pump 证书?", "space_ids": ["{space_id}"]}],
}


@dataclass(frozen=True)
class Operation:
    """One method on one path."""

    name: str
    method: str
    path: str
    schema: Mapping[str, Any]

    @property
    def parameters(self) -> list[str]:
        """The names in the path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def fill(self, ids: Mapping[str, str]) -> str:
        """The path with real ids."""
        path = self.path.format(**{name: ids[name] for name in self.parameters})
        return path + ENDING.get(self.name, "")

    def bodies(self, ids: Mapping[str, str]) -> list[Any]:
        """Valid bodies that name real ids."""
        return [fill_in(body, ids) for body in BODIES[self.name]]


def operations(api: FastAPI) -> list[Operation]:
    """Everything that OpenAPI declares."""
    return [
        Operation(schema["operationId"], method.upper(), path, schema)
        for path, item in api.openapi()["paths"].items()
        for method, schema in item.items()
        if method in METHODS
    ]


def requests_for(
    operation: Operation, theirs: Mapping[str, str], own: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Paths and bodies that ask for something of theirs, also where an own id stands beside it."""
    for choice in itertools.product((theirs, own), repeat=len(operation.parameters)):
        if choice and all(ids is own for ids in choice):
            continue
        mixed = {name: ids[name] for name, ids in zip(operation.parameters, choice, strict=True)}
        for body in operation.bodies(theirs):
            yield operation.fill(mixed), body


def fill_in(value: Any, ids: Mapping[str, str]) -> Any:
    """A body in which `{…}` has become an id."""
    if isinstance(value, str):
        return ids[value[1:-1]] if value.startswith("{") else value
    if isinstance(value, dict):
        return {key: fill_in(item, ids) for key, item in value.items()}
    return [fill_in(item, ids) for item in value] if isinstance(value, list) else value
