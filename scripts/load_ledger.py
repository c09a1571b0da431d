"""What a load run was promised, to be held against what is there in the end. Does nothing when run."""

import hashlib
from dataclasses import dataclass, field


@dataclass(slots=True)
class Paper:
    """A document that a user uploaded: the bytes of each version whose taking was confirmed."""

    space_id: str
    name: str
    data: bytes
    document_id: str
    versions: list[str] = field(default_factory=list)  # SHA-256
    hasty: bool = False  # a version came before the one before it was done, or its jobs were cancelled


@dataclass(slots=True)
class Heard:
    """A run as its client saw it."""

    run_id: str
    session_id: str
    question: str
    stopped: bool = False
    events: list[tuple[int, str]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether the end was seen."""
        return bool(self.events) and self.events[-1][1] == "run_end"

    @property
    def last(self) -> int:
        """The number of the last event seen."""
        return self.events[-1][0] if self.events else 0


@dataclass(slots=True)
class Ledger:
    """Everything that servers have confirmed, and what went wrong on the way."""

    papers: dict[tuple[str, str], Paper] = field(default_factory=dict)
    runs: dict[str, Heard] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    uploads: int = 0

    def note_upload(self, space_id: str, name: str, data: bytes, document_id: str) -> Paper:
        """A server says that it has these bytes under this name."""
        self.uploads += 1
        digest = hashlib.sha256(data).hexdigest()
        paper = self.papers.get((space_id, name))
        if paper is None:
            paper = self.papers[space_id, name] = Paper(space_id, name, data, document_id)
        if paper.document_id != document_id:
            self.wrong.append(f"{name} became two documents: {paper.document_id} and {document_id}")
        if not paper.versions or paper.versions[-1] != digest:
            paper.versions.append(digest)
        paper.data = data
        return paper

    def note_run(self, run_id: str, session_id: str, question: str) -> Heard:
        """A server says that it answers a question."""
        return self.runs.setdefault(run_id, Heard(run_id, session_id, question))
