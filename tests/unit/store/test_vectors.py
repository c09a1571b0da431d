"""Vectors come back as they were packed; damage is noticed."""

import json
import struct
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.store.rows import Sparse
from kosmos.store.vectors import pack_vectors, unpack_vectors

VECTORS = st.dictionaries(st.integers(0, 2**32 - 1), st.floats(allow_nan=False))
ROWS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VECTORS)


@given(ROWS)
def test_what_is_packed_comes_back(row: Mapping[str, Sparse]) -> None:
    assert unpack_vectors(pack_vectors(row)) == row
    assert list(unpack_vectors(pack_vectors(row))) == list(row)


def test_the_form_is_the_same_on_every_machine() -> None:
    packed = pack_vectors({"r": {1: 1.0, 258: -2.0}, "s": {}})
    numbers = "01000000 02010000 000000000000f03f 00000000000000c0"
    assert packed == b'{"r": 2, "s": 0}\n' + bytes.fromhex(numbers)


@pytest.mark.parametrize("data", [b"", b"{", b'{"r": 2}\n' + b"\x00" * 23, '{"r": [[1, 2.0]]}', None])
def test_damage_is_noticed(data: object) -> None:
    with pytest.raises((struct.error, json.JSONDecodeError)):
        unpack_vectors(data)


def test_a_term_that_does_not_fit_is_refused() -> None:
    with pytest.raises(struct.error):
        pack_vectors({"r": {2**32: 1.0}})
