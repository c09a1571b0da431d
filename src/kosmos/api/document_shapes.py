"""The forms in which documents, their parts and their lines leave over HTTP."""

from collections import Counter
from typing import Literal

from pydantic import BaseModel, Field

from kosmos.api.job_shapes import AnId, JobOut, SpentOut
from kosmos.api.shapes import DocumentOut, Form, Shape, SpaceId
from kosmos.domain.assets import AnalysisStatus
from kosmos.domain.chunks import Chunk, ChunkType
from kosmos.domain.redactions import load_redactions
from kosmos.tasks.adding import Added, Outcome
from kosmos.tasks.grep import SECONDS, Wanted
from kosmos.tasks.overview import Overview
from kosmos.tasks.reading import Place, Reading


class AddedOut(Shape):
    """A document and the jobs that work on it; the last of them ends when it can be found."""

    document: DocumentOut
    outcome: Outcome
    jobs: list[JobOut]

    @classmethod
    def of(cls, added: Added) -> "AddedOut":
        """From what adding gave."""
        return cls.model_validate(added)


class AddressIn(Form):
    """A page or file of the web to add."""

    url: str = Field(min_length=1, max_length=2000, examples=["https://kubernetes.io/docs/concepts/"])
    producer: Literal["structure", "indexer"] | None = Field(
        default=None, description="Who finds the chunks. Default: as the space is set."
    )


class RefusedOut(Shape):
    """A file that was not taken, and why."""

    name: str
    reason: str


class UploadedOut(Shape):
    """What became of the files of one upload."""

    added: list[AddedOut]
    refused: list[RefusedOut]


class AssetOut(Shape):
    """A figure or image; the text refers to it as `asset:` and its `sha256`."""

    id: str
    document_id: str
    kind: str
    sha256: str
    media_type: str
    size: int
    line: int
    caption: str
    description: str | None
    analysis_status: AnalysisStatus
    error: str | None


class ChunkOut(Shape):
    """A chunk: exactly the lines `start_line` to `end_line` of the text, below the chunk `parent_id`.

    `hidden` counts by kind what is hidden in it. One of type `error` stands for lines that could not be
    chunked; its summary says why.
    """

    id: str
    parent_id: str | None
    position: int
    type: ChunkType
    level: int
    start_line: int
    end_line: int
    page: int | None
    text: str
    summary: str
    token_count: int
    hidden: dict[str, int]

    @classmethod
    def of(cls, chunk: Chunk) -> "ChunkOut":
        """From a stored chunk."""
        derived = ("page", "text", "hidden")
        known = {name: getattr(chunk, name) for name in cls.model_fields if name not in derived}
        hidden = Counter(str(item.kind) for item in load_redactions(chunk.redaction))
        return cls(
            **known,
            page=chunk.metadata.get("page"),
            text=chunk.raw_content,
            hidden=dict(sorted(hidden.items())),
        )


class OverviewOut(Shape):
    """A document with its parts: `converter` made its text, `notes` say what the conversion left out."""

    document: DocumentOut
    converter: str
    notes: list[str]
    assets: list[AssetOut]
    chunk_count: int
    jobs: list[JobOut]
    spent: SpentOut

    @classmethod
    def of(cls, view: Overview) -> "OverviewOut":
        """From a view of the document."""
        return cls.model_validate(view)


class PlaceIn(Form):
    """Where to read: lines, a page, or a heading."""

    start: int | None = Field(default=None, ge=1, le=2**31 - 1)
    end: int | None = Field(default=None, ge=1, le=2**31 - 1)
    page: int | None = Field(default=None, ge=1, le=2**31 - 1, description="Page or slide of the original.")
    heading: str | None = Field(
        default=None,
        max_length=1000,
        description="Words of a heading, `Setup > Linux` for one below another, or `#anchor`.",
        examples=["Setup > Linux"],
    )
    verbatim: bool = Field(default=False, description="Also what is hidden. Owners only.")

    def place(self) -> Place:
        """As the tasks want it."""
        return Place(start=self.start, end=self.end, page=self.page, heading=self.heading)


class PageSpanOut(Shape):
    """Lines that stand on one page (or slide) of the original."""

    page: int
    start_line: int
    end_line: int


class LinesOut(BaseModel):
    """Lines of a canonical text; the first one has the number `start_line`.

    `pages` is empty where the text has none; `truncated` says that more lines were asked for.
    """

    document_id: str
    start_line: int
    end_line: int
    line_count: int
    lines: list[str]
    pages: list[PageSpanOut]
    truncated: bool

    @classmethod
    def of(cls, reading: Reading) -> "LinesOut":
        """From what was read."""
        return cls(
            document_id=reading.document.id,
            start_line=reading.start_line,
            end_line=reading.start_line + len(reading.lines) - 1,
            line_count=reading.document.line_count,
            lines=list(reading.lines),
            pages=[PageSpanOut.model_validate(span) for span in reading.pages],
            truncated=reading.truncated,
        )


class GrepIn(Form):
    """A pattern (RE2 syntax) to look for in one document, in spaces, or in all that the caller may read."""

    pattern: str = Field(examples=["证书.*轮换"])
    space_ids: list[SpaceId] | None = Field(default=None, max_length=100)
    document_id: AnId | None = None
    ignore_case: bool = False
    fixed: bool = Field(default=False, description="Take the pattern as text, sign by sign.")
    context: int = Field(default=0, description="Lines to show before and after each match.")
    max_matches: int = Field(default=200, description="Stop after so many matching lines.")
    seconds: float = Field(default=SECONDS, allow_inf_nan=False, description="Stop after so long.")
    verbatim: bool = Field(
        default=False,
        description="Also what is hidden: in a document, or in spaces that are named. Owners only.",
    )

    def wanted(self) -> Wanted:
        """As the tasks want it."""
        return Wanted(**self.model_dump())


class MatchOut(Shape):
    """A line in which the pattern occurs: first in the columns `column` to `end_column` - 1.

    A long line is cut around that place; `offset` says how many characters are missing in front.
    """

    document_id: str
    source: str
    line: int
    column: int
    end_column: int
    text: str
    offset: int
    page: int | None
    before: list[str]
    after: list[str]


class FoundOut(Shape):
    """Matches. `truncated` is empty, `matches` (there are more) or `deadline` (time was up)."""

    matches: list[MatchOut]
    truncated: str
    searched: int
    without_text: int
