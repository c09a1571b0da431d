"""Commands on approvals: what runs ask to be allowed."""

from typing import TYPE_CHECKING, Annotated

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.approvals import Approval

group = typer.Typer(help="What runs ask to be allowed.", no_args_is_help=True)
Which = Annotated[str, typer.Argument(metavar="APPROVAL", help="Id of the approval.")]
Later = Annotated[
    bool, typer.Option("--later", help="Only store the word; a server that is running lets the run go on.")
]


@group.command("list")
def list_approvals(
    every: Annotated[bool, typer.Option("--all", help="Decided ones too.")] = False, as_json: AsJson = False
) -> None:
    """List what waits for your word."""
    from kosmos.domain.approvals import ApprovalStatus
    from kosmos.tasks import approvals

    async def work(app: "App", who: "Principal") -> "list[Approval]":
        wanted = None if every else ApprovalStatus.PENDING
        return await approvals.list_approvals(app.bench, who, status=wanted, limit=1000)

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda item: item.id,
            "status": lambda item: item.status,
            "risk": lambda item: item.request.get("level", ""),
            "call": call_line,
            "until": lambda item: f"{item.expires_at:%Y-%m-%d %H:%M}",
        },
    )


def call_line(item: "Approval") -> str:
    """The call in one line."""
    argv = item.request.get("argv")
    return " ".join(argv) if argv else f"{item.request.get('tool')} {item.request.get('arguments')}"


@group.command("approve")
def approve(approval: Which, later: Later = False, as_json: AsJson = False) -> None:
    """Allow exactly this call, once, and let its run go on."""
    _decide(approval, approved=True, reason="", later=later, as_json=as_json)


@group.command("refuse")
def refuse(
    approval: Which,
    reason: Annotated[str, typer.Option("--reason", help="Why not: the run is told.")] = "",
    later: Later = False,
    as_json: AsJson = False,
) -> None:
    """Refuse it; its run plans anew."""
    _decide(approval, approved=False, reason=reason, later=later, as_json=as_json)


def _decide(approval: str, *, approved: bool, reason: str, later: bool, as_json: bool) -> None:
    from kosmos.cli.talking import show_events
    from kosmos.tasks import runs
    from kosmos.tasks.approvals import record_decision
    from kosmos.tasks.run_resuming import decide

    async def work(app: "App", who: "Principal") -> "Approval":
        if later:
            return await record_decision(app.bench, who, approval, approved=approved, reason=reason)
        decided = await decide(app.bench, who, approval, approved=approved, reason=reason)
        live = app.bench.runs.live(decided.run_id)
        if live is not None:
            events = runs.follow_run(
                app.bench, who, decided.session_id, decided.run_id, after=len(live.events), patient=False
            )
            await show_events(events, as_json=as_json, thinking=False)
        return decided

    decided = with_app(work)
    show(decided, as_json, lambda: console().print(f"{decided.status.lower()}: {call_line(decided)}"))
