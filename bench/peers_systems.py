"""LlamaIndex, Haystack, LangChain and txtai behind the same three calls. Does nothing when run.

Every choice is explained in docs/design/peers.md. Libraries are named, not imported, so that this file can be
checked where they are not installed.
"""

import types
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from peers_floor import Floor, System
from peers_meter import Encoder, Meter


class LlamaIndex:
    """SimpleDirectoryReader, SentenceSplitter, SimpleVectorStore; words by BM25Retriever, fused by rank."""

    modes: tuple[str, ...] = ("dense", "hybrid")

    def __init__(self, encoder: Encoder) -> None:
        self._core = import_module("llama_index.core")
        self._bm25 = import_module("llama_index.retrievers.bm25").BM25Retriever
        self._core.Settings.embed_model = _llamaindex_encoder(encoder)
        self._core.Settings.llm = import_module("llama_index.core.llms").MockLLM()
        self._routes: list[Any] = []

    def ingest(self, paths: Sequence[Path], folder: Path, meter: Meter) -> int:
        """As their starter tutorial has it, with their splitter's own sizes."""
        with meter.stage("read"):
            found = self._core.SimpleDirectoryReader(input_files=[str(path) for path in paths]).load_data()
        with meter.stage("split"):
            nodes = self._core.Settings.node_parser.get_nodes_from_documents(found)
        with meter.stage("index"):
            index = self._core.VectorStoreIndex(nodes)
        with meter.stage("words"):
            words = self._bm25.from_defaults(nodes=nodes)
        with meter.stage("write"):
            index.storage_context.persist(str(folder / "index"))
            words.persist(str(folder / "words"))
        return len(nodes)

    def open(self, folder: Path) -> None:
        """Load both."""
        context = self._core.StorageContext.from_defaults(persist_dir=str(folder / "index"))
        index = self._core.load_index_from_storage(context)
        self._routes = [index.as_retriever(), self._bm25.from_persist_dir(str(folder / "words"))]

    def ask(self, question: str, count: int, mode: str) -> list[str]:
        """By the vector retriever alone, or by QueryFusionRetriever without any rephrasing."""
        for route in self._routes:
            route.similarity_top_k = count
        retriever = self._routes[0]
        if mode == "hybrid":
            make = import_module("llama_index.core.retrievers").QueryFusionRetriever
            wishes = {"mode": "reciprocal_rerank", "num_queries": 1, "use_async": False}
            retriever = make(self._routes, similarity_top_k=count, **wishes)
        return [item.node.metadata["file_path"] for item in retriever.retrieve(question)]


def _llamaindex_encoder(encoder: Encoder) -> Any:
    """An embedding model of theirs. Their class cannot be known here, so ours is made when it runs."""
    base = import_module("llama_index.core.embeddings").BaseEmbedding

    async def embed_query(_self: Any, query: str) -> list[float]:
        return encoder.embed_query(query)

    members = {
        "_get_text_embedding": lambda _self, text: encoder.embed_query(text),
        "_get_text_embeddings": lambda _self, texts: encoder.embed_documents(texts),
        "_get_query_embedding": lambda _self, query: encoder.embed_query(query),
        "_aget_query_embedding": embed_query,
        "__module__": __name__,
    }
    return types.new_class("OurEmbedding", (base,), {}, lambda names: names.update(members))()


class Haystack:
    """MarkdownToDocument, DocumentCleaner, DocumentSplitter, InMemoryDocumentStore; joined by rank."""

    modes: tuple[str, ...] = ("dense", "hybrid")

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._store: Any = None
        self._dense: Any = None
        self._words: Any = None
        self._joiner: Any = None

    def ingest(self, paths: Sequence[Path], folder: Path, meter: Meter) -> int:
        """Their components one after the other, as an indexing pipeline of theirs would."""
        made = import_module("haystack.components.preprocessors")
        convert = import_module("haystack.components.converters").MarkdownToDocument(
            progress_bar=False, store_full_path=True
        )
        with meter.stage("read"):
            found = made.DocumentCleaner().run(documents=convert.run(sources=list(paths))["documents"])
        with meter.stage("split"):
            pieces = made.DocumentSplitter().run(documents=found["documents"])["documents"]
        with meter.stage("index"):
            vectors = self._encoder.embed_documents([piece.content for piece in pieces])
            embedded = [
                import_module("dataclasses").replace(piece, embedding=vector)
                for piece, vector in zip(pieces, vectors, strict=True)
            ]
            self._make_store().write_documents(embedded)
        with meter.stage("write"):
            self._store.save_to_disk(str(folder / "store.json"))
        return len(pieces)

    def _make_store(self) -> Any:
        self._store = import_module("haystack.document_stores.in_memory").InMemoryDocumentStore()
        return self._store

    def open(self, folder: Path) -> None:
        """Load the store, which counts its words again."""
        kind = type(self._make_store())
        self._store = kind.load_from_disk(str(folder / "store.json"))
        retrievers = import_module("haystack.components.retrievers.in_memory")
        self._dense = retrievers.InMemoryEmbeddingRetriever(self._store)
        self._words = retrievers.InMemoryBM25Retriever(self._store)
        self._joiner = import_module("haystack.components.joiners").DocumentJoiner(
            join_mode="reciprocal_rank_fusion"
        )

    def ask(self, question: str, count: int, mode: str) -> list[str]:
        """By vectors, or by both and their joiner."""
        vector = self._encoder.embed_query(question)
        found = self._dense.run(query_embedding=vector, top_k=count)["documents"]
        if mode == "hybrid":
            words = self._words.run(query=question, top_k=count)["documents"]
            found = self._joiner.run(documents=[words, found], top_k=count)["documents"]
        return [item.meta["file_path"] for item in found]


