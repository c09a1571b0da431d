"""Decompression that stops at a limit: a few kilobytes can stand for gigabytes."""

import zlib
from collections.abc import Iterator

from kosmos.errors import FetchFailed

ACCEPTED = "gzip, deflate"
_STEP = 256 * 1024
_SLICE = 64 * 1024
_MEMBERS = 1000
_GZIP = 16 + zlib.MAX_WBITS
_FORMS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class Decoder:
    """Turns what came over the wire into content, piece by piece, and never past `most` bytes."""

    def __init__(self, encoding: str, most: int) -> None:
        name = encoding.strip().lower()
        if name not in {"", "identity"} and name not in _FORMS:
            raise FetchFailed(
                f"The answer is encoded as {name[:40]!r}, which was not asked for.",
                remedy="Ask the site to honour Accept-Encoding.",
            )
        self._bits = _FORMS.get(name)
        self._inflate = zlib.decompressobj(self._bits) if self._bits is not None else None
        self._most = most
        self._fresh = True
        self._members = 1
        self.size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The content that these bytes bring, in pieces of bounded size."""
        # In slices: the rest of the input is copied at each step, which must stay cheap.
        for start in range(0, len(data), _SLICE):
            for piece in self._pieces(data[start : start + _SLICE]):
                self.size += len(piece)
                if self.size > self._most:
                    raise too_large(self._most)
                yield piece

    def finish(self) -> None:
        """FetchFailed when the compressed stream was cut off."""
        if self._inflate is not None and not self._fresh and not self._inflate.eof:
            raise _damaged()

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield data
            return
        full = False  # what did not fit into a piece may be held inside, with no input left
        while data or full:
            if self._inflate.eof:
                data, full = self._next_member(data), False
                continue
            piece = self._step(data)
            full = len(piece) == _STEP
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if piece:
                yield piece

    def _step(self, data: bytes) -> bytes:
        if self._inflate is None:
            return data
        try:
            piece = self._inflate.decompress(data, _STEP)
        except zlib.error:
            if not (self._fresh and self._bits == zlib.MAX_WBITS):
                raise _damaged() from None
            piece = self._raw(data)
        self._fresh = False
        return piece

    def _raw(self, data: bytes) -> bytes:
        """`deflate` should mean zlib, but some servers send it without its frame."""
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._inflate.decompress(data, _STEP)
        except zlib.error:
            raise _damaged() from None

    def _next_member(self, data: bytes) -> bytes:
        """A gzip stream may consist of several; zeros after the last are padding, others are dropped."""
        data = data.lstrip(b"\0")
        if self._bits != _GZIP or not data.startswith(b"\x1f"):
            return b""
        self._members += 1
        if self._members > _MEMBERS:
            raise _damaged()
        self._inflate = zlib.decompressobj(_GZIP)
        self._fresh = True
        return data


def gunzip(data: bytes, most: int) -> bytes:
    """The content of a gzip file; FetchFailed when it is damaged or larger than `most` bytes."""
    decoder = Decoder("gzip", most)
    content = b"".join(decoder.feed(data))
    decoder.finish()
    return content


def too_large(most: int) -> FetchFailed:
    """The error for an answer above a limit."""
    return FetchFailed(
        f"The answer is larger than {most} bytes.", remedy="Raise the size limit if it is really wanted."
    )


def _damaged() -> FetchFailed:
    return FetchFailed("The compressed answer is damaged or cut off.", retryable=True)
