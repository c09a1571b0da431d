"""Who may do what: every function that takes a caller, every role, every scope, in one table."""

import inspect
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from kosmos.accounts import access, credentials, spaces
from kosmos.accounts.credentials import NewCredential
from kosmos.db import Database, blobs, documents
from kosmos.domain.accounts import Principal, Role, Scope
from kosmos.domain.credentials import CredentialType
from kosmos.domain.documents import Document, DocumentStatus
from kosmos.domain.ids import new_id
from kosmos.domain.jobs import NewJob
from kosmos.errors import Forbidden, InvalidInput, KosmosError
from kosmos.jobs.creation import create_jobs
from kosmos.jobs.registry import JobType, Registry
from kosmos.jobs.run import Run
from kosmos.llm.secrets import SecretBox

Enroll = Callable[..., Awaitable[Principal]]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
VIEWER, EDITOR, OWNER = Role
READ, WRITE, ADMIN = Scope


@dataclass(frozen=True)
class Stage:
    """One space with everything in it that an operation may touch."""

    conn: AsyncConnection
    box: SecretBox
    people: dict[str, Principal]
    space_id: str
    document_id: str
    job_id: str
    linked_id: str
    own: dict[str, str]  # a credential of each person


Act = Callable[[Stage, Principal], Awaitable[Any]]

# What a member needs for each: a role in the space, and a scope of the token.
IN_SPACE: dict[str, tuple[Role, Scope, Act]] = {
    "require_space viewer": (VIEWER, READ, lambda s, w: access.require_space(s.conn, w, s.space_id)),
    "require_space editor": (
        EDITOR,
        WRITE,
        lambda s, w: access.require_space(s.conn, w, s.space_id, need=EDITOR),
    ),
    "require_space owner": (
        OWNER,
        ADMIN,
        lambda s, w: access.require_space(s.conn, w, s.space_id, need=OWNER),
    ),
    "resolve_space viewer": (VIEWER, READ, lambda s, w: access.resolve_space(s.conn, w, "shared")),
    "resolve_space editor": (
        EDITOR,
        WRITE,
        lambda s, w: access.resolve_space(s.conn, w, "ＳＨＡＲＥＤ", need=EDITOR),
    ),
    "resolve_space owner": (
        OWNER,
        ADMIN,
        lambda s, w: access.resolve_space(s.conn, w, s.space_id, need=OWNER),
    ),
    "require_document viewer": (VIEWER, READ, lambda s, w: access.require_document(s.conn, w, s.document_id)),
    "require_document editor": (
        EDITOR,
        WRITE,
        lambda s, w: access.require_document(s.conn, w, s.document_id, need=EDITOR),
    ),
    "require_document owner": (
        OWNER,
        ADMIN,
        lambda s, w: access.require_document(s.conn, w, s.document_id, need=OWNER),
    ),
    "require_job viewer": (VIEWER, READ, lambda s, w: access.require_job(s.conn, w, s.job_id)),
    "require_job editor": (
        EDITOR,
        WRITE,
        lambda s, w: access.require_job(s.conn, w, s.job_id, need=EDITOR),
    ),
    "change_space": (
        OWNER,
        ADMIN,
        lambda s, w: spaces.change_space(s.conn, w, s.space_id, changes={"name": "new"}, now=NOW),
    ),
    "set_settings": (
        OWNER,
        ADMIN,
        lambda s, w: spaces.set_settings(s.conn, w, s.space_id, changes={"redaction": "off"}, now=NOW),
    ),
    "list_members": (VIEWER, READ, lambda s, w: spaces.list_members(s.conn, w, s.space_id)),
    "put_member": (
        OWNER,
        ADMIN,
        lambda s, w: spaces.put_member(s.conn, w, s.space_id, user="stranger", role=VIEWER, now=NOW),
    ),
    "remove_member": (
        OWNER,
        ADMIN,
        lambda s, w: spaces.remove_member(s.conn, w, s.space_id, s.people["bystander"].user.id),
    ),
    "remove_member self": (
        VIEWER,
        ADMIN,
        lambda s, w: spaces.remove_member(s.conn, w, s.space_id, w.user.id),
    ),
    "list_links": (VIEWER, READ, lambda s, w: credentials.list_links(s.conn, w, s.space_id)),
    "link_credential": (
        OWNER,
        ADMIN,
        lambda s, w: credentials.link_credential(
            s.conn, w, s.space_id, s.own[w.user.name], priority=0, weight=1, now=NOW
        ),
    ),
    "unlink_credential": (
        OWNER,
        ADMIN,
        lambda s, w: credentials.unlink_credential(s.conn, w, s.space_id, s.linked_id),
    ),
    "candidates": (
        VIEWER,
        READ,
        lambda s, w: credentials.candidates(
            s.conn, w, CredentialType.LLM, space_id=s.space_id, rng=random.Random(1)
        ),
    ),
    # A credential is seen through a space that uses it.
    "require_credential": (
        VIEWER,
        READ,
        lambda s, w: access.require_credential(s.conn, w, s.linked_id, change=False),
    ),
}

