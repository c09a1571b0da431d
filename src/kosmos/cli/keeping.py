"""Commands that keep and move: backup, restore, export, import, migrate."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.archive.backup import Made
    from kosmos.archive.moving import Moved
    from kosmos.archive.restore import Restored
    from kosmos.archive.space_export import Exported
    from kosmos.archive.space_import import Imported
    from kosmos.config import Settings
    from kosmos.domain.accounts import Principal
    from kosmos.tasks.verifying import Verification

DENSE_SECONDS = 15.0


def register(app: typer.Typer) -> None:
    """Add the commands that stand at the top level."""
    for command in (backup, restore, migrate):
        app.command()(command)
    app.command("export")(export_space)
    app.command("import")(import_space)


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="New file, or a folder for one.")],
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Also the key that opens provider keys, and your token.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write everything into one file, while the server and workers go on."""
    from kosmos.accounts.access import require_admin
    from kosmos.archive.backup import back_up
    from kosmos.archive.secrets import read_secrets
    from kosmos.cli.progress import progress_bar

    name = f"kosmos-{datetime.now(UTC):%Y%m%d-%H%M%S}.zip"
    file = target / name if target.is_dir() else target

    async def work(app: "App", who: "Principal") -> "Made":
        require_admin(who)
        secrets = read_secrets(app.settings) if with_key else {}
        with progress_bar("backing up", quiet=as_json) as step:
            return await back_up(app.bench, file, secrets=secrets, step=step)

    made = with_app(work)
    show(made, as_json, lambda: _show_made(made, with_key=with_key))
    if made.missing:
        raise typer.Exit(1)


def _show_made(made: "Made", *, with_key: bool) -> None:
    out = console()
    out.print(f"{made.file}: {made.rows} rows and {made.blobs} files in {made.bytes} bytes")
    if not with_key:
        out.print("the key is not in it: keep secret.key as well")
    if made.missing:
        out.print(f"{len(made.missing)} files were lost before: see kosmos verify")


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `kosmos backup`.")], as_json: AsJson = False
) -> None:
    """Fill an empty home or database from a backup, and prove it."""
    from kosmos.cli.progress import progress_bar
    from kosmos.config import load_settings
    from kosmos.config.logs import configure_logging

    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    with progress_bar("restoring", quiet=as_json) as step:
        restored = asyncio.run(_restore(settings, file, step))
    show(restored, as_json, lambda: _show_restored(restored))
    if restored.verified.faults:
        raise typer.Exit(1)


async def _restore(settings: "Settings", file: Path, step: Any) -> "Restored":
    from kosmos.app import open_bench
    from kosmos.archive.manifest import BACKUP
    from kosmos.archive.reading import open_archive
    from kosmos.archive.restore import check_archive, finish, unpack
    from kosmos.archive.secrets import check_secrets, keep_token, write_secrets

    with open_archive(file, BACKUP, trusted=True) as reader:
        await check_archive(reader, step)
        secrets = check_secrets(settings, reader)

        async def fill(db: Any, blobs: Any) -> None:
            await unpack(reader, db, blobs, step)
            write_secrets(settings, secrets)

        async with open_bench(settings, fill=fill) as bench:
            restored = await finish(bench, reader, step)
            await keep_token(settings, bench)
            return restored


def _show_restored(restored: "Restored") -> None:
    console().print(f"restored {restored.rows} rows and {restored.blobs} files")
    console().print(f"indexed {restored.index.rows} chunks, {restored.index.vectors} with vectors")
    _show_proof(restored.verified)


def _show_proof(found: "Verification") -> None:
    for fault in found.faults:
        console().print(f"{fault.source or 'index'}: {fault.message} ({fault.check})")
    console().print(f"verified {found.verified} of {found.documents}")


