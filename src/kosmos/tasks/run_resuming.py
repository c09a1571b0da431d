"""Runs that go on: after somebody's word, or after the process that had them is gone."""

import logging
from dataclasses import replace

from kosmos.accounts.access import require_session
from kosmos.bells import topics
from kosmos.db import approvals as approval_table
from kosmos.db import runs as table
from kosmos.db import sessions as session_table
from kosmos.db import users
from kosmos.domain.accounts import Principal, Scope
from kosmos.domain.approvals import Approval
from kosmos.domain.events import StoredEvent
from kosmos.domain.sessions import MessageType, Run, RunStatus, Session
from kosmos.errors import KosmosError, NotFound
from kosmos.sessions.live import LiveRun
from kosmos.tasks.approvals import record_decision, verdict_of
from kosmos.tasks.run_dead import bury, can_go_on, dead_runs
from kosmos.tasks.run_driving import Drive, spaces_of
from kosmos.tasks.run_models import ModelWish, models_of
from kosmos.tasks.run_reacting import kept_notes
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.runs import agent_of, drive_on
from kosmos.tasks.workbench import Workbench

log = logging.getLogger(__name__)
TEND_SECONDS = 10.0


async def decide(
    bench: Workbench, who: Principal, approval_id: str, *, approved: bool, reason: str = ""
) -> Approval:
    """Store a person's word, and let the run that waits for it go on here."""
    decided = await record_decision(bench, who, approval_id, approved=approved, reason=reason, ring=False)
    async with bench.db.glance() as conn:
        run = await table.get_run(conn, decided.run_id)
    if run is not None and run.status is RunStatus.WAITING:
        await _take_over(bench, run)
    return decided


async def revive_dead(bench: Workbench) -> None:
    """Let runs of the graph go on whose process is gone; all others end with what they had said."""
    for run in await dead_runs(bench):
        try:
            if await can_go_on(bench, run):
                await _take_over(bench, run)
            else:
                await bury(bench, run)
        except KosmosError:
            log.warning("a run could not be taken up", extra={"run": run.id}, exc_info=True)


async def resume_decided(bench: Workbench) -> int:
    """Let runs go on whose word was given elsewhere, or not in time; how many."""
    async with bench.db.write() as conn:
        await approval_table.expire_pending(conn, bench.clock())
        found = [await table.get_run(conn, run_id) for run_id in await approval_table.decided_runs(conn)]
    taken = 0
    for run in found:
        try:
            taken += run is not None and await _take_over(bench, run)
        except KosmosError:
            log.warning("a run could not go on", extra={"run": run and run.id}, exc_info=True)
    return taken


async def tend_runs(bench: Workbench, *, every: float = TEND_SECONDS) -> None:
    """Look from time to time, and when it rings, for runs that can go on."""
    with bench.bell.listen(topics.DECIDED) as ear:
        while True:
            await ear.rest(every)
            try:
                await resume_decided(bench)
                await revive_dead(bench)
            except KosmosError:
                log.warning("runs that wait could not be looked at", exc_info=True)


async def _take_over(bench: Workbench, run: Run) -> bool:
    """Claim a run and drive it on; False when somebody else has it. One that cannot go on ends."""
    async with bench.db.write() as conn:
        now = bench.clock()
        mine = await table.claim_run(
            conn, run.id, run.status, before=run.worker, worker=bench.runs.worker, now=now
        )
    if not mine:
        return False
    run = replace(run, status=RunStatus.RUNNING, worker=bench.runs.worker)
    try:
        drive = await _restore(bench, run)
    except KosmosError:
        await bury(bench, run)
        raise
    events = await _told(bench, run.id)
    live = LiveRun(run.id, run.session_id, events)
    bench.runs.start(bench.db, bench.clock, live, drive_on(bench, drive))
    return True


async def _told(bench: Workbench, run_id: str) -> list[StoredEvent]:
    events, after = list[StoredEvent](), 0
    async with bench.db.read() as conn:
        while page := await table.events_after(conn, run_id, after):
            events += page
            after = page[-1].sequence
    return events


async def _restore(bench: Workbench, run: Run) -> Drive:
    """The run as it was begun: for whom, in which spaces; what was decided meanwhile."""
    notes = await kept_notes(bench, run.id)
    async with bench.db.read() as conn:
        found = await session_table.get_session(conn, run.session_id)
        user = await users.get_user(conn, found.owner_id) if found else None
        if found is None or user is None:
            raise NotFound("The session of this run is gone.")
        who = Principal(user=user, scope=Scope.WRITE, token_id="")
        session = await require_session(conn, who, run.session_id)
        agent = await agent_of(conn, session)
        asked = await approval_table.last_approval(conn, run.id)
    wish = await _wish(bench, run, session, notes.get("wish", {}))
    models = await models_of(bench, who, agent, wish.model, space_ids=spaces_of(agent, wish))
    drive = Drive(bench, who, run, session, agent, wish, models, resumes=True)
    drive.verdict = verdict_of(asked) if asked is not None else None
    return drive


async def _wish(bench: Workbench, run: Run, session: Session, kept: dict[str, object]) -> RunWish:
    async with bench.db.read() as conn:
        messages = await session_table.active_messages(conn, session.id)
    asked = [one for one in messages if one.run_id == run.id and one.type is MessageType.USER]
    spaces = kept.get("space_ids")
    return RunWish(
        asked[-1].content if asked else str(kept.get("question", "")),
        model=ModelWish(),
        space_ids=[str(one) for one in spaces] if isinstance(spaces, list) else None,
        instructions=str(kept.get("instructions") or ""),
    )