# What anybody may do for themselves with a token of that scope.
FOR_ONESELF: dict[str, tuple[Scope, Act]] = {
    "create_space": (WRITE, lambda s, w: spaces.create_space(s.conn, w, name="own", now=NOW)),
    "list_spaces": (READ, lambda s, w: spaces.list_spaces(s.conn, w)),
    "visible_space_ids": (READ, lambda s, w: access.visible_space_ids(s.conn, w)),
    "list_credentials": (READ, lambda s, w: credentials.list_credentials(s.conn, w)),
    "find_credential": (READ, lambda s, w: credentials.find_credential(s.conn, w, w.user.name)),
    "add_credential": (
        ADMIN,
        lambda s, w: credentials.add_credential(s.conn, w, _new("another"), box=s.box, now=NOW),
    ),
    "change_credential": (
        ADMIN,
        lambda s, w: credentials.change_credential(
            s.conn, w, s.own[w.user.name], changes={"name": "new"}, box=s.box, now=NOW
        ),
    ),
    "remove_credential": (
        ADMIN,
        lambda s, w: credentials.remove_credential(s.conn, w, s.own[w.user.name]),
    ),
}
# No caller, or nothing to see: tested elsewhere by themselves.
ELSEWHERE = {"require_agent", "resolve_agent", "require_session"}
ELSEWHERE |= {"require_scope", "require_admin", "make_space", "check_url", "reveal_key"}


def _new(name: str) -> NewCredential:
    return NewCredential(name=name, type=CredentialType.LLM, base_url="http://127.0.0.1/v1", model="m")


async def _add_document(conn: AsyncConnection, space_id: str) -> str:
    await blobs.hold(conn, "0" * 64, 1, NOW)
    document = Document(
        id=new_id(),
        space_id=space_id,
        origin="o",
        source="s",
        filename="f",
        filetype="md",
        size=1,
        source_url=None,
        title="t",
        original_sha256="0" * 64,
        canonical_sha256=None,
        line_count=1,
        status=DocumentStatus.READY,
        error=None,
        version=1,
        live_generation=1,
        draft_generation=None,
        metadata={},
        created_at=NOW,
        updated_at=NOW,
    )
    await documents.insert_document(conn, document)
    return document.id


async def _add_job(conn: AsyncConnection, space_id: str) -> str:
    async def nothing(_run: Run) -> None:
        pass

    registry = Registry(JobType("nothing", nothing))
    return (await create_jobs(conn, registry, [NewJob("nothing", space_id=space_id)], NOW))[0].id


async def set_up(conn: AsyncConnection, people: dict[str, Principal], box: SecretBox) -> Stage:
    founder = people["founder"]
    space_id = (await spaces.create_space(conn, founder, name="Shared", now=NOW)).space.id
    for name, role in (("owner", OWNER), ("editor", EDITOR), ("viewer", VIEWER), ("bystander", VIEWER)):
        await spaces.put_member(conn, founder, space_id, user=name, role=role, now=NOW)
    own = {}
    for name, who in people.items():
        own[name] = (await credentials.add_credential(conn, who, _new(name), box=box, now=NOW)).id
    linked = own["founder"]
    await credentials.link_credential(conn, founder, space_id, linked, priority=0, weight=1, now=NOW)
    return Stage(
        conn=conn,
        box=box,
        people=people,
        space_id=space_id,
        document_id=await _add_document(conn, space_id),
        job_id=await _add_job(conn, space_id),
        linked_id=linked,
        own=own,
    )


async def outcome(stage: Stage, act: Act, who: Principal) -> str:
    """Ends as it begins: what was done is undone, so that each attempt meets the same stage."""
    async with stage.conn.begin_nested() as attempt:
        try:
            await act(stage, who)
        except KosmosError as error:
            ended = type(error).__name__
        else:
            ended = "ok"
        await attempt.rollback()
    return ended


@pytest.fixture
async def people(enroll: Enroll) -> dict[str, Principal]:
    names = ("founder", "owner", "editor", "viewer", "bystander", "stranger")
    found = {name: await enroll(name) for name in names}
    return found | {"admin": await enroll("admin", is_admin=True)}


async def test_rights_in_a_space(
    db: Database, people: dict[str, Principal], make_box: Callable[[], SecretBox]
) -> None:
    found, wanted = {}, {}
    async with db.write() as conn:
        stage = await set_up(conn, people, make_box())
        for name, (role, needed, act) in IN_SPACE.items():
            for person in ("owner", "editor", "viewer", "stranger", "admin"):
                for scope in Scope:
                    case = f"{name}: {person} with {scope}"
                    found[case] = await outcome(stage, act, replace(people[person], scope=scope))
                    allowed = (
                        person in [*Role] and Role(person).rank >= role.rank and scope.rank >= needed.rank
                    )
                    wanted[case] = "ok" if allowed else "Forbidden" if person in [*Role] else "NotFound"
    assert found == wanted
    assert len(found) == len(IN_SPACE) * 15


