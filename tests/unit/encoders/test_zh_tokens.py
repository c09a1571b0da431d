"""The Chinese pack: its files, and the cut into the likeliest words."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.encoders.zh_tokens import (
    HAN,
    UNKNOWN_SCORE,
    Words,
    load_words,
    plain_chinese,
    word_vectors,
)

SMALL = {"甲": -3.0, "乙": -4.0, "甲乙": -6.0, "丙": -2.0, "乙丙": -9.0, "甲乙丙": -7.0, "丙甲乙": -8.5}
WORDS = Words(
    rows={word: row for row, word in enumerate(SMALL)},
    scores=SMALL,
    longest={"甲": 3, "乙": 2, "丙": 3},
)


def best_score(run: str) -> float:
    """The likeliest cut, by trying every one."""
    best = -1e9
    for cuts in range(2 ** (len(run) - 1)):
        places = [0, *(place + 1 for place in range(len(run) - 1) if cuts >> place & 1), len(run)]
        words = [run[start:end] for start, end in pairwise(places)]
        if all(word in SMALL or len(word) == 1 for word in words):
            best = max(best, sum(SMALL.get(word, UNKNOWN_SCORE) for word in words))
    return best


@settings(max_examples=200, deadline=None)
@given(st.text("甲乙丙丁", min_size=1, max_size=9))
def test_the_cut_is_the_likeliest_and_leaves_nothing_out(run: str) -> None:
    names = list(SMALL)
    words = [names[row] if row >= 0 else "丁" for row in WORDS.cut(run)]
    assert "".join(words) == run
    assert sum(SMALL.get(word, UNKNOWN_SCORE) for word in words) == pytest.approx(best_score(run))


def test_the_files_belong_together() -> None:
    words = load_words()
    assert len(words.rows) == 24_000
    assert all(HAN.fullmatch(word) for word in words.rows)
    assert max(map(len, words.rows)) == max(words.longest.values()) == 5
    vectors = word_vectors(np.array([0, 23_999]))
    assert vectors.shape == (2, 384)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.abs(vectors).max() > 0


def test_forms_of_characters() -> None:
    assert plain_chinese("繁體，「容器」…（Ａ１）") == '繁体,"容器"...(A1)'
    words = load_words()
    assert words.cut(plain_chinese("數據庫")) == words.cut("数据库")
    assert words.cut("䶵") == [-1]
