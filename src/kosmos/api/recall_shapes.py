"""The forms of the recall API, which are those of RAGFlow."""

from collections import Counter
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kosmos.tasks.recalling import Recall, Recalled, Recalls, highlight

Text = Annotated[str, StringConstraints(max_length=4096)]


class RecallIn(BaseModel):
    """A question to the recall API. Fields that other servers know and this one does not are passed over."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    question: str = Field(examples=["如何轮换证书"])
    index_names: list[Text] = Field(default=[], max_length=100, description="Names or ids of spaces.")
    dataset_ids: list[Text] = Field(
        default=[], max_length=100, description="The same, as RAGFlow calls them."
    )
    doc_ids: list[Text] = Field(default=[], max_length=1000, description="Only these documents.")
    document_ids: list[Text] = Field(
        default=[], max_length=1000, description="The same, as RAGFlow calls them."
    )
    top_n: int | None = Field(default=None, ge=1, le=1000, description="How many results; 10 by default.")
    page: int = Field(default=1, ge=1, le=1000)
    page_size: int | None = Field(default=None, ge=1, le=1000)
    similarity_threshold: float = Field(default=0.2, ge=0, le=1, allow_inf_nan=False)
    vector_similarity_weight: float = Field(default=0.3, ge=0, le=1, allow_inf_nan=False)
    use_rerank: bool = False
    rerank_id: str | int | None = Field(default=None, description="Any value asks for reranking.")
    highlight: bool = False

    def wanted(self) -> Recall:
        """As the search takes it."""
        return Recall(
            question=self.question,
            index_names=(*self.index_names, *self.dataset_ids),
            document_ids=(*self.doc_ids, *self.document_ids),
            top_n=self.top_n or self.page_size or 10,
            page=self.page,
            similarity_threshold=self.similarity_threshold,
            vector_similarity_weight=self.vector_similarity_weight,
            use_rerank=self.use_rerank or self.rerank_id not in (None, "", 0),
        )


class RecallChunk(BaseModel):
    """A chunk, in the words of RAGFlow. `positions` holds page, 0, 0, first and last line."""

    id: str
    content: str
    content_ltks: str = ""
    document_id: str
    document_keyword: str
    document_name: str
    docnm_kwd: str
    dataset_id: str
    kb_id: str
    image_id: str = ""
    important_keywords: list[str] = []
    highlight: str | None = None
    positions: list[list[int]]
    similarity: float
    vector_similarity: float
    term_similarity: float


class RecallDocument(BaseModel):
    """How many of the chunks are of one document."""

    doc_id: str
    doc_name: str
    count: int


class RecallData(BaseModel):
    """Chunks, best first, and their documents."""

    chunks: list[RecallChunk]
    doc_aggs: list[RecallDocument]
    total: int


class RecallOut(BaseModel):
    """The answer of the recall API; `code` is 0."""

    code: int = 0
    message: str = ""
    data: RecallData

    @classmethod
    def of(cls, found: Recalls, form: RecallIn) -> "RecallOut":
        """From what was recalled; the message holds warnings, if there are any."""
        names = {item.hit.document_id: item.hit.source for item in found.chunks}
        counts = Counter(item.hit.document_id for item in found.chunks)
        documents = [RecallDocument(doc_id=i, doc_name=names[i], count=n) for i, n in counts.most_common()]
        chunks = [_chunk(item, form) for item in found.chunks]
        data = RecallData(chunks=chunks, doc_aggs=documents, total=found.total)
        return cls(message=" ".join(found.warnings), data=data)


def _chunk(item: Recalled, form: RecallIn) -> RecallChunk:
    hit = item.hit
    return RecallChunk(
        id=hit.chunk_id,
        content=hit.text,
        document_id=hit.document_id,
        document_keyword=hit.source,
        document_name=hit.source,
        docnm_kwd=hit.source,
        dataset_id=hit.space_id,
        kb_id=hit.space_id,
        highlight=highlight(hit.text, form.question) if form.highlight else None,
        positions=[[hit.page or 0, 0, 0, hit.start_line, hit.end_line]],
        similarity=item.similarity,
        vector_similarity=item.vector_similarity,
        term_similarity=item.term_similarity,
    )
