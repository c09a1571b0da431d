"""Finding text in the files of a workspace."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from kosmos.errors import InvalidInput, KosmosError
from kosmos.sandbox.beneath import check_path
from kosmos.sandbox.files import Workspace

MAX_FILES, MAX_BYTES, MAX_LINE = 5000, 64 * 2**20, 400


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that holds the text."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The hits; `complete` is False when a limit ended the search."""

    hits: tuple[Hit, ...]
    complete: bool


def search(
    workspace: Workspace, text: str, path: str = ".", *, ignore_case: bool = False, limit: int = 200
) -> Found:
    """Lines of text files that hold `text` to the letter."""
    if not text or "\n" in text:
        raise InvalidInput("Search for one line of text or a part of one.")
    check_path(path)
    wanted = text.casefold() if ignore_case else text
    hits: list[Hit] = []
    left = MAX_BYTES
    for count, name in enumerate(_files(workspace, path)):
        if count >= MAX_FILES or left <= 0 or len(hits) >= limit:
            return Found(tuple(hits[:limit]), False)
        data = _text_of(workspace, name)
        left -= len(data)
        for number, line in enumerate(data.split("\n"), 1):
            if wanted in (line.casefold() if ignore_case else line):
                hits.append(Hit(name, number, line[:MAX_LINE]))
    return Found(tuple(hits[:limit]), len(hits) <= limit)


def _files(workspace: Workspace, path: str) -> Iterator[str]:
    """Every file below a folder; links are not followed, and what vanishes meanwhile is left out."""
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        try:
            entries = workspace.list(folder)
        except KosmosError:
            if folder == path:
                raise
            continue
        for entry in entries:
            name = entry.name if folder == "." else f"{folder.rstrip('/')}/{entry.name}"
            if entry.kind == "folder":
                waiting.append(name)
            elif entry.kind == "file":
                yield name


def _text_of(workspace: Workspace, name: str) -> str:
    try:
        data = workspace.read(os.fspath(name)).data
    except (KosmosError, OSError):
        return ""
    return "" if b"\0" in data[:8192] else data.decode("utf-8", "replace")