class LangChain:
    """TextLoader, headers, recursive characters, InMemoryVectorStore; EnsembleRetriever with BM25."""

    modes: tuple[str, ...] = ("dense", "hybrid")
    HEADERS = (("#", "Header 1"), ("##", "Header 2"), ("###", "Header 3"))

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kind = import_module("langchain_core.vectorstores").InMemoryVectorStore
        self._bm25 = import_module("langchain_community.retrievers").BM25Retriever
        self._routes: list[Any] = []
        self._ensemble: Any = None

    def ingest(self, paths: Sequence[Path], folder: Path, meter: Meter) -> int:
        """As their guides have it: headers first, then a thousand characters with two hundred shared."""
        loader = import_module("langchain_community.document_loaders").TextLoader
        with meter.stage("read"):
            found = [item for path in paths for item in loader(str(path), encoding="utf-8").load()]
        with meter.stage("split"):
            pieces = self._split(found)
        with meter.stage("index"):
            store = self._kind(self._encoder)
            store.add_documents(pieces)
        with meter.stage("words"):
            self._bm25.from_documents(pieces)
        with meter.stage("write"):
            store.dump(str(folder / "store.json"))
        return len(pieces)

    def _split(self, found: Sequence[Any]) -> list[Any]:
        splitters = import_module("langchain_text_splitters")
        headers = splitters.MarkdownHeaderTextSplitter(list(self.HEADERS), strip_headers=False)
        parts = []
        for item in found:
            for part in headers.split_text(item.page_content):
                part.metadata.update(item.metadata)
                parts.append(part)
        small = splitters.RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
        pieces: list[Any] = small.split_documents(parts)
        return pieces

    def open(self, folder: Path) -> None:
        """Load the vectors; words have no file, so they are counted again."""
        store = self._kind.load(str(folder / "store.json"), self._encoder)
        make = import_module("langchain_core.documents").Document
        texts = [make(page_content=item["text"], metadata=item["metadata"]) for item in store.store.values()]
        self._routes = [self._bm25.from_documents(texts), store.as_retriever()]
        self._ensemble = import_module("langchain_classic.retrievers").EnsembleRetriever(
            retrievers=self._routes, weights=[0.5, 0.5]
        )

    def ask(self, question: str, count: int, mode: str) -> list[str]:
        """By the store alone, or by the ensemble."""
        words, dense = self._routes
        words.k, dense.search_kwargs = count, {"k": count}
        retriever = self._ensemble if mode == "hybrid" else dense
        return [item.metadata["source"] for item in retriever.invoke(question)[:count]]


class Txtai:
    """Textractor by sections, Embeddings with content; hybrid by its own switch."""

    modes: tuple[str, ...] = ("dense", "hybrid")

    def __init__(self, encoder: Encoder) -> None:
        def transform(texts: Any) -> Any:
            return encoder.rows(list(texts))

        self._transform = transform
        self._kind = import_module("txtai").Embeddings
        self._index: Any = None
        self._scoring: Any = None

    def ingest(self, paths: Sequence[Path], folder: Path, meter: Meter) -> int:
        """As their quick start has it; of a Markdown file their reader needs no backend."""
        reader = import_module("txtai.pipeline").Textractor(sections=True, backend=None)
        with meter.stage("read"):
            texts = [(path, reader.text(str(path))) for path in paths]
        with meter.stage("split"):
            pieces = [(str(path), piece) for path, text in texts for piece in reader.parse(text)]
        with meter.stage("index"):
            options = {"method": "external", "transform": self._transform, "content": True, "hybrid": True}
            index = self._kind(options)
            index.index([(f"{at}:{path}", piece, None) for at, (path, piece) in enumerate(pieces)])
        with meter.stage("write"):
            index.save(str(folder / "index"))
        return len(pieces)

    def open(self, folder: Path) -> None:
        """Load the index; its words are put aside when vectors alone are asked for."""
        self._index = self._kind()
        self._index.load(str(folder / "index"), config={"transform": self._transform})
        self._scoring = self._index.scoring

    def ask(self, question: str, count: int, mode: str) -> list[str]:
        """Without words it is the index that their default makes."""
        self._index.scoring = self._scoring if mode == "hybrid" else None
        return [item["id"].partition(":")[2] for item in self._index.search(question, count)]


SYSTEMS: dict[str, Callable[[Encoder], System]] = {
    "floor": Floor,
    "LlamaIndex": LlamaIndex,
    "Haystack": Haystack,
    "LangChain": LangChain,
    "txtai": Txtai,
}
