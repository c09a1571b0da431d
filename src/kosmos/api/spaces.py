"""Routes: spaces, members, and the credentials that a space uses."""

from fastapi import APIRouter

from kosmos.accounts import access, credentials, spaces
from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.shapes import LinkIn, LinkOut, MemberIn, MemberOut, Page, SpaceChange, SpaceIn, SpaceOut
from kosmos.tasks.documents import remove_space

router = APIRouter(prefix="/spaces")


@router.get("", tags=["spaces"])
async def list_spaces(app: TheApp, who: Caller, after: After = "", limit: Limit = 100) -> Page[SpaceOut]:
    """The spaces that you may read."""
    async with app.bench.db.read() as conn:
        views = await spaces.list_spaces(conn, who, after=after, limit=limit)
    return Page(
        items=[SpaceOut.of(view) for view in views], next=views[-1].space.id if len(views) == limit else None
    )


@router.post("", status_code=201, tags=["spaces"])
async def create_space(app: TheApp, who: Caller, form: SpaceIn) -> SpaceOut:
    """A new space that you own."""
    async with app.bench.db.write() as conn:
        view = await spaces.create_space(
            conn,
            who,
            name=form.name,
            description=form.description,
            metadata=form.metadata,
            now=app.bench.clock(),
        )
    return SpaceOut.of(view)


@router.get("/{space_id}", tags=["spaces"])
async def get_space(app: TheApp, who: Caller, space_id: Id) -> SpaceOut:
    """One space."""
    async with app.bench.db.read() as conn:
        return SpaceOut.of(await access.require_space(conn, who, space_id))


@router.patch("/{space_id}", tags=["spaces"])
async def change_space(app: TheApp, who: Caller, space_id: Id, form: SpaceChange) -> SpaceOut:
    """Change a space. Owners only."""
    changes = form.model_dump(exclude_none=True)
    async with app.bench.db.write() as conn:
        return SpaceOut.of(
            await spaces.change_space(conn, who, space_id, changes=changes, now=app.bench.clock())
        )


@router.delete("/{space_id}", status_code=204, tags=["spaces"])
async def delete_space(app: TheApp, who: Caller, space_id: Id) -> None:
    """Delete a space with everything in it. Owners only."""
    await remove_space(app.bench, who, space_id)


@router.get("/{space_id}/members", tags=["members"])
async def list_members(app: TheApp, who: Caller, space_id: Id) -> Page[MemberOut]:
    """The members of a space."""
    async with app.bench.db.read() as conn:
        members = await spaces.list_members(conn, who, space_id)
    return Page(items=[MemberOut.model_validate(member) for member in members])


@router.put("/{space_id}/members", tags=["members"])
async def put_member(app: TheApp, who: Caller, space_id: Id, form: MemberIn) -> MemberOut:
    """Add a member or change a role. Owners only."""
    async with app.bench.db.write() as conn:
        member = await spaces.put_member(
            conn, who, space_id, user=form.user, role=form.role, now=app.bench.clock()
        )
    return MemberOut.model_validate(member)


@router.delete("/{space_id}/members/{user_id}", status_code=204, tags=["members"])
async def remove_member(app: TheApp, who: Caller, space_id: Id, user_id: Id) -> None:
    """Remove a member, or leave."""
    async with app.bench.db.write() as conn:
        await spaces.remove_member(conn, who, space_id, user_id)


@router.get("/{space_id}/credentials", tags=["credentials"])
async def list_links(app: TheApp, who: Caller, space_id: Id) -> Page[LinkOut]:
    """The credentials that a space uses, highest priority first."""
    async with app.bench.db.read() as conn:
        links = await credentials.list_links(conn, who, space_id)
    return Page(items=[LinkOut.model_validate(link) for link in links])


@router.put("/{space_id}/credentials/{credential_id}", tags=["credentials"])
async def link_credential(app: TheApp, who: Caller, space_id: Id, credential_id: Id, form: LinkIn) -> LinkOut:
    """Let a space use a credential, or change how. Owners only."""
    async with app.bench.db.write() as conn:
        link = await credentials.link_credential(
            conn,
            who,
            space_id,
            credential_id,
            priority=form.priority,
            weight=form.weight,
            now=app.bench.clock(),
        )
    return LinkOut.model_validate(link)


@router.delete("/{space_id}/credentials/{credential_id}", status_code=204, tags=["credentials"])
async def unlink_credential(app: TheApp, who: Caller, space_id: Id, credential_id: Id) -> None:
    """Take a credential away from a space. Owners only."""
    async with app.bench.db.write() as conn:
        await credentials.unlink_credential(conn, who, space_id, credential_id)
