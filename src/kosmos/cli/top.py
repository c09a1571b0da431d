"""`kosmos top`: jobs, workers, rates, tokens and streams, as they are now."""

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, as_line, console, plain, printable
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.tasks.standing import Overview

LOOK_SECONDS = 2.0
ASK_SECONDS = 1.0
STATUSES = ("PENDING", "RUNNING", "PAUSED")
_SERVED = {"kosmos_streams_open": "streams", "kosmos_http_requests_total": "requests"}


@dataclass(frozen=True, slots=True)
class Server:
    """What the server of this home tells by itself; None where it does not answer."""

    streams: int | None = None
    requests: int | None = None


def top(
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    seconds: Annotated[float, typer.Option("--seconds", min=0.5, help="Between two looks.")] = LOOK_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Show how the instance is doing: jobs, workers, rates, tokens, streams. Administrators only."""

    async def work(app: "App", who: "Principal") -> None:
        if once or not (as_json or sys.stdout.isatty()):
            _print(await _look(app, who), as_json)
        elif as_json:
            while True:
                _print(await _look(app, who), as_json)
                await asyncio.sleep(seconds)
        else:
            await _live(app, who, seconds)

    with_app(work)


async def _look(app: "App", who: "Principal") -> "tuple[Overview, Server]":
    from kosmos.tasks.standing import look_around

    return await look_around(app.bench, who), await _ask_server(app)


async def _live(app: "App", who: "Principal", seconds: float) -> None:
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False, screen=True) as live:
        while True:
            live.update(_picture(*await _look(app, who)), refresh=True)
            await asyncio.sleep(seconds)


def _print(found: "tuple[Overview, Server]", as_json: bool) -> None:
    if as_json:
        sys.stdout.write(as_line(_body(*found)) + "\n")
        sys.stdout.flush()
    else:
        console().print(_picture(*found))


def _body(overview: "Overview", server: Server) -> dict[str, Any]:
    return {**plain(overview), "server": plain(server)}


async def _ask_server(app: "App") -> Server:
    """What the server counts, if one runs at the configured address."""
    import httpx2

    from kosmos.app import read_token
    from kosmos.errors import Unauthenticated

    settings = app.settings
    try:
        given = settings.token
        token = given.get_secret_value() if given else await asyncio.to_thread(read_token, settings)
        async with httpx2.AsyncClient(timeout=ASK_SECONDS, trust_env=False) as client:
            url = f"http://{settings.host}:{settings.port}/metrics"
            answer = await client.get(url, headers={"authorization": f"Bearer {token}"})
    except (httpx2.HTTPError, Unauthenticated, OSError):
        return Server()
    return read_counts(answer.text) if answer.status_code == 200 else Server()


def read_counts(text: str) -> Server:
    """The sums of the counters that are shown, out of what Prometheus would read."""
    sums = dict.fromkeys(_SERVED.values(), 0.0)
    for line in text.split("\n"):
        name = line.split("{", maxsplit=1)[0].split(" ", maxsplit=1)[0]
        if name in _SERVED:
            sums[_SERVED[name]] += float(line.rsplit(" ", maxsplit=1)[1])
    return Server(**{name: int(value) for name, value in sums.items()})


def _picture(overview: "Overview", server: Server) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    lines = [*_facts(overview, server), ""]
    return Group(*(Text(printable(line)) for line in lines), _jobs(overview), Text(""), _workers(overview))


def _facts(overview: "Overview", server: Server) -> list[str]:
    standing, spent = overview.standing, overview.spent_today
    ended = ", ".join(f"{count:,} {status.lower()}" for status, count in sorted(overview.ended.items()))
    runs = ", ".join(f"{count:,} {status.lower()}" for status, count in sorted(standing.runs.items()))
    tokens = f"{spent.prompt_tokens:,} in ({spent.cached_tokens:,} cached), {spent.output_tokens:,} out"
    streams = "no server answers" if server.streams is None else f"{server.streams:,} open"
    requests = "" if server.requests is None else f", {server.requests:,} requests since its start"
    return [
        f"{overview.at:%Y-%m-%d %H:%M:%S} UTC",
        f"oldest due   {standing.oldest_due:,.0f} s",
        f"last minute  {ended or 'no job ended'}",
        f"runs         {runs or 'none'}",
        f"today        {tokens}, cost {spent.cost:.4f}",
        f"streams      {streams}{requests}",
    ]


def _jobs(overview: "Overview") -> "Table":
    counts: dict[str, dict[str, int]] = {}
    for item in overview.standing.jobs:
        counts.setdefault(item.type, {})[item.status] = item.count
    rows = [[kind, *(f"{found.get(status, 0):,}" for status in STATUSES)] for kind, found in counts.items()]
    return _table(["jobs", *(status.lower() for status in STATUSES)], rows)


def _workers(overview: "Overview") -> "Table":
    rows = [[item.worker, item.type, f"{item.count:,}"] for item in overview.workers]
    return _table(["worker", "type", "jobs"], rows)


def _table(names: list[str], rows: list[list[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name)
    for row in rows or [["none", *[""] * (len(names) - 1)]]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
