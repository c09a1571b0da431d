"""The forms of search."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from kosmos.api.shapes import Form, HitOut, SpaceId
from kosmos.domain.answers import Findings
from kosmos.retrieval.conditions import Conditions
from kosmos.retrieval.search import Wanted

DocumentId = Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z-]{1,36}$")]
Text = Annotated[str, StringConstraints(max_length=4096)]
Weight = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
PageNumber = Annotated[int, Field(ge=0, le=2**31 - 1)]


class FilterIn(Form):
    """What results must be; everything that is given holds at once."""

    document_ids: list[DocumentId] = Field(default=[], max_length=1000)
    types: list[Literal["content", "heading", "error"]] = Field(default=[], max_length=3)
    levels: list[int] = Field(default=[], max_length=20)
    filetypes: list[Text] = Field(default=[], max_length=50, examples=[["pdf"]])
    path: Text = Field(default="", description="How the source begins.", examples=["docs/"])
    heading: Text = Field(default="", description="How the headings above begin.", examples=["Setup > Linux"])
    since: Text = Field(default="", description="Changed on that day or later.", examples=["2026-03-31"])
    until: Text = Field(default="", description="Changed on that day or earlier.", examples=["2026-04-30"])
    languages: list[Literal["zh", "en"]] = Field(default=[], max_length=2)
    metadata: dict[str, Any] = Field(default={}, description="Values that the document declares.")
    pages: tuple[PageNumber, PageNumber] | None = Field(default=None, description="First and last page.")

    def conditions(self) -> Conditions:
        """As the search takes them."""
        given = self.model_dump()
        lists = ("document_ids", "types", "levels", "filetypes", "languages")
        return Conditions(**{**given, **{name: tuple(given[name]) for name in lists}})


class SearchIn(Form):
    """A search over the given spaces, or all that the caller may read."""

    query: str = Field(examples=["如何轮换证书"])
    space_ids: list[SpaceId] | None = Field(default=None, max_length=100)
    k: int = 10
    offset: int = Field(default=0, description="So many results are passed over.")
    filter: FilterIn = FilterIn()
    similarity_threshold: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    routes: dict[str, Weight] | None = Field(
        default=None,
        max_length=10,
        description="Weights of `vector`, `summary_vector`, `sparse_vector`, `title_sparse`; 0 switches off.",
    )
    fusion: Literal["weighted", "rrf"] | None = None
    rerank: Literal["none", "auto", "endpoint", "model", "local"] | None = None
    group_by_document: bool = False
    neighbours: int = Field(default=0, description="So many chunks before and after each result.")
    walk: bool = Field(default=False, description="Go on to parents, siblings and links of results.")
    rewrite: bool = Field(default=False, description="Let a model rephrase the question.")
    explain: bool = Field(default=False, description="Say how each score came about.")

    def wanted(self) -> Wanted:
        """As the search takes it."""
        return Wanted(
            query=self.query,
            k=self.k,
            offset=self.offset,
            where=self.filter.conditions(),
            threshold=self.similarity_threshold,
            routes=self.routes,
            fusion=self.fusion,
            rerank=self.rerank,
            grouped=self.group_by_document,
            neighbours=self.neighbours,
            walk=self.walk,
            rewrite=self.rewrite,
            explain=self.explain,
        )


class SearchOut(BaseModel):
    """Results, best first. `warnings` say what they lack, as a route that is still being filled."""

    items: list[HitOut]
    warnings: list[str] = []
    queries: list[str] = []
    next: str | None = Field(default=None, description="Always null: ask again with an offset.")

    @classmethod
    def of(cls, found: Findings) -> "SearchOut":
        """From what a search brought."""
        items = [HitOut.model_validate(hit) for hit in found.hits]
        return cls(items=items, warnings=list(found.warnings), queries=list(found.queries))
