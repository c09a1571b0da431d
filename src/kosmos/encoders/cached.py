"""Vectors from the table of those that were made before; only what is new is encoded."""

import hashlib
from collections.abc import Sequence

import numpy as np

from kosmos.db import Database
from kosmos.db.embeddings import get_vectors, put_vectors
from kosmos.domain.clock import Clock, system_clock
from kosmos.encoders.contract import Encoder
from kosmos.store.rows import Dense
from kosmos.telemetry.measures import count_lookups

BATCH = 256  # texts that are looked up, encoded and kept at a time


async def encode_cached(
    db: Database, encoder: Encoder, texts: Sequence[str], *, clock: Clock = system_clock
) -> Dense:
    """The vectors of passages, in order. What was encoded is kept batch by batch, whatever happens later."""
    hashes = [text_hash(text) for text in texts]
    unique = dict(zip(hashes, texts, strict=True))
    wanted = list(unique)
    found: dict[str, Dense] = {}
    for start in range(0, len(wanted), BATCH):
        batch = {sha256: unique[sha256] for sha256 in wanted[start : start + BATCH]}
        found |= await _encode_batch(db, encoder, batch, clock)
    if not found:
        return np.empty((0, encoder.dimension), np.float32)
    return np.stack([found[sha256] for sha256 in hashes])


async def _encode_batch(
    db: Database, encoder: Encoder, batch: dict[str, str], clock: Clock
) -> dict[str, Dense]:
    async with db.read() as conn:
        known = await get_vectors(conn, encoder.name, list(batch))
    size = 4 * encoder.dimension
    found = {
        sha256: np.frombuffer(raw, "<f4").astype(np.float32)
        for sha256, raw in known.items()
        if size in (0, len(raw))  # a vector of another length is of no use
    }
    missing = [sha256 for sha256 in batch if sha256 not in found]
    count_lookups("embedding", hits=len(batch) - len(missing), misses=len(missing))
    if missing:
        made = await encoder.encode_passages([batch[sha256] for sha256 in missing])
        new = {sha256: vector.astype("<f4").tobytes() for sha256, vector in zip(missing, made, strict=True)}
        async with db.write() as conn:
            await put_vectors(conn, encoder.name, new, clock())
        found |= dict(zip(missing, made, strict=True))
    return found


def text_hash(text: str) -> str:
    """The key of a text; even a broken one has its own."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
