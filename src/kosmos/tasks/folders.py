"""Adding files and folders of this machine, and following the work on them to its end."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from kosmos.accounts.access import resolve_space
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import InvalidInput, KosmosError
from kosmos.ingest.archives import TAIL
from kosmos.ingest.sniffing import HEAD, sniff
from kosmos.tasks.adding import Added, Outcome, Source, add_document
from kosmos.tasks.following import Ended, follow_jobs
from kosmos.tasks.producing import choose_producer
from kosmos.tasks.workbench import Workbench

AHEAD = 200  # documents entered and not done yet: their bytes are stored, so waiting costs nothing
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
    unencoded: int = 0  # documents that are found by their words, and by meaning later


@dataclass(frozen=True, slots=True)
class Choice:
    """Which files of a folder to take: patterns over the path below it, or over the name alone."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def objection(self, path: str) -> str | None:
        """Why a file is left out."""
        if any(_fits(path, pattern) for pattern in self.exclude):
            return "excluded"
        if self.include and not any(_fits(path, pattern) for pattern in self.include):
            return "not included"
        return None


def _fits(path: str, pattern: str) -> bool:
    return fnmatch(path, pattern) or fnmatch(path.rsplit("/", maxsplit=1)[-1], pattern)


async def add_paths(
    bench: Workbench,
    who: Principal,
    space: str,
    paths: Sequence[Path],
    *,
    choice: Choice | None = None,
    producer: str | None = None,
    on_step: OnStep,
) -> AddReport:
    """Add files and folders to a space that the caller may edit; one bad file does not stop the others.

    Somebody must work on the jobs meanwhile: a worker of this process or another one.
    """
    async with bench.db.read() as conn:
        space_id = (await resolve_space(conn, who, space, need=Role.EDITOR)).space.id
        await choose_producer(bench, conn, who, space_id, producer)  # what is missing is said once
    report = AddReport()
    found: list[tuple[Path, str]] = []
    walk = _Walk(choice or Choice(), report, bench.converter.limits.original_bytes)
    for path in paths:
        found += await asyncio.to_thread(lambda root: list(walk.files(root)), path)
    adding = _Adding(bench, report, len(found), on_step)
    for path, name in found:
        try:
            data = await asyncio.to_thread(path.read_bytes)
            source = Source(origin=path.as_uri(), name=name, data=data, producer=producer)
            await adding.entered(_shown(path), await add_document(bench, who, space_id, source))
        except (KosmosError, OSError) as error:
            report.failed.append(PassedOver(_shown(path), _reason(error)))
    await adding.finished()
    return report


@dataclass(slots=True)
class _Adding:
    """Keeps count of what has been entered and what has come to its end."""

    bench: Workbench
    report: AddReport
    total: int
    on_step: OnStep
    open: dict[str, list[tuple[str, Added]]] = field(default_factory=dict)  # by the id of the last job
    done: int = 0

    async def entered(self, path: str, added: Added) -> None:
        if not added.jobs:
            self._count(path, added, None)
            return
        self.open.setdefault(added.jobs[-1].id, []).append((path, added))  # one file may be named twice
        if len(self.open) >= AHEAD:
            await self._settle(AHEAD // 2)

    async def finished(self) -> None:
        await self._settle(0)
        self.on_step(self.total, self.total, "")

    async def _settle(self, most_left: int) -> None:
        async for ended in follow_jobs(self.bench, list(self.open), until_left=most_left):
            for path, added in self.open.pop(ended.job_id):
                self._count(path, added, ended)

    def _count(self, path: str, added: Added, ended: Ended | None) -> None:
        self.done += 1
        self.on_step(self.done, self.total, added.document.source)
        if ended is not None and ended.failure is not None:
            self.report.failed.append(PassedOver(path, ended.failure))
            return
        lists = {Outcome.ADDED: self.report.added, Outcome.UPDATED: self.report.updated}
        lists.get(added.outcome, self.report.unchanged).append(added.document.source)


def _reason(error: Exception) -> str:
    if isinstance(error, KosmosError):
        return f"{error.message} {error.remedy or ''}".strip()
    return str(error)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Looks through folders; what it passes over is told in the report."""

    choice: Choice
    report: AddReport
    most: int  # bytes of a file

    def files(self, root: Path) -> Iterator[tuple[Path, str]]:
        """The files below a path with the names they get, in a fixed order."""
        if not root.exists():
            raise InvalidInput(f"{root} does not exist.", remedy="Check the path.")
        if not root.is_file():
            yield from self._below(root.resolve())
            return
        # Only the folder is resolved: `../a.md` and `/home/a.md` are the same file, a link keeps its name.
        path = root.parent.resolve() / root.name
        if reason := _unfit(path, self.most):
            self.report.failed.append(PassedOver(_shown(path), reason))
        else:
            yield path, path.name

    def _below(self, base: Path) -> Iterator[tuple[Path, str]]:
        for folder, folders, files in os.walk(base, onerror=lambda error: _note(error, self.report)):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                path = Path(folder) / name
                if reason := self._why_not(path, path.relative_to(base).as_posix()):
                    self.report.skipped.append(PassedOver(_shown(path), reason))
                else:
                    yield path, str(Path(base.name) / path.relative_to(base))

    def _why_not(self, path: Path, below: str) -> str | None:
        if path.name.startswith("."):
            return "hidden"
        if objection := self.choice.objection(below):
            return objection
        if path.is_symlink() or not path.is_file():
            return "not a regular file"
        return _unfit(path, self.most) or _unreadable(path)


def _note(error: OSError, report: AddReport) -> None:
    report.failed.append(PassedOver(_shown(Path(str(error.filename))), error.strerror or str(error)))


def _shown(path: Path) -> str:
    """The path as it can be printed, whatever bytes its name consists of."""
    return str(path).encode(errors="backslashreplace").decode()


def _unfit(path: Path, most: int) -> str | None:
    if _shown(path) != str(path):
        return "its name is not UTF-8"
    return f"larger than {most:,} bytes" if path.stat().st_size > most else None


def _unreadable(path: Path) -> str | None:
    """Why a file of a folder is of no kind that can be read; by its content, not by its name."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
            file.seek(max(0, path.stat().st_size - TAIL))
            sniff(head, path.name, tail=file.read(TAIL))
    except InvalidInput as error:
        return error.message
    except OSError as error:
        return error.strerror or str(error)
    return None
