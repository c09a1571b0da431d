"""Tells what encoding costs from all else, the same way for every system. Does nothing when run."""

import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kosmos.encoders.minilm import MiniLM, load_minilm
from kosmos.store.rows import Dense


@dataclass
class Encoded:
    """What the model has been given so far, in this process."""

    seconds: float = 0.0
    texts: int = 0
    tokens: int = 0


def watch_encoder() -> Encoded:
    """Count from now on what the built-in encoder does, in whatever thread."""
    seen, encode, tokens = Encoded(), MiniLM.encode, MiniLM.tokens

    def counted_tokens(model: MiniLM, text: str) -> list[int]:
        found = tokens(model, text)
        seen.tokens += len(found)
        return found

    def counted(model: MiniLM, text: str) -> Dense:
        begun = time.thread_time()
        vector = encode(model, text)
        seen.seconds += time.thread_time() - begun
        seen.texts += 1
        return vector

    setattr(MiniLM, "tokens", counted_tokens)  # noqa: B010
    setattr(MiniLM, "encode", counted)  # noqa: B010
    return seen


def cpu_seconds() -> float:
    """Of this process and of the children it has awaited."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@dataclass
class Meter:
    """CPU seconds by stage, without what was spent in the encoder meanwhile."""

    encoded: Encoded = field(default_factory=watch_encoder)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens meanwhile as that stage."""
        before = cpu_seconds() - self.encoded.seconds
        yield
        spent = cpu_seconds() - self.encoded.seconds - before
        self.seconds[name] = self.seconds.get(name, 0.0) + spent


class Encoder:
    """The encoder that all peers are given: ours, one text after the other, opened when first needed."""

    def __init__(self, weights: str, cache: str) -> None:
        self._weights, self._cache = Path(weights), Path(cache)
        self._model: MiniLM | None = None

    def rows(self, texts: Sequence[str]) -> Dense:
        """One unit vector a text."""
        self._model = self._model or load_minilm(self._weights, cache=self._cache)
        return np.stack([self._model.encode(text) for text in texts])

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """As lists, which is what most of the peers want."""
        found: list[list[float]] = self.rows(texts).tolist()
        return found

    def embed_query(self, text: str) -> list[float]:
        """A question is encoded as a text is."""
        return self.embed_documents([text])[0]

    def __call__(self, texts: Any) -> Dense:
        """Another name for `rows`."""
        return self.rows(list(texts))
