"""`kosmos`: every command, put together."""

import sys
from typing import Annotated

import typer

from kosmos import __version__
from kosmos.cli import accounts, credentials, documents, instance
from kosmos.cli.output import INTERRUPTED, fail
from kosmos.errors import KosmosError

app = typer.Typer(
    name="kosmos",
    help="Turns documents into knowledge that agents can rely on.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
documents.register(app)
app.add_typer(documents.group, name="documents")
app.add_typer(accounts.spaces, name="spaces")
app.add_typer(accounts.tokens, name="tokens")
app.add_typer(accounts.users, name="users")
app.add_typer(credentials.group, name="credentials")
instance.register(app)
app.add_typer(instance.database, name="db")


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
    try:
        app()
    except KosmosError as error:
        sys.exit(fail(error))
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
