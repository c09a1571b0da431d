"""What each role of a space and each scope of a token may do."""

from collections.abc import Mapping

import pytest

from acceptance.http.operations import Operation, operations
from acceptance.http.world import (
    TEXT,
    Person,
    World,
    add_asset,
    asked_approval,
    ended_crawl,
    ended_job,
    ended_run,
    first_chunk,
)

REFUSED = 403
# What a viewer, an editor and an owner of a space get; in an order in which each finds what it needs.
BY_ROLE: dict[str, tuple[int, int, int]] = {
    "get_space": (200, 200, 200),
    "list_members": (200, 200, 200),
    "list_links": (200, 200, 200),
    "list_documents": (200, 200, 200),
    "get_document": (200, 200, 200),
    "view_document": (200, 200, 200),
    "get_original": (200, 200, 200),
    "list_assets": (200, 200, 200),
    "get_asset": (200, 200, 200),
    "list_chunks": (200, 200, 200),
    "list_chunk_errors": (200, 200, 200),
    "verify_space": (200, 200, 200),
    "document_cost": (200, 200, 200),
    "list_calls": (200, 200, 200),
    "space_cost": (200, 200, 200),
    "retry_chunk": (403, 201, 201),
    "read_lines": (200, 200, 200),
    "grep_lines": (200, 200, 200),
    "search": (200, 200, 200),
    "retrieval": (200, 200, 200),
    "ask": (200, 200, 200),
    "get_credential": (200, 200, 200),
    "change_space": (403, 403, 200),
    "put_member": (403, 403, 200),
    "remove_member": (403, 403, 204),
    "link_credential": (403, 403, 404),  # an owner too links credentials of their own only
    "unlink_credential": (403, 403, 204),
    "list_jobs": (200, 200, 200),
    "get_job": (200, 200, 200),
    "all_job_events": (200, 200, 200),
    "job_events": (200, 200, 200),
    "estimate_job": (403, 200, 200),
    "create_job": (403, 201, 201),
    "list_crawls": (200, 200, 200),
    "get_crawl": (200, 200, 200),
    "get_crawl_picture": (200, 200, 200),
    "start_crawl": (403, 201, 201),
    "retry_job": (403, 200, 200),
    "pause_job": (403, 200, 200),
    "resume_job": (403, 200, 200),
    "cancel_job": (403, 200, 200),
    "upload_documents": (403, 201, 201),
    "add_address": (403, 502, 502),  # allowed, but nobody listens there
    "remove_document": (403, 204, 204),
    "delete_space": (403, 403, 204),
}
# What the tokens of one user get who owns everything: read, write, admin.
BY_SCOPE: dict[str, tuple[int, int, int]] = {
    "me": (200, 200, 200),
    "list_users": (403, 403, 403),
    "create_user": (403, 403, 403),
    "list_tokens": (200, 200, 200),
    "create_token": (403, 403, 201),
    "revoke_token": (403, 403, 204),
    "list_spaces": (200, 200, 200),
    "create_space": (403, 201, 201),
    "get_space": (200, 200, 200),
    "change_space": (403, 403, 200),
    "list_members": (200, 200, 200),
    "put_member": (403, 403, 200),
    "remove_member": (403, 403, 204),
    "list_links": (200, 200, 200),
    "link_credential": (403, 403, 200),
    "unlink_credential": (403, 403, 204),
    "list_credentials": (200, 200, 200),
    "add_credential": (403, 403, 201),
    "get_credential": (200, 200, 200),
    "change_credential": (403, 403, 200),
    "test_credential": (403, 403, 502),  # allowed, but nobody listens at that address
    "remove_credential": (403, 403, 204),
    "list_documents": (200, 200, 200),
    "get_document": (200, 200, 200),
    "view_document": (200, 200, 200),
    "get_original": (200, 200, 200),
    "list_assets": (200, 200, 200),
    "get_asset": (200, 200, 200),
    "list_chunks": (200, 200, 200),
    "list_chunk_errors": (200, 200, 200),
    "verify_space": (200, 200, 200),
    "document_cost": (200, 200, 200),
    "list_calls": (200, 200, 200),
    "space_cost": (200, 200, 200),
    "retry_chunk": (403, 201, 409),  # allowed, but the model was taken away above
    "read_lines": (200, 200, 200),
    "grep_lines": (200, 200, 200),
    "search": (200, 200, 200),
    "retrieval": (200, 200, 200),
    "ask": (200, 200, 200),
    "list_jobs": (200, 200, 200),
    "get_job": (200, 200, 200),
    "all_job_events": (200, 200, 200),
    "job_events": (200, 200, 200),
    "estimate_job": (403, 200, 200),
    "create_job": (403, 201, 201),
    "list_crawls": (200, 200, 200),
    "get_crawl": (200, 200, 200),
    "get_crawl_picture": (200, 200, 200),
    "start_crawl": (403, 201, 201),
    "retry_job": (403, 200, 200),
    "pause_job": (403, 200, 200),
    "resume_job": (403, 200, 200),
    "cancel_job": (403, 200, 200),
    "upload_documents": (403, 201, 201),
    "add_address": (403, 502, 502),
    "render_markdown": (200, 200, 200),
    "list_evaluations": (403, 403, 403),
    "metrics": (403, 403, 403),
    "remove_document": (403, 204, 204),
    "delete_space": (403, 403, 204),
}
# Agents and sessions are their owner's alone.
BY_SCOPE |= {
    "list_agents": (200, 200, 200),
    "create_agent": (403, 201, 201),
    "import_agent": (403, 201, 201),
    "get_agent": (200, 200, 200),
    "change_agent": (403, 200, 200),
    "export_agent": (200, 200, 200),
    "list_models": (200, 200, 200),
    "chat_completions": (403, 200, 200),
    "list_sessions": (200, 200, 200),
    "create_session": (403, 201, 201),
    "get_session": (200, 200, 200),
    "change_session": (403, 200, 200),
    "list_messages": (200, 200, 200),
    "create_run": (403, 200, 200),
    "list_runs": (200, 200, 200),
    "get_run": (200, 200, 200),
    "run_events": (200, 200, 200),
    "stop_run": (403, 200, 200),
    "list_approvals": (200, 200, 200),
    "get_approval": (200, 200, 200),
    "decide_approval": (403, 403, 200),
    "remove_session": (403, 204, 204),
    "remove_agent": (403, 204, 204),
}
BY_ADMIN = {
    "list_users": (403, 403, 200),
    "create_user": (403, 403, 201),
    "list_evaluations": (403, 403, 200),
    "metrics": (403, 403, 200),
}
OF_A_SPACE = {"space_id", "document_id", "chunk_id", "asset_id", "job_id", "crawl_id"}


