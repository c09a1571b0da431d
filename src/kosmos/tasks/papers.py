"""Papers as their readers list and export them. Rights are checked here."""

from collections.abc import Sequence
from dataclasses import dataclass

from kosmos.accounts.access import resolve_space
from kosmos.domain.accounts import Principal
from kosmos.domain.documents import Document
from kosmos.domain.papers import PaperFacts, bibtex_of, load_facts
from kosmos.tasks.documents import find_document, list_documents
from kosmos.tasks.workbench import Workbench

PAGE = 1000


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A document and what it says about itself."""

    id: str
    source: str
    status: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    doi: str
    arxiv: str


async def list_papers(
    bench: Workbench, who: Principal, space: str, names: Sequence[str] = ()
) -> list[PaperRow]:
    """The papers of a space, or those of them that are named by id or source."""
    if names:
        return [_row(await find_named(bench, who, name, space)) for name in names]
    async with bench.db.read() as conn:
        space_id = (await resolve_space(conn, who, space)).space.id
    found: list[Document] = []
    while page := await list_documents(bench, who, space_id, after=found[-1].id if found else "", limit=PAGE):
        found += page
    return [_row(document) for document in found]


async def find_named(bench: Workbench, who: Principal, name: str, space: str | None) -> Document:
    """A document by its id, or by its name in a space."""
    by_id = len(name) == 36 and name.count("-") == 4
    return await find_document(bench, who, name, space=None if by_id else space)


async def export_bibtex(bench: Workbench, who: Principal, space: str, names: Sequence[str] = ()) -> str:
    """The papers as BibTeX."""
    rows = await list_papers(bench, who, space, names)
    return bibtex_of([PaperFacts(row.title, row.authors, row.year, row.doi, row.arxiv) for row in rows])


def _row(document: Document) -> PaperRow:
    facts = load_facts(document.metadata, document.title)
    return PaperRow(
        document.id,
        document.source,
        document.status.value,
        facts.title or document.source,
        facts.authors,
        facts.year,
        facts.doi,
        facts.arxiv,
    )
