"""Decompression: right for every way of cutting the stream, and stopped at the limit."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.errors import FetchFailed
from kosmos.net.decoding import Decoder, gunzip


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
}


def decoded(encoding: str, packed: bytes, step: int = 7, most: int = 10**9) -> bytes:
    decoder = Decoder(encoding, most)
    parts = [part for at in range(0, len(packed), step) for part in decoder.feed(packed[at : at + step])]
    decoder.finish()
    return b"".join(parts)


@given(st.binary(max_size=3000), st.sampled_from(sorted(PACKERS)), st.integers(1, 4000))
def test_any_cut_gives_the_content(data: bytes, encoding: str, step: int) -> None:
    assert decoded(encoding, PACKERS[encoding](data), step) == data


@given(st.binary(min_size=1, max_size=500))
def test_deflate_without_its_frame(data: bytes) -> None:
    assert decoded("deflate", raw_deflate(data), step=10_000) == data


@pytest.mark.parametrize("size", [256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 10**6])
def test_pieces_at_the_edge_of_a_step(size: int) -> None:
    assert decoded("gzip", gzip.compress(b"x" * size), step=10**6) == b"x" * size


def test_several_members_and_padding() -> None:
    assert gunzip(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0\0", 10) == b"ab"


def test_a_bomb_is_stopped_before_it_fills_the_memory() -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(b"\0" * 2**20) for _ in range(40)) + packer.flush()
    tracemalloc.start()
    with pytest.raises(FetchFailed, match="larger than 1048576 bytes"):
        gunzip(bomb, 2**20)
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


def test_thousands_of_members_are_refused() -> None:
    with pytest.raises(FetchFailed):
        gunzip(gzip.compress(b"") * 5000, 10)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_cut_stream_is_noticed(encoding: str) -> None:
    with pytest.raises(FetchFailed) as caught:
        decoded(encoding, PACKERS[encoding](b"hello" * 100)[:-6])
    assert caught.value.retryable


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd", "x" * 1000])
def test_encodings_not_asked_for_are_refused(encoding: str) -> None:
    with pytest.raises(FetchFailed):
        Decoder(encoding, 10)


@given(st.binary(max_size=200))
def test_garbage_gives_an_error_or_nothing_worse(data: bytes) -> None:
    try:
        gunzip(data, 10**6)
    except FetchFailed:
        return


def test_no_body_is_no_damage() -> None:
    assert decoded("gzip", b"") == b""
