"""`kosmos`: every command, put together."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from kosmos import __version__
from kosmos.cli import (
    accounts,
    agents,
    approvals,
    bridging,
    chatting,
    chunks,
    costs,
    crawling,
    credentials,
    documents,
    evaluating,
    evaluating_chunking,
    evaluating_ops,
    instance,
    jobs,
    keeping,
    knowledge_mcp,
    models,
    os_mcp,
    papers,
    reading,
    searching,
    space_settings,
    tools,
    top,
    verifying,
)
from kosmos.cli.output import INTERRUPTED, fail
from kosmos.errors import EngineUnavailable, InvalidInput, KosmosError

app = typer.Typer(
    name="kosmos",
    help="Turns documents into knowledge that agents can rely on.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
documents.register(app)
searching.register(app)
reading.register(app)
crawling.register(app)
app.command()(chunks.rechunk)
app.command()(verifying.verify)
keeping.register(app)
app.command()(top.top)
app.add_typer(documents.group, name="documents")
documents.group.command("cost")(costs.show_cost)
app.add_typer(chunks.group, name="chunks")
app.add_typer(crawling.group, name="crawls")
accounts.spaces.command("set")(space_settings.set_space)
app.add_typer(accounts.spaces, name="spaces")
app.add_typer(accounts.tokens, name="tokens")
app.add_typer(accounts.users, name="users")
app.add_typer(credentials.group, name="credentials")
app.add_typer(models.group, name="models")
app.add_typer(jobs.group, name="jobs")
jobs.register(app)
app.add_typer(agents.group, name="agents")
chatting.register(app)
app.add_typer(chatting.group, name="sessions")
app.add_typer(approvals.group, name="approvals")
app.add_typer(tools.group, name="tools")
app.command()(knowledge_mcp.mcp)
app.command("watch-cluster")(bridging.watch_cluster)
app.add_typer(papers.group, name="papers")
instance.register(app)
app.command("os-mcp")(os_mcp.os_mcp)
app.add_typer(instance.database, name="db")
evaluating.group.command("chunking")(evaluating_chunking.eval_chunking)
evaluating.group.command("ops")(evaluating_ops.eval_ops)
app.add_typer(evaluating.group, name="eval")


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kosmos {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turns documents into knowledge that agents can rely on."""


def run() -> None:
    """The entry point: runs a command and turns errors into messages and exit codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets its number, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except KosmosError as error:
        sys.exit(fail(error))
    except UnicodeEncodeError:
        remedy = "Check the encoding of your terminal and of file names."
        sys.exit(fail(InvalidInput("An argument is not valid UTF-8.", remedy=remedy)))
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        remedy = "Check paths, permissions and free space; `kosmos doctor` tells more."
        sys.exit(fail(EngineUnavailable(f"The system refuses: {error}.", remedy=remedy)))
