"""Adding files and folders of this machine."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kosmos.accounts.access import resolve_space
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import InvalidInput, KosmosError
from kosmos.tasks.adding import SUFFIXES, Outcome, Source, add_document
from kosmos.tasks.workbench import Workbench

MAX_FILE = 100 * 2**20
OnStep = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A file that was not added, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class AddReport:
    """What became of each file."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: list[PassedOver] = field(default_factory=list)
    failed: list[PassedOver] = field(default_factory=list)


async def add_paths(
    bench: Workbench, who: Principal, space: str, paths: Sequence[Path], *, on_step: OnStep
) -> AddReport:
    """Add files and folders to a space that the caller may edit; one bad file does not stop the others."""
    async with bench.db.read() as conn:
        space_id = (await resolve_space(conn, who, space, need=Role.EDITOR)).space.id
    report = AddReport()
    found: list[tuple[Path, str]] = []
    for path in paths:
        found += await asyncio.to_thread(lambda root: list(_walk(root, report)), path)
    for done, (path, name) in enumerate(found):
        on_step(done, len(found), name)
        try:
            data = await asyncio.to_thread(path.read_bytes)
            source = Source(origin=path.as_uri(), name=name, data=data)
            document, outcome = await add_document(bench, space_id, source)
        except (KosmosError, OSError) as error:
            report.failed.append(PassedOver(_shown(path), _reason(error)))
            continue
        lists = {Outcome.ADDED: report.added, Outcome.UPDATED: report.updated}
        lists.get(outcome, report.unchanged).append(document.source)
    on_step(len(found), len(found), "")
    return report


def _reason(error: Exception) -> str:
    if isinstance(error, KosmosError):
        return f"{error.message} {error.remedy or ''}".strip()
    return str(error)


def _walk(root: Path, report: AddReport) -> Iterator[tuple[Path, str]]:
    """The files below a path with the names they get, in a fixed order."""
    if not root.exists():
        raise InvalidInput(f"{root} does not exist.", remedy="Check the path.")
    if root.is_file():
        # Only the folder is resolved: `../a.md` and `/home/a.md` are the same file, a link keeps its name.
        path = root.parent.resolve() / root.name
        if reason := _unfit(path):
            report.failed.append(PassedOver(_shown(path), reason))
        else:
            yield path, path.name
        return
    base = root.resolve()
    for folder, folders, files in os.walk(base, onerror=lambda error: _note(error, report)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder) / name
            if reason := _why_not(path):
                report.skipped.append(PassedOver(_shown(path), reason))
            else:
                yield path, str(Path(base.name) / path.relative_to(base))


def _note(error: OSError, report: AddReport) -> None:
    report.failed.append(PassedOver(_shown(Path(str(error.filename))), error.strerror or str(error)))


def _shown(path: Path) -> str:
    """The path as it can be printed, whatever bytes its name consists of."""
    return str(path).encode(errors="backslashreplace").decode()


def _why_not(path: Path) -> str | None:
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink() or not path.is_file():
        return "not a regular file"
    if path.suffix.lower() not in SUFFIXES:
        return f"type {path.suffix or 'unknown'} cannot be read yet"
    return _unfit(path)


def _unfit(path: Path) -> str | None:
    if _shown(path) != str(path):
        return "its name is not UTF-8"
    size = path.stat().st_size
    return f"larger than {MAX_FILE:,} bytes" if size > MAX_FILE else None
