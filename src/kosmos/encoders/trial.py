"""Tries an encoder out: how fast it is, and whether a sentence and its translation are alike to it."""

import time
from dataclasses import dataclass

import numpy as np

from kosmos.encoders.contract import Encoder
from kosmos.errors import ConfigError

_PAIRS = (
    ("How do I restart the database server?", "怎样重启数据库服务器？"),
    ("The museum is closed on Mondays.", "博物馆星期一不开放。"),
    ("Wash the rice twice before cooking.", "煮饭之前把米淘两遍。"),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. `alike` is the similarity of translations, `unlike` that of other sentences."""

    encoder: str
    dimension: int
    milliseconds: float
    alike: float
    unlike: float


async def try_encoder(encoder: Encoder) -> Trial:
    """Encode a few sentences in both languages."""
    texts = [text for pair in _PAIRS for text in pair]
    await encoder.encode_queries(texts[:2])  # opens the model, for both languages
    started = time.perf_counter()
    vectors = await encoder.encode_passages(texts)
    seconds = time.perf_counter() - started
    if vectors.shape != (len(texts), encoder.dimension) or not np.isfinite(vectors).all():
        raise ConfigError(f"{encoder.name} gave vectors that cannot be used.", remedy="Use another encoder.")
    scores = vectors[0::2] @ vectors[1::2].T
    same = np.eye(len(_PAIRS), dtype=bool)
    return Trial(
        encoder=encoder.name,
        dimension=encoder.dimension,
        milliseconds=round(1000 * seconds / len(texts), 2),
        alike=round(float(scores[same].mean()), 3),
        unlike=round(float(scores[~same].mean()), 3),
    )
