"""Files that come piece by piece: kept on disk until they are whole, then added. Rights are checked here."""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import quote

from kosmos.accounts.access import require_space
from kosmos.domain.accounts import Principal, Role
from kosmos.domain.values import check_text
from kosmos.errors import InvalidInput, KosmosError, TooLarge
from kosmos.ingest.archives import TAIL
from kosmos.ingest.sniffing import HEAD, sniff
from kosmos.tasks.adding import MAX_PATH, Added, Source, add_document
from kosmos.tasks.producing import choose_producer
from kosmos.tasks.workbench import Workbench

MAX_FILES = 100
_PIECE = 1 << 20  # written at once: a hop to a thread for every few kilobytes would cost more than the disk
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(slots=True)
class Arrival:
    """One file on its way: its name, how much of it is there, and where that lies."""

    name: str
    file: IO[bytes]
    size: int = 0
    waiting: list[bytes] = field(default_factory=list)


class Inbox:
    """Takes files one after the other; together they may have so many bytes. They have no name on disk."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._taken = 0
        self.arrivals: list[Arrival] = []

    async def begin(self, name: str) -> None:
        """Start a file; the one before it is whole."""
        await self.finish()
        cleaned = clean_path(name)
        if len(self.arrivals) == MAX_FILES:
            raise TooLarge(f"At most {MAX_FILES} files come at once.", remedy="Send the others separately.")
        if any(arrival.name == cleaned for arrival in self.arrivals):
            raise InvalidInput(f"Two files are called {cleaned!r}.", remedy="Send one of them, or rename it.")
        file = await asyncio.to_thread(lambda: tempfile.TemporaryFile("w+b", dir=self._folder))  # noqa: SIM115
        self.arrivals.append(Arrival(cleaned, file))

    async def write(self, data: bytes) -> None:
        """More of the file that was begun."""
        arrival = self.arrivals[-1]
        self._taken += len(data)
        if self._taken > self._most:
            raise too_large(arrival.name, self._most)
        arrival.size += len(data)
        arrival.waiting.append(data)
        if sum(map(len, arrival.waiting)) >= _PIECE:
            await self.finish()

    async def finish(self) -> None:
        """Everything that was given lies on disk."""
        if self.arrivals and (waiting := b"".join(self.arrivals[-1].waiting)):
            self.arrivals[-1].waiting = []
            await asyncio.to_thread(self.arrivals[-1].file.write, waiting)


@contextmanager
def open_inbox(folder: Path, most: int) -> Iterator[Inbox]:
    """An inbox whose files are gone afterwards."""
    inbox = Inbox(folder, most)
    try:
        yield inbox
    finally:
        for arrival in inbox.arrivals:
            arrival.file.close()


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not taken, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What became of the files of one upload."""

    added: tuple[Added, ...]
    refused: tuple[Refused, ...]


async def check_upload(
    bench: Workbench, who: Principal, space_id: str, *, producer: str | None = None
) -> None:
    """Refuse whoever may not add to a space, or what could not be chunked, before anything is read."""
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id, need=Role.EDITOR)
        await choose_producer(bench, conn, who, space_id, producer)
        await bench.quotas.check_room(conn, space_id)


async def add_arrivals(
    bench: Workbench,
    who: Principal,
    space_id: str,
    arrivals: Sequence[Arrival],
    *,
    producer: str | None = None,
) -> Uploaded:
    """Add what has arrived; an error only when none of it can be taken."""
    if not arrivals:
        raise InvalidInput("No file came with the request.", remedy="Send at least one file with its name.")
    await check_upload(bench, who, space_id, producer=producer)
    added: list[Added] = []
    refused: list[Refused] = []
    for arrival in arrivals:
        try:
            added.append(await _add(bench, who, space_id, arrival, producer))
        except KosmosError as error:
            if len(arrivals) == 1 or (arrival is arrivals[-1] and not added):
                raise
            refused.append(Refused(arrival.name, f"{error.message} {error.remedy or ''}".strip()))
    return Uploaded(tuple(added), tuple(refused))


async def _add(
    bench: Workbench, who: Principal, space_id: str, arrival: Arrival, producer: str | None
) -> Added:
    data = await asyncio.to_thread(_read, arrival)
    source = Source(f"upload:///{quote(arrival.name)}", arrival.name, data, producer=producer)
    return await add_document(bench, who, space_id, source)


def _read(arrival: Arrival) -> bytes:
    """The bytes, if they are of a kind that can be read; those that are not never become a document."""
    file = arrival.file
    file.seek(max(0, arrival.size - TAIL))
    tail = file.read()
    file.seek(0)
    sniff(file.read(HEAD), arrival.name, tail=tail)
    file.seek(0)
    return file.read()


def clean_path(name: str) -> str:
    """The name of an uploaded file, with the folders it lay in, as a path that leads nowhere else."""
    check_text(name, what="name of the file", most=MAX_PATH)
    if _CONTROL.search(name):
        raise InvalidInput("The name of a file holds control characters.", remedy="Rename it.")
    parts = [part.strip() for part in name.replace("\\", "/").split("/")]
    kept = [part for part in parts if part not in ("", ".", "..") and not _DRIVE.fullmatch(part)]
    if not kept:
        raise InvalidInput("A file came without a name.", remedy="Say what it is called (filename).")
    return "/".join(kept)


def too_large(name: str, most: int) -> TooLarge:
    """The error for more bytes than are taken at once."""
    return TooLarge(
        f"{name} is too large: the files of one upload have at most {most:,} bytes together.",
        remedy="Send them one by one, split a larger one, or raise KOSMOS_MAX_FILE_BYTES.",
    )
