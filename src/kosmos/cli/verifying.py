"""`kosmos verify`: the proof that nothing was lost, added or changed."""

from typing import TYPE_CHECKING, Any

import typer

from kosmos.cli.documents import AnySpace
from kosmos.cli.output import AsJson, console, show
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.tasks.verifying import Verification

PAGE = 200


def verify(space: AnySpace = None, as_json: AsJson = False) -> None:
    """Prove every document: its chunks are its text to the byte, their tree is sound, the index agrees.

    Also every answer in your talks: its quotes stand in the lines that it cites.
    """
    from kosmos.accounts.access import resolve_space, visible_space_ids
    from kosmos.cli.progress import progress_bar
    from kosmos.tasks.verifying import Verification, verify_space
    from kosmos.tasks.verifying_answers import verify_answers

    async def work(app: "App", who: "Principal") -> "Verification":
        async with app.bench.db.read() as conn:
            named = [(await resolve_space(conn, who, space)).space.id] if space else None
            spaces = named or await visible_space_ids(conn, who)
        total = Verification()
        with progress_bar("verifying", quiet=as_json) as step:
            for space_id in spaces:
                after: str | None = ""
                while after is not None:
                    part = await verify_space(app.bench, who, space_id, after=after, limit=PAGE)
                    total, after = total + part, part.next
                    step(total.documents, 0, "")
        return total + await verify_answers(app.bench, owner_id=who.user.id, space_ids=named)

    found = with_app(work)
    body: dict[str, Any] = {
        "documents": found.documents,
        "verified": found.verified,
        "waiting": found.waiting,
        "citations": found.citations,
        "gone": found.gone,
        "faults": found.faults,
    }
    show(body, as_json, lambda: _show(found))
    if found.faults:
        raise typer.Exit(1)


def _show(found: "Verification") -> None:
    out = console()
    for fault in found.faults:
        out.print(f"{fault.source or 'index'}: {fault.message} ({fault.check})")
        out.print(f"  {fault.remedy}{f' {fault.document_id}' if 'rechunk' in fault.remedy else ''}")
    if found.waiting:
        out.print(f"{found.waiting} documents have no text yet: see kosmos documents list")
    if found.gone:
        out.print(f"{found.gone} citations of answers are of texts that were removed or replaced since")
    out.print(f"verified {found.verified} of {found.documents}")
