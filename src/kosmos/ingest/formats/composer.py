"""The Markdown of a file while it is being written: blocks, where they came from, figures, notes."""

import hashlib
from collections.abc import Mapping
from typing import Any

from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.ingest.formats.pictures import Picture
from kosmos.ingest.formats.prose import flatten

MAX_FIGURE_BYTES = 200 * 2**20


class Composer:
    """Collects blocks in reading order and counts their lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._origins: list[Origin] = []
        self._mark: tuple[str, int, str] | None = None
        self._figures: dict[str, Figure] = {}
        self._figure_bytes = 0
        self._notes: list[str] = []

    def mark(self, kind: str, place: int, name: str = "") -> None:
        """What is added next comes from this page, slide or sheet."""
        self._mark = (kind, place, name)

    def add(self, block: str) -> int:
        """Adds a block and says on which line it starts."""
        if self._lines:
            self._lines.append("")
        line = len(self._lines) + 1
        if self._mark is not None:
            kind, place, name = self._mark
            self._origins.append(Origin(line, kind, place, name))
            self._mark = None
        self._lines.extend(block.split("\n"))
        return line

    def add_figure(self, picture: Picture, caption: str) -> None:
        """Adds a reference to a picture; the same bytes are kept once."""
        sha256 = hashlib.sha256(picture.data).hexdigest()
        caption = flatten(caption)
        if sha256 not in self._figures:
            self._figure_bytes += len(picture.data)
            if self._figure_bytes > MAX_FIGURE_BYTES:
                self.note(f"Pictures beyond {MAX_FIGURE_BYTES // 2**20} MB were left out.")
                return
        line = self.add(refer(sha256, caption))
        if sha256 not in self._figures:
            self._figures[sha256] = Figure(sha256, picture.data, picture.media_type, caption, line)

    def note(self, text: str) -> None:
        """Says what was left out or could not be read; once."""
        if text not in self._notes:
            self._notes.append(text)

    def finish(self, *, title: str = "", metadata: Mapping[str, Any] | None = None) -> Extract:
        """All of it as a value."""
        return Extract(
            markdown="\n".join(self._lines),
            title=flatten(title),
            metadata=dict(metadata or {}),
            origins=tuple(self._origins),
            figures=tuple(self._figures.values()),
            notes=tuple(self._notes),
        )


def refer(sha256: str, caption: str) -> str:
    """The Markdown that shows a figure."""
    safe = caption.replace("\\", "").replace("[", "(").replace("]", ")")
    return f"![{safe}](asset:{sha256})"
