"""Commands on the instance: doctor, serve, db, gc, and the model double."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kosmos.cli.output import AsJson, console, show
from kosmos.cli.session import with_app
from kosmos.errors import Conflict, Forbidden, Unauthenticated

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.doctor import Check
    from kosmos.domain.accounts import Principal

GRACE_SECONDS = 10
database = typer.Typer(help="The tables and their revision.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands that stand at the top level."""
    for command in (doctor, serve, gc):
        app.command()(command)
    app.command("model-double")(model_double)


def doctor(
    check_only: Annotated[
        bool, typer.Option("--check-only", help="Check the configuration alone; make and reach nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is configured, what works, and what to do about the rest."""
    from kosmos.config import load_settings
    from kosmos.doctor import State, examine, inspect

    settings = load_settings()
    checks = inspect(settings) if check_only else asyncio.run(examine(settings))
    show(checks, as_json, lambda: _show_checks(checks))
    if any(check.state is State.PROBLEM for check in checks):
        raise typer.Exit(1)


def _show_checks(checks: "list[Check]") -> None:
    out = console()
    marks = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
    width = max(len(check.name) for check in checks)
    for check in checks:
        style = {"ok": "green", "note": "yellow", "problem": "bold red"}[check.state]
        out.print(marks[check.state], style=style, end=" ")
        out.print(f"{check.name.ljust(width)}  {check.detail}")
        if check.remedy:
            out.print(f"{' ' * (width + 10)}{check.remedy}")


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to bind to.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to bind to.")] = None,
) -> None:
    """Serve the page and the HTTP API. Open the page by the link that is printed; it signs in once."""
    import uvicorn

    from kosmos.app import open_app
    from kosmos.config import load_settings
    from kosmos.config.logs import configure_logging
    from kosmos.config.memory import settle_memory
    from kosmos.sessions.streams import LEAVE_STREAMS

    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    settings = load_settings(**given)
    configure_logging(settings.log_level, settings.log_format)

    async def try_out() -> str:
        await _check_port(settings.host, settings.port)
        async with open_app(settings) as app:
            return await _link(app)

    # What keeps Kosmos from starting is said here in a sentence; the server would log a traceback.
    link = asyncio.run(try_out())
    # By name: the rooms of one row know nothing of each other.
    config = uvicorn.Config(
        "kosmos.api.application:from_environment",
        factory=True,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,  # streams would go on for ever
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            settle_memory()
            url = f"http://{settings.host}:{settings.port}"
            sys.stderr.write(f"Kosmos at {url} (token in {settings.token_file})\n")
            if link:
                sys.stderr.write(f"Open the page, once: {url}/#link={link}\n")

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Before it waits for requests to end: streams would let it wait for as long as it may.
            if leave := self.lifespan.state.get(LEAVE_STREAMS):
                leave()
            await super().shutdown(sockets)

    Server(config).run()


async def _link(app: "App") -> str:
    """A code for the local user; none where nobody is signed in here."""
    from kosmos.accounts.links import make_link

    try:
        who = await app.local_user()
        async with app.bench.db.write() as conn:
            return await make_link(conn, who, app.bench.clock())
    except (Forbidden, Unauthenticated):
        return ""


async def _check_port(host: str, port: int) -> None:
    try:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port)
    except OSError as error:
        raise Conflict(
            f"The server cannot listen at {host}, port {port}: {error.strerror or error}.",
            remedy="Stop what uses it, or choose another: kosmos serve --port N",
        ) from None
    server.close()
    await server.wait_closed()


def gc(as_json: AsJson = False) -> None:
    """Remove stored bytes that no document refers to any more."""
    from kosmos.accounts.access import require_admin
    from kosmos.tasks.keeping import collect_garbage

    async def work(app: "App", who: "Principal") -> int:
        require_admin(who)
        return await collect_garbage(app.bench)

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed} blobs"))


def model_double(
    script: Annotated[Path, typer.Argument(help="File with its answers, as JSON.")],
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1.")] = 8399,
) -> None:
    """Serve a scripted stand-in for an OpenAI-compatible model, for trying things out."""
    from kosmos.doubles.model_server import serve_forever

    def say(url: str) -> None:
        sys.stderr.write(f"Model double at {url}\n")

    asyncio.run(serve_forever(script, port, on_ready=say))


@database.command("upgrade")
def upgrade(as_json: AsJson = False) -> None:
    """Bring the tables to the revision that this version needs."""
    from kosmos.app import make_home
    from kosmos.config import load_settings
    from kosmos.db import Database
    from kosmos.db.migrate import HEAD, ensure_current

    settings = load_settings()

    async def run() -> None:
        make_home(settings)
        db = Database(settings.database)
        try:
            await ensure_current(db, upgrade=True)
        finally:
            await db.close()

    asyncio.run(run())
    show({"revision": HEAD}, as_json, lambda: console().print(f"the database is at revision {HEAD}"))


@database.command("current")
def current(as_json: AsJson = False) -> None:
    """Print the revision of the tables."""
    from kosmos.config import load_settings
    from kosmos.db import Database
    from kosmos.db.migrate import HEAD, current_revision

    async def run() -> str | None:
        db = Database(load_settings().database)
        try:
            return await current_revision(db)
        finally:
            await db.close()

    revision = asyncio.run(run())
    body = {"revision": revision, "needed": HEAD}
    show(body, as_json, lambda: console().print(f"{revision or 'none'} (this version needs {HEAD})"))
