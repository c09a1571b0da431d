"""Adding pages and files of the web by their address, and following the work on them to its end."""

from collections.abc import Sequence

from kosmos.accounts.access import resolve_space
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import KosmosError
from kosmos.tasks.adding import Added, Outcome
from kosmos.tasks.folders import AddReport, OnStep, PassedOver
from kosmos.tasks.following import follow_jobs
from kosmos.tasks.workbench import Workbench


def is_address(text: str) -> bool:
    """Whether this is meant as an address of the web rather than as a path."""
    return text.lower().startswith(("http://", "https://"))


async def add_urls(
    bench: Workbench,
    who: Principal,
    space: str,
    urls: Sequence[str],
    *,
    report: AddReport,
    producer: str | None = None,
    on_step: OnStep,
) -> None:
    """Fetch and add each address, and report on it; one that cannot be had does not stop the others."""
    from kosmos.tasks.fetching import add_url

    async with bench.db.read() as conn:
        space_id = (await resolve_space(conn, who, space, need=Role.EDITOR)).space.id
    entered: list[tuple[str, Added]] = []
    for url in dict.fromkeys(urls):
        try:
            entered.append((url, await add_url(bench, who, space_id, url, producer=producer)))
        except KosmosError as error:
            report.failed.append(PassedOver(url, f"{error.message} {error.remedy or ''}".strip()))
    last = [added.jobs[-1].id for _, added in entered if added.jobs]
    failures = {ended.job_id: ended.failure async for ended in follow_jobs(bench, last)}
    for done, (url, added) in enumerate(entered, start=1):
        on_step(done, len(entered), url)
        _count(report, url, added, failures.get(added.jobs[-1].id) if added.jobs else None)


def _count(report: AddReport, url: str, added: Added, failure: str | None) -> None:
    if failure is not None:
        report.failed.append(PassedOver(url, failure))
        return
    lists = {Outcome.ADDED: report.added, Outcome.UPDATED: report.updated}
    lists.get(added.outcome, report.unchanged).append(added.document.source)
