"""Commands that talk with agents: chat, and the sessions that come of it."""

import asyncio
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show, show_rows
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.sessions import Message, Session
    from kosmos.tasks.run_wishes import RunWish

group = typer.Typer(help="Talks with agents.", no_args_is_help=True)
AGENT = "knowledge assistant"
HELP = "/sources shows what the last answer rests on, /stop stops an answer, /quit ends."
Thinking = Annotated[bool, typer.Option("--thinking", help="Show what the model thinks.")]
TheSession = Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")]


def register(app: typer.Typer) -> None:
    """Add the command that stands at the top level."""
    app.command()(chat)


def chat(
    agent: Annotated[str, typer.Option("--agent", help="Name or id of the agent.")] = AGENT,
    session: Annotated[str | None, typer.Option("--session", help="Go on with this session.")] = None,
    space: Annotated[str | None, typer.Option("--space", help="Only in this space.")] = None,
    thinking: Thinking = False,
    as_json: AsJson = False,
) -> None:
    """Talk with an agent, line by line. /sources, /stop and /quit are commands."""
    from kosmos.cli.documents import space_ids_of
    from kosmos.tasks import sessions
    from kosmos.tasks.sessions import NewSession

    async def work(app: "App", who: "Principal") -> None:
        if session is None:
            talk = await sessions.create_session(app.bench, who, NewSession(agent=agent))
        else:
            talk = await sessions.get_session(app.bench, who, session)
        if not as_json:
            sys.stderr.write(f"Session {talk.id}. {HELP}\n")
        spaces = await space_ids_of(app, who, space)
        await _Chat(app, who, talk.id, spaces, thinking, as_json).talk()

    with_app(work)


class _Chat:
    """One talk at a terminal."""

    def __init__(
        self,
        app: "App",
        who: "Principal",
        session_id: str,
        space_ids: Sequence[str] | None,
        thinking: bool,
        as_json: bool,
    ) -> None:
        self._app, self._who, self._session = app, who, session_id
        self._spaces, self._thinking, self._as_json = space_ids, thinking, as_json
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._run: str | None = None
        self._answer: Mapping[str, Any] | None = None

    async def talk(self) -> None:
        """Take lines until there are no more."""
        self._listen()
        while True:
            if not self._as_json and sys.stdin.isatty():
                sys.stdout.write("> ")
                sys.stdout.flush()
            line = await self._lines.get()
            if line is None or line.strip() == "/quit":
                return
            await self._take(line.strip())

    def _listen(self) -> None:
        """Read lines beside everything else, so that /stop is heard while an answer comes."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            for line in sys.stdin:
                loop.call_soon_threadsafe(self._hear, line)
            loop.call_soon_threadsafe(self._hear, None)

        threading.Thread(target=read, daemon=True).start()

    def _hear(self, line: str | None) -> None:
        if line is not None and line.strip() == "/stop":
            if self._run is not None:
                self._app.bench.runs.stop(self._run)
            elif not self._lines.empty():
                self._lines.put_nowait(line)
            return
        self._lines.put_nowait(line)

    async def _take(self, line: str) -> None:
        from kosmos.cli.talking import show_citations, show_doubts
        from kosmos.tasks.run_wishes import RunWish

        if line == "/sources":
            show_citations(self._answer["citations"] if self._answer else [])
        elif line in ("/help", "/stop"):
            sys.stderr.write(f"{HELP}\n")
        elif line:
            self._answer = await self._ask(RunWish(line, space_ids=self._spaces))
            if self._answer and not self._as_json:
                show_citations(self._answer["citations"])
                show_doubts(self._answer["claims"])

    async def _ask(self, wish: "RunWish") -> Mapping[str, Any] | None:
        from kosmos.cli.talking import show_events
        from kosmos.tasks import runs

        run = await runs.start_run(self._app.bench, self._who, self._session, wish)
        self._run = run.id
        try:
            bench, who = self._app.bench, self._who
            events = runs.follow_run(bench, who, self._session, run.id, patient=False)
            return await show_events(events, as_json=self._as_json, thinking=self._thinking)
        finally:
            self._run = None


@group.command("list")
def list_sessions(as_json: AsJson = False) -> None:
    """List your sessions, newest first."""
    from kosmos.tasks import sessions

    async def work(app: "App", who: "Principal") -> "list[Session]":
        return await sessions.list_sessions(app.bench, who, limit=1000)

    show_rows(
        with_app(work),
        as_json,
        {
            "id": lambda item: item.id,
            "title": lambda item: item.title,
            "messages": lambda item: item.message_count,
            "tokens": lambda item: f"{item.total_token_count:,}",
            "updated": lambda item: f"{item.updated_at:%Y-%m-%d %H:%M}",
        },
    )


@group.command("show")
def show_session(session: TheSession, as_json: AsJson = False) -> None:
    """Show what was said in a session."""
    from kosmos.tasks import sessions

    async def work(app: "App", who: "Principal") -> "tuple[Session, list[Message]]":
        found = await sessions.get_session(app.bench, who, session)
        said: list[Message] = []
        while page := await sessions.list_messages(
            app.bench, who, session, after=said[-1].position if said else 0, limit=1000
        ):
            said += page
        return found, said

    found, said = with_app(work)
    show({"session": found, "messages": said}, as_json, lambda: _show_said(found, said))


def _show_said(session: "Session", messages: "Sequence[Message]") -> None:
    out = console()
    out.print(f"{session.title}  ({session.message_count} messages)", style="bold")
    for message in messages:
        mark = " (compressed)" if message.compressed else ""
        calls = message.metadata.get("tool_calls") or ()
        text = message.content or ", ".join(call["function"]["name"] for call in calls)
        out.print(f"\n{message.type.lower()}{mark}", style="bold")
        out.print(text if message.role != "tool" else f"{text[:400]}…")


@group.command("delete")
def delete_session(session: TheSession, as_json: AsJson = False) -> None:
    """Remove a session with everything that was said in it."""
    from kosmos.tasks import sessions

    async def work(app: "App", who: "Principal") -> str:
        await sessions.remove_session(app.bench, who, session)
        return session

    removed = with_app(work)
    show({"removed": removed}, as_json, lambda: console().print(f"removed {removed}"))
