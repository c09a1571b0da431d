"""The tools over documents. What may be read is decided by the desk behind them, at every call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from kosmos.tools.contract import Passage, Tool, ToolOutput, make_tool

MAX_RESULTS = 20
MAX_READ = 200

Document = Annotated[str, Field(description="Name or id of a document, as other tools gave it.")]
MaybeDocument = Annotated[
    str | None, Field(description="Only in this document: its name or id, as other tools gave it.")
]


@dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list."""

    id: str
    source: str
    title: str
    line_count: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document and the lines below it."""

    level: int
    title: str
    start_line: int
    end_line: int


class Knowledge(Protocol):
    """The documents of one caller in the spaces of one agent."""

    async def search(self, query: str, *, k: int, document: str | None) -> Sequence[Passage]:
        """The passages that fit best."""

    async def read(
        self, document: str, *, start: int | None, end: int | None, heading: str | None
    ) -> Passage:
        """Some lines."""

    async def grep(self, pattern: str, *, document: str | None, most: int) -> Sequence[Passage]:
        """The lines in which a pattern occurs."""

    async def list_documents(self, contains: str, *, most: int) -> tuple[Sequence[Listed], bool]:
        """Documents, and whether there are more."""

    async def outline(self, document: str) -> tuple[Listed, Sequence[Heading]]:
        """The headings of a document."""


def knowledge_tools(desk: Knowledge) -> list[Tool]:
    """`search`, `read`, `grep`, `list_documents` and `outline`."""

    async def search(
        query: Annotated[
            str, Field(min_length=1, max_length=2000, description="Words of what should stand there.")
        ],
        max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 6,
        document: MaybeDocument = None,
    ) -> ToolOutput:
        """Find the passages of the documents that fit a query best, in Chinese or English."""
        found = await desk.search(query, k=max_results, document=document)
        return ToolOutput("" if found else "Nothing was found. Try other words.", tuple(found))

    async def read(
        document: Document,
        start_line: Annotated[int | None, Field(ge=1)] = None,
        end_line: Annotated[int | None, Field(ge=1)] = None,
        heading: Annotated[
            str | None, Field(max_length=300, description="Read below this heading instead of lines.")
        ] = None,
    ) -> ToolOutput:
        """Read lines of a document, at most 200 at a time: more around a passage, or below a heading."""
        return ToolOutput("", (await desk.read(document, start=start_line, end=end_line, heading=heading),))

    async def grep(
        pattern: Annotated[str, Field(min_length=1, max_length=500, description="Regular expression (RE2).")],
        document: MaybeDocument = None,
        max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 10,
    ) -> ToolOutput:
        """Find lines by a pattern: for names, codes and figures that must occur to the letter."""
        found = await desk.grep(pattern, document=document, most=max_results)
        return ToolOutput("" if found else "No line matches.", tuple(found))

    return [make_tool(tool) for tool in (search, read, grep)] + _overviews(desk)


def _overviews(desk: Knowledge) -> list[Tool]:
    async def list_documents(
        contains: Annotated[str, Field(max_length=200, description="Part of a name or title.")] = "",
    ) -> ToolOutput:
        """List the documents that can be read, with their names and lengths."""
        found, more = await desk.list_documents(contains, most=50)
        lines = [f"{item.source} | {item.title} | {item.line_count} lines" for item in found]
        note = "There are more; narrow the list with `contains`." if more else ""
        return ToolOutput(note if lines else "There are no such documents.", data="\n".join(lines))

    async def outline(document: Document) -> ToolOutput:
        """Show the headings of a document with the lines below each."""
        listed, headings = await desk.outline(document)
        lines = [
            f"{'  ' * (item.level - 1)}{item.title} ({item.start_line}-{item.end_line})" for item in headings
        ]
        return ToolOutput(
            f"{listed.line_count} lines.", data=f"{listed.source} | {listed.title}\n" + "\n".join(lines)
        )

    return [make_tool(tool) for tool in (list_documents, outline)]
