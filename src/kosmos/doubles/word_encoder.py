"""An encoder without a model: texts that share words are alike, also across languages where told so."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from kosmos.errors import ProviderUnavailable
from kosmos.retrieval.terms import terms
from kosmos.store.rows import Dense


class WordEncoder:
    """Adds up a fixed direction for each term; `same` gives terms the direction of others."""

    def __init__(
        self, dimension: int = 64, *, same: Mapping[str, str] | None = None, broken: bool = False
    ) -> None:
        self.broken = broken
        self.encoded = 0
        self._dimension = dimension
        self._same = same or {}

    @property
    def name(self) -> str:
        """Which encoder."""
        return f"words/{self._dimension}"

    @property
    def dimension(self) -> int:
        """How long its vectors are."""
        return self._dimension

    async def encode_passages(self, texts: Sequence[str]) -> Dense:
        """One row for each text."""
        if self.broken:
            raise ProviderUnavailable("The encoder does not answer.", remedy="Wait.")
        self.encoded += len(texts)
        return np.stack([self._encode(text) for text in texts])

    async def encode_queries(self, texts: Sequence[str]) -> Dense:
        """The same for questions."""
        return await self.encode_passages(texts)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _encode(self, text: str) -> Dense:
        total = np.zeros(self._dimension, np.float32)
        for term in terms(text) or [""]:
            total += self._direction(self._same.get(term, term))
        return total / np.float32(np.linalg.norm(total) or 1.0)

    def _direction(self, term: str) -> Dense:
        seed = int.from_bytes(hashlib.sha256(term.encode()).digest()[:8])
        return np.random.default_rng(seed).standard_normal(self._dimension).astype(np.float32)
