"""What every encoder can do."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from kosmos.store.rows import Dense, Sparse


class Encoder(Protocol):
    """Texts to vectors of unit length. Vectors of two names never mix."""

    @property
    def name(self) -> str:
        """Which encoder and which version of it: the key of all that is kept of its vectors."""

    @property
    def dimension(self) -> int:
        """How long its vectors are; 0 while an endpoint has not said so yet."""

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        """One row for each text, in order, float32, unit length."""

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        """The same for questions, which some models want to be introduced."""

    async def close(self) -> None:
        """Let go of threads and connections."""


@runtime_checkable
class SparseEncoder(Protocol):
    """A model that gives weights of terms as well (BGE-M3)."""

    async def encode_sparse(self, texts: Sequence[str]) -> list[Sparse]:
        """The weights of each text's terms."""