async def test_rights_of_anybody(
    db: Database, people: dict[str, Principal], make_box: Callable[[], SecretBox]
) -> None:
    found, wanted = {}, {}
    async with db.write() as conn:
        stage = await set_up(conn, people, make_box())
        for name, (needed, act) in FOR_ONESELF.items():
            for person in ("viewer", "stranger", "admin"):
                for scope in Scope:
                    case = f"{name}: {person} with {scope}"
                    found[case] = await outcome(stage, act, replace(people[person], scope=scope))
                    wanted[case] = "ok" if scope.rank >= needed.rank else "Forbidden"
    assert found == wanted


def _public(module: ModuleType) -> set[str]:
    own = inspect.getmembers(module, inspect.isfunction)
    return {name for name, function in own if function.__module__ == module.__name__ and name[0] != "_"}


def test_no_function_is_missing_from_the_tables() -> None:
    tested = {name.split()[0] for name in (*IN_SPACE, *FOR_ONESELF)}
    assert tested | ELSEWHERE == _public(access) | _public(spaces) | _public(credentials)


async def test_a_stranger_cannot_tell_what_exists(
    db: Database, people: dict[str, Principal], make_box: Callable[[], SecretBox]
) -> None:
    """The same error, word for word but for the id, whether the thing exists or not."""
    async with db.write() as conn:
        stage = await set_up(conn, people, make_box())
        absent = replace(stage, space_id=new_id(), document_id=new_id(), job_id=new_id(), linked_id=new_id())
        for who in (people["stranger"], people["admin"]):
            for _, _, act in IN_SPACE.values():
                seen = []
                for where in (stage, absent):
                    with pytest.raises(KosmosError) as caught:
                        await act(where, who)
                    text = f"{type(caught.value)} {caught.value.message} {caught.value.remedy}"
                    for identity in (where.space_id, where.document_id, where.job_id, where.linked_id):
                        text = text.replace(identity, "ID")
                    seen.append(text)
                assert seen[0] == seen[1]


async def test_ids_that_cannot_be_are_not_found(
    db: Database, people: dict[str, Principal], make_box: Callable[[], SecretBox]
) -> None:
    founder = people["founder"]
    async with db.write() as conn:
        stage = await set_up(conn, people, make_box())
        for odd in ("", "\x00", "a\x00b", "\ud800", "x" * 10_000, "' OR 1=1 --", "%", "中文"):
            nobody = replace(founder, user=replace(founder.user, id=odd))
            inside = replace(stage, document_id=odd, linked_id=odd, people={"bystander": nobody})
            inside = replace(inside, job_id=odd)
            for name in (
                "require_document viewer",
                "remove_member",
                "unlink_credential",
                "require_credential",
            ):
                assert await outcome(inside, IN_SPACE[name][2], founder) == "NotFound", (name, odd)
            for name in set(IN_SPACE) - {"resolve_space viewer", "resolve_space editor"}:
                nowhere = replace(inside, space_id=odd)
                assert await outcome(nowhere, IN_SPACE[name][2], founder) == "NotFound", (name, odd)


def test_scopes_include_those_before_them() -> None:
    someone = Principal(user=None, scope=READ, token_id="")  # type: ignore[arg-type]
    for have in Scope:
        for need in Scope:
            if have.rank >= need.rank:
                access.require_scope(replace(someone, scope=have), need)
                continue
            with pytest.raises(Forbidden, match=f"{have}; {need}") as caught:
                access.require_scope(replace(someone, scope=have), need)
            assert f"--scope {need}" in (caught.value.remedy or "")


async def test_a_name_shared_by_several_spaces(db: Database, enroll: Enroll) -> None:
    """One's own comes first; among those of others the id must decide."""
    one, two, guest = await enroll("one"), await enroll("two"), await enroll("guest")
    ids = []
    async with db.write() as conn:
        for owner in (one, two):
            view = await spaces.create_space(conn, owner, name="Notes", now=NOW)
            ids.append(view.space.id)
            await spaces.put_member(conn, owner, ids[-1], user="guest", role=VIEWER, now=NOW)
        with pytest.raises(InvalidInput, match="Several") as caught:
            await access.resolve_space(conn, guest, "notes")
        assert all(identity in (caught.value.remedy or "") for identity in ids)
        assert (await access.resolve_space(conn, guest, ids[1])).space.id == ids[1]
        assert (await access.resolve_space(conn, two, "NOTES")).space.id == ids[1]
        mine = await spaces.create_space(conn, guest, name="ｎｏｔｅｓ", now=NOW)
        assert (await access.resolve_space(conn, guest, "notes")).space.id == mine.space.id
        assert set(await access.visible_space_ids(conn, guest)) == {*ids, mine.space.id}
