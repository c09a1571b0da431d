"""What a conversion may use, and what it gives."""

from dataclasses import dataclass

from kosmos.domain.documents import Canonical
from kosmos.domain.extracts import Figure, Origin

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one conversion. Memory is what one process holds; time is until its document is given up."""

    original_bytes: int = 200 * MB
    canonical_bytes: int = 50 * MB
    figure_bytes: int = 256 * MB
    memory_bytes: int = 800 * MB
    cpu_seconds: int = 300
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Converted:
    """A document in canonical text, where its lines came from, and its figures."""

    canonical: Canonical
    origins: tuple[Origin, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]
    format: str
    converter: str
    cpu_seconds: float = 0.0