def _prepare(world: World, owner: Person, guest: Person) -> dict[str, str]:
    """A new space of the owner with something of each kind in it; the guest is a member."""
    count = len(owner.ok("GET", "/api/v1/spaces?limit=1000")["items"])
    space = owner.ok("POST", "/api/v1/spaces", {"name": f"shared {count}"})["id"]
    document = world.add(space, text=TEXT)
    form = {"name": "m", "type": "LLM", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    credential = owner.ok("POST", "/api/v1/credentials", form)["id"]
    owner.ok("PUT", f"/api/v1/spaces/{space}/credentials/{credential}", {})
    token = owner.ok("POST", "/api/v1/tokens", {"name": "spare"})["token"]["id"]
    owner.ok("PUT", f"/api/v1/spaces/{space}/members", {"user": guest.id})
    asset = add_asset(world.served, owner, space, f"shared {count}")
    ids = {"space_id": space, "document_id": document, "asset_id": asset, "credential_id": credential}
    ids["crawl_id"] = ended_crawl(owner, space, "shared")
    ids["chunk_id"] = first_chunk(owner, document)
    ids |= ended_run(owner, f"shared {count}")
    ids["approval_id"] = asked_approval(world.served, owner, ids, f"shared {count}")
    return {**ids, "token_id": token, "user_id": guest.id, "job_id": ended_job(owner, document)}


def _codes(
    who: Person, table: Mapping[str, object], known: Mapping[str, Operation], ids: Mapping[str, str]
) -> dict[str, int]:
    """What somebody gets for each operation of a table, asked for in its order."""
    found = {}
    for name in table:
        operation = known[name]
        body = operation.bodies(ids)[-1]
        answer = who.call(operation.method, operation.fill(ids), body)
        assert answer.status_code >= 400 or "problem" not in answer.headers.get("content-type", "")
        found[name] = answer.status_code
    return found


def _known(world: World) -> dict[str, Operation]:
    return {operation.name: operation for operation in operations(world.served.api)}


def test_the_tables_forget_no_operation(world: World) -> None:
    known = _known(world)
    of_a_space = {name for name, item in known.items() if OF_A_SPACE & {*item.parameters}}
    assert of_a_space <= set(BY_ROLE), "a new operation on spaces: say what each role gets"
    assert set(known) - {"healthz"} == set(BY_SCOPE), "a new operation: say what each scope gets"


@pytest.mark.parametrize(("column", "role"), [*enumerate(("viewer", "editor", "owner"))])
def test_roles(world: World, column: int, role: str) -> None:
    guest = world.join(f"{role} guest")
    member = world.join(f"{role} member")
    ids = _prepare(world, world.owner, guest)
    members = f"/api/v1/spaces/{ids['space_id']}/members"
    world.owner.ok("PUT", members, {"user": member.id, "role": role})
    found = _codes(member, BY_ROLE, _known(world), ids)
    assert found == {name: codes[column] for name, codes in BY_ROLE.items()}


@pytest.mark.parametrize(("column", "scope"), [*enumerate(("read", "write", "admin"))])
def test_scopes(world: World, column: int, scope: str) -> None:
    person = world.join(f"{scope} person")
    guest = world.join(f"{scope} visitor")
    ids = _prepare(world, person, guest)
    limited = world.with_token(person, scope=scope)
    found = _codes(limited, BY_SCOPE, _known(world), ids)
    assert found == {name: codes[column] for name, codes in BY_SCOPE.items()}


@pytest.mark.parametrize(("column", "scope"), [*enumerate(("read", "write", "admin"))])
def test_scopes_of_an_administrator(world: World, column: int, scope: str) -> None:
    limited = world.with_token(world.admin, scope=scope)
    for name, codes in BY_ADMIN.items():
        operation = _known(world)[name]
        body = None if name == "list_users" else {"name": f"made with {scope}"}
        assert limited.call(operation.method, operation.path, body).status_code == codes[column], name


def test_a_member_may_leave_but_not_throw_others_out(world: World) -> None:
    guest, other = world.join("leaving"), world.join("staying")
    ids = _prepare(world, world.owner, guest)
    members = f"/api/v1/spaces/{ids['space_id']}/members"
    world.owner.ok("PUT", members, {"user": other.name})
    assert guest.call("DELETE", f"{members}/{other.id}").status_code == REFUSED
    assert guest.call("DELETE", f"{members}/{guest.id}").status_code == 204
    assert guest.call("GET", f"/api/v1/spaces/{ids['space_id']}").status_code == 404


def test_the_last_owner_stays(world: World) -> None:
    guest = world.join("last guest")
    ids = _prepare(world, world.owner, guest)
    members = f"/api/v1/spaces/{ids['space_id']}/members"
    assert world.owner.call("DELETE", f"{members}/{world.owner.id}").status_code == 409
    assert world.owner.call("PUT", members, {"user": world.owner.id, "role": "editor"}).status_code == 409
    world.owner.ok("PUT", members, {"user": guest.id, "role": "owner"})
    assert world.owner.call("DELETE", f"{members}/{world.owner.id}").status_code == 204


def test_only_an_administrator_makes_a_credential_for_everybody(world: World) -> None:
    form = {"name": "shared", "type": "LLM", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    path = "/api/v1/credentials"
    assert world.stranger.call("POST", path, {**form, "for_instance": True}).status_code == REFUSED
    made = world.admin.ok("POST", path, {**form, "for_instance": True, "key": "sk-of-all"})["id"]
    assert made in [item["id"] for item in world.stranger.ok("GET", path)["items"]]
    for method, body in (("PATCH", {"base_url": "http://evil.invalid/v1"}), ("DELETE", None)):
        assert world.stranger.call(method, f"{path}/{made}", body).status_code == REFUSED
    assert world.stranger.call("POST", f"{path}/{made}/test").status_code == REFUSED
    assert world.admin.call("DELETE", f"{path}/{made}").status_code == 204