def export_space(
    space: Annotated[str, typer.Argument(help="Name or id of the space.")],
    file: Annotated[Path, typer.Argument(help="New file.")],
    as_json: AsJson = False,
) -> None:
    """Write one space into a file: documents, chunks, what is hidden, figures, settings."""
    from kosmos.accounts.access import resolve_space
    from kosmos.archive.space_export import export_space as run
    from kosmos.cli.progress import progress_bar

    async def work(app: "App", who: "Principal") -> "Exported":
        async with app.bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space)).space.id
        with progress_bar("exporting", quiet=as_json) as step:
            return await run(app.bench, who, space_id, file, step=step)

    made = with_app(work)
    words = f"{made.documents} documents, {made.chunks} chunks and {made.blobs} files in {made.bytes} bytes"
    show(made, as_json, lambda: console().print(f"{made.file}: {words}"))


def import_space(
    file: Annotated[Path, typer.Argument(help="A file of `kosmos export`.")],
    space: Annotated[
        str | None, typer.Option("--space", help="Name of the new space. Default: that in the file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a space out of such a file. Nothing is trusted: a file that is not right changes nothing."""
    from kosmos.archive.manifest import SPACE
    from kosmos.archive.reading import open_archive
    from kosmos.archive.space_import import import_space as run
    from kosmos.cli.progress import progress_bar
    from kosmos.tasks.following import follow_encoding, follow_job
    from kosmos.workers import working_beside

    async def work(app: "App", who: "Principal") -> "Imported":
        with open_archive(file, SPACE) as reader, progress_bar("importing", quiet=as_json) as step:
            made = await run(app.bench, who, reader, name=space, step=step)
            if made.job_id is not None:
                async with working_beside(app, at_least=2):
                    await follow_job(app.bench, made.job_id, on_step=step)
                    await follow_encoding(app.bench, made.space_id, seconds=DENSE_SECONDS, on_step=step)
        return made

    made = with_app(work)
    show(made, as_json, lambda: _show_imported(made))
    if made.verified.faults:
        raise typer.Exit(1)


def _show_imported(made: "Imported") -> None:
    console().print(f"{made.name}: {made.documents} documents, {made.chunks} chunks, {made.blobs} files")
    if made.renamed:
        console().print(f"{made.renamed} ids were taken here and are new")
    _show_proof(made.verified)


def migrate(
    to: Annotated[str, typer.Option("--to", help="postgresql://…, sqlite:///… or the folder of a new home.")],
    index_url: Annotated[
        str | None, typer.Option("--index-url", help="The new index. Default: it stays, or is in the home.")
    ] = None,
    blobs: Annotated[
        str | None, typer.Option("--blobs", help="The new blob store. Default: it stays, or is in the home.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Move everything to other engines that are empty; the present ones are left as they are."""
    from kosmos.accounts.access import require_admin
    from kosmos.archive.targets import target_settings
    from kosmos.cli.progress import progress_bar

    async def work(app: "App", who: "Principal") -> "Moved":
        require_admin(who)
        target = target_settings(app.settings, to, index_url=index_url, blobs=blobs)
        with progress_bar("moving", quiet=as_json) as step:
            return await _move(app, target, step)

    moved = with_app(work)
    show(moved, as_json, lambda: _show_moved(moved))
    if moved.after.faults:
        raise typer.Exit(1)


async def _move(app: "App", target: "Settings", step: Any) -> "Moved":
    from kosmos.app import open_bench
    from kosmos.archive.moving import Departure, finish_move, move_rows, prove_source
    from kosmos.archive.secrets import read_secrets, write_secrets

    before = await prove_source(app.bench, step)
    moved: dict[str, Any] = {}

    async def fill(db: Any, blobs: Any) -> None:
        other = target.blobs != app.settings.blobs
        moved.update(await move_rows(app.bench, db, blobs if other else None, step))
        if target.home != app.settings.home:
            write_secrets(target, read_secrets(app.settings))

    async with open_bench(target, fill=fill) as bench:
        index = target.index != app.settings.index
        return await finish_move(bench, Departure(app.bench, before, moved), index=index, step=step)


def _show_moved(moved: "Moved") -> None:
    console().print(f"moved {sum(moved.tables.values())} rows and {moved.blobs} files; the rows are the same")
    _show_proof(moved.after)
    console().print("set the new engines (KOSMOS_HOME, KOSMOS_DATABASE_URL, …) before you go on")
