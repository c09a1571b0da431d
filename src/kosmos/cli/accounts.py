"""Commands on spaces, members, tokens and users."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app
from kosmos.domain.accounts import Role, Scope

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Member, Principal, Token, User
    from kosmos.domain.spaces import SpaceView

spaces = typer.Typer(help="Spaces and their members.", no_args_is_help=True)
tokens = typer.Typer(help="Your API tokens.", no_args_is_help=True)
users = typer.Typer(help="Users of this instance (administrators).", no_args_is_help=True)
SpaceName = Annotated[str, typer.Argument(metavar="SPACE", help="Name or id of the space.")]


@spaces.command("list")
def list_spaces(as_json: AsJson = False) -> None:
    """List the spaces that you may read."""
    from kosmos.accounts.spaces import list_spaces as listed

    async def work(app: "App", who: "Principal") -> "list[SpaceView]":
        async with app.bench.db.read() as conn:
            return await listed(conn, who, limit=10_000)

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda view: view.space.id,
            "name": lambda view: view.space.name,
            "role": lambda view: view.role,
            "description": lambda view: view.space.description,
        },
    )


@spaces.command("create")
def create_space(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a new space that you own."""
    from kosmos.accounts.spaces import create_space as create

    async def work(app: "App", who: "Principal") -> "SpaceView":
        async with app.bench.db.write() as conn:
            return await create(conn, who, name=name, description=description, now=app.bench.clock())

    view = with_app(work)
    show(view, as_json, lambda: console().print(f"made {view.space.name} ({view.space.id})"))


@spaces.command("delete")
def delete_space(
    space: SpaceName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a space with everything in it."""
    from kosmos.accounts.access import resolve_space
    from kosmos.tasks.documents import remove_space

    if not yes:
        typer.confirm(f"Delete the space {space!r} with all its documents?", abort=True, err=True)

    async def work(app: "App", who: "Principal") -> str:
        async with app.bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space, need=Role.OWNER)).space.id
        await remove_space(app.bench, who, space_id)
        return space_id

    removed = with_app(work)
    show({"deleted": removed}, as_json, lambda: console().print(f"deleted {removed}"))


@spaces.command("members")
def list_members(space: SpaceName, as_json: AsJson = False) -> None:
    """List the members of a space."""
    from kosmos.accounts import spaces as actions
    from kosmos.accounts.access import resolve_space

    async def work(app: "App", who: "Principal") -> "list[Member]":
        async with app.bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space)).space.id
            return await actions.list_members(conn, who, space_id)

    columns: dict[str, Any] = {
        "user": lambda member: member.user_name,
        "role": lambda member: member.role,
        "id": lambda member: member.user_id,
    }
    show_rows(with_app(work), as_json, columns)


@spaces.command("share")
def share_space(
    space: SpaceName,
    user: Annotated[str, typer.Argument(help="Name or id of the user.")],
    role: Annotated[Role, typer.Option("--role", help="What they may do.")] = Role.VIEWER,
    as_json: AsJson = False,
) -> None:
    """Add a member to a space you own, or change a role."""
    from kosmos.accounts import spaces as actions
    from kosmos.accounts.access import resolve_space

    async def work(app: "App", who: "Principal") -> "Member":
        async with app.bench.db.write() as conn:
            space_id = (await resolve_space(conn, who, space)).space.id
            return await actions.put_member(conn, who, space_id, user=user, role=role, now=app.bench.clock())

    member = with_app(work)
    show(member, as_json, lambda: console().print(f"{member.user_name} is now {member.role}"))


@spaces.command("unshare")
def unshare_space(
    space: SpaceName,
    user: Annotated[str, typer.Argument(help="Name or id of the user.")],
    as_json: AsJson = False,
) -> None:
    """Remove a member from a space you own."""
    from kosmos.accounts import spaces as actions
    from kosmos.accounts.access import resolve_space

    async def work(app: "App", who: "Principal") -> str:
        async with app.bench.db.write() as conn:
            space_id = (await resolve_space(conn, who, space)).space.id
            members = await actions.list_members(conn, who, space_id)
            ids = {member.user_name: member.user_id for member in members}
            await actions.remove_member(conn, who, space_id, ids.get(user, user))
        return user

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed}"))


@tokens.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List your tokens."""
    from kosmos.accounts.tokens import list_tokens as listed

    async def work(app: "App", who: "Principal") -> "list[Token]":
        async with app.bench.db.read() as conn:
            return await listed(conn, who)

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda token: token.id,
            "name": lambda token: token.name,
            "scope": lambda token: token.scope,
            "expires": lambda token: token.expires_at or "never",
        },
    )


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[Scope, typer.Option("--scope", help="How far it reaches.")] = Scope.READ,
    days: Annotated[
        int | None, typer.Option("--days", help="Days until it expires; never if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; its text is shown this once."""
    from kosmos.accounts.tokens import create_token as create

    async def work(app: "App", who: "Principal") -> "tuple[Token, str]":
        async with app.bench.db.write() as conn:
            return await create(conn, who, name=name, scope=scope, now=app.bench.clock(), days=days)

    token, text = with_app(work)
    show({"token": token, "text": text}, as_json, lambda: _show_once(text))


@tokens.command("revoke")
def revoke_token(
    token_id: Annotated[str, typer.Argument(help="Id of the token.")], as_json: AsJson = False
) -> None:
    """Make a token useless."""
    from kosmos.accounts.tokens import revoke_token as revoke

    async def work(app: "App", who: "Principal") -> None:
        async with app.bench.db.write() as conn:
            await revoke(conn, who, token_id)

    with_app(work)
    show({"revoked": token_id}, as_json, lambda: console().print(f"revoked {token_id}"))


def _show_once(text: str) -> None:
    console().print(text)
    sys.stderr.write("Keep it: it is not shown again.\n")


@users.command("list")
def list_users(as_json: AsJson = False) -> None:
    """List all users."""
    from kosmos.accounts.people import list_users as listed

    async def work(app: "App", who: "Principal") -> "list[User]":
        async with app.bench.db.read() as conn:
            return await listed(conn, who)

    columns: dict[str, Any] = {
        "id": lambda user: user.id,
        "name": lambda user: user.name,
        "admin": lambda user: "yes" if user.is_admin else "no",
    }
    show_rows(with_app(work), as_json, columns)


@users.command("add")
def add_user(
    name: Annotated[str, typer.Argument(help="Name of the user.")],
    admin: Annotated[
        bool, typer.Option("--admin", help="May manage users and instance credentials.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a user; their first token is shown this once."""
    from kosmos.accounts.people import create_user

    async def work(app: "App", who: "Principal") -> "tuple[User, str]":
        async with app.bench.db.write() as conn:
            return await create_user(conn, who, name=name, is_admin=admin, now=app.bench.clock())

    user, text = with_app(work)
    show({"user": user, "token": text}, as_json, lambda: _show_once(text))
