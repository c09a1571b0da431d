"""Content-addressed bytes: originals, canonical texts and assets, in a folder or in S3."""

from kosmos.blobs.contract import Blobs
from kosmos.blobs.opening import open_blobs

__all__ = ["Blobs", "open_blobs"]
