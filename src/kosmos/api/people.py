"""Routes: who am I, users, tokens."""

from fastapi import APIRouter

from kosmos.accounts import people, tokens
from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.shapes import NewTokenOut, NewUserOut, Page, TokenIn, TokenOut, UserIn, UserOut

router = APIRouter()


@router.get("/me", tags=["accounts"])
async def me(who: Caller) -> UserOut:
    """The user that the token belongs to."""
    return UserOut.model_validate(who.user)


@router.get("/users", tags=["accounts"])
async def list_users(app: TheApp, who: Caller) -> Page[UserOut]:
    """All users. Administrators only."""
    async with app.bench.db.read() as conn:
        return Page(items=[UserOut.model_validate(user) for user in await people.list_users(conn, who)])


@router.post("/users", status_code=201, tags=["accounts"])
async def create_user(app: TheApp, who: Caller, form: UserIn) -> NewUserOut:
    """A new user with a first token. Administrators only."""
    async with app.bench.db.write() as conn:
        user, text = await people.create_user(
            conn, who, name=form.name, is_admin=form.is_admin, now=app.bench.clock()
        )
    return NewUserOut(user=UserOut.model_validate(user), token=text)


@router.get("/tokens", tags=["accounts"])
async def list_tokens(app: TheApp, who: Caller) -> Page[TokenOut]:
    """Your tokens."""
    async with app.bench.db.read() as conn:
        return Page(items=[TokenOut.model_validate(token) for token in await tokens.list_tokens(conn, who)])


@router.post("/tokens", status_code=201, tags=["accounts"])
async def create_token(app: TheApp, who: Caller, form: TokenIn) -> NewTokenOut:
    """A new token of yours; its text is shown this once."""
    async with app.bench.db.write() as conn:
        token, text = await tokens.create_token(
            conn, who, name=form.name, scope=form.scope, now=app.bench.clock(), days=form.days
        )
    return NewTokenOut(token=TokenOut.model_validate(token), text=text)


@router.delete("/tokens/{token_id}", status_code=204, tags=["accounts"])
async def revoke_token(app: TheApp, who: Caller, token_id: Id) -> None:
    """Make a token of yours useless."""
    async with app.bench.db.write() as conn:
        await tokens.revoke_token(conn, who, token_id)
