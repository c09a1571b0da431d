"""The three calls of every system in `bench/peers.py`, and the floor of them all. Does nothing when run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from peers_meter import Encoder, Meter


class System(Protocol):
    """A system under test. `modes` are the ways it can be asked, the default one first."""

    modes: tuple[str, ...]

    def ingest(self, paths: Sequence[Path], folder: Path, meter: Meter) -> int:
        """Read, split, encode and index files, write all to the folder; how many pieces there are."""

    def open(self, folder: Path) -> None:
        """Be ready to answer, from the folder alone."""

    def ask(self, question: str, count: int, mode: str) -> list[str]:
        """The files of the best pieces, best first."""


class Floor:
    """What nobody can do without: open, cut at blank lines, encode, one matrix."""

    modes: tuple[str, ...] = ("dense",)
    SIZE = 1000

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._rows: Any = None
        self._names: list[str] = []

    def ingest(self, paths: Sequence[Path], folder: Path, meter: Meter) -> int:
        """Pieces of about a thousand characters."""
        with meter.stage("read"):
            texts = [path.read_bytes().decode(errors="replace") for path in paths]
        with meter.stage("split"):
            pieces = [
                (path, piece) for path, text in zip(paths, texts, strict=True) for piece in self._cut(text)
            ]
        with meter.stage("index"):
            rows = self._encoder.rows([piece for _, piece in pieces])
            np.save(folder / "rows.npy", rows)
            (folder / "names.txt").write_text("\n".join(str(path) for path, _ in pieces))
            (folder / "texts.txt").write_text("\0".join(piece for _, piece in pieces))
        return len(pieces)

    def _cut(self, text: str) -> list[str]:
        pieces = [""]
        for part in text.split("\n\n"):
            if pieces[-1] and len(pieces[-1]) + len(part) > self.SIZE:
                pieces.append("")
            pieces[-1] += part + "\n\n"
        return [piece for piece in pieces if piece.strip()]

    def open(self, folder: Path) -> None:
        """Read the matrix."""
        self._rows = np.load(folder / "rows.npy")
        self._names = (folder / "names.txt").read_text().split("\n")

    def ask(self, question: str, count: int, mode: str) -> list[str]:  # noqa: ARG002
        """One product."""
        scores = self._rows @ self._encoder.rows([question])[0]
        return [self._names[at] for at in np.argsort(-scores)[:count]]
