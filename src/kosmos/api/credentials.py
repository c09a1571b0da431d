"""Routes: credentials."""

from fastapi import APIRouter

from kosmos.accounts import access, credentials
from kosmos.accounts.credentials import NewCredential
from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.problems import AWAY
from kosmos.api.shapes import CredentialChange, CredentialIn, CredentialOut, Page, ProbeOut
from kosmos.llm.client import probe

router = APIRouter(prefix="/credentials", tags=["credentials"])


@router.get("")
async def list_credentials(app: TheApp, who: Caller) -> Page[CredentialOut]:
    """Your credentials and those of the instance."""
    async with app.bench.db.read() as conn:
        found = await credentials.list_credentials(conn, who)
    return Page(items=[CredentialOut.model_validate(item) for item in found])


@router.post("", status_code=201)
async def add_credential(app: TheApp, who: Caller, form: CredentialIn) -> CredentialOut:
    """Store a credential; its key is encrypted and never shown again."""
    new = NewCredential(
        name=form.name,
        type=form.type,
        base_url=form.base_url,
        model=form.model,
        key=form.key.get_secret_value() if form.key else None,
        options=form.options,
        is_default=form.is_default,
        for_instance=form.for_instance,
    )
    async with app.bench.db.write() as conn:
        made = await credentials.add_credential(conn, who, new, box=app.box, now=app.bench.clock())
    return CredentialOut.model_validate(made)


@router.get("/{credential_id}")
async def get_credential(app: TheApp, who: Caller, credential_id: Id) -> CredentialOut:
    """One credential."""
    async with app.bench.db.read() as conn:
        found = await access.require_credential(conn, who, credential_id, change=False)
    return CredentialOut.model_validate(found)


@router.patch("/{credential_id}")
async def change_credential(
    app: TheApp, who: Caller, credential_id: Id, form: CredentialChange
) -> CredentialOut:
    """Change a credential of yours; an empty key removes the stored one."""
    changes = form.model_dump(exclude_none=True)
    if form.key is not None:
        changes["key"] = form.key.get_secret_value()
    async with app.bench.db.write() as conn:
        made = await credentials.change_credential(
            conn, who, credential_id, changes=changes, box=app.box, now=app.bench.clock()
        )
    return CredentialOut.model_validate(made)


@router.delete("/{credential_id}", status_code=204)
async def remove_credential(app: TheApp, who: Caller, credential_id: Id) -> None:
    """Remove a credential of yours with its links."""
    async with app.bench.db.write() as conn:
        await credentials.remove_credential(conn, who, credential_id)


@router.post("/{credential_id}/test", responses=AWAY)
async def test_credential(app: TheApp, who: Caller, credential_id: Id) -> ProbeOut:
    """Make one small call to see whether a credential of yours works."""
    async with app.bench.db.read() as conn:
        found = await access.require_credential(conn, who, credential_id, change=True)
        key = await credentials.reveal_key(conn, found, app.box)
    return ProbeOut.model_validate(await probe(found, key, app.settings.provider_timeout))
