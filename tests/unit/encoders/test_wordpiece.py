"""WordPiece gives what the tokenizer of the model's authors gives."""

from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.encoders.wordpiece import SLICE, WordPiece, read_vocabulary
from kosmos.errors import DataLost

LETTERS = "abcdeéüß泵油的,.!?0189 \t\n#@[]\u200b\u0301\ufffd\x00日🙂Ⅷ한"
VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *(
        "a",
        "b",
        "c",
        "ab",
        "abc",
        "##a",
        "##b",
        "##bc",
        "##c",
        "e",
        "##e",
        "u",
        "##u",
        "0",
        "1",
        "##8",
        "##9",
    ),
    *("泵", "油", ",", ".", "!", "#", "[", "]", "@", "ss", "##ss"),
]


def theirs(lower: bool) -> tokenizers.Tokenizer:
    """The same by the library."""
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            {word: number for number, word in enumerate(VOCABULARY)},
            unk_token="[UNK]",
            max_input_chars_per_word=100,
        )
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(VOCABULARY[:5])
    return made


OURS = {lower: WordPiece(VOCABULARY, lower=lower) for lower in (True, False)}
THEIRS = {lower: theirs(lower) for lower in (True, False)}
TEXTS = st.lists(st.sampled_from([*LETTERS, "[SEP]", "[MASK]", "abc", "ABC ", " "]), max_size=60).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.booleans())
def test_it_cuts_as_the_library_does(text: str, lower: bool) -> None:
    expected = THEIRS[lower].encode(text, add_special_tokens=False).ids
    assert OURS[lower].numbers(text, 1000) == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXTS, max_size=40).map(" ".join), st.integers(1, 200))
def test_a_limit_only_cuts_off(text: str, limit: int) -> None:
    long = (text + " abc") * 30
    assert OURS[True].numbers(long, limit) == OURS[True].numbers(long, 10**6)[:limit]


def test_long_texts_are_read_in_parts_that_make_no_difference() -> None:
    for text in ("ab" * SLICE, "ab " * SLICE, "a" * (SLICE - 1) + "\n" + "c" * 7, " " * 3 * SLICE + "abc"):
        assert OURS[True].numbers(text, 10**6) == THEIRS[True].encode(text, add_special_tokens=False).ids


def test_odd_texts() -> None:
    ours = OURS[True]
    assert ours.numbers("", 9) == []
    assert ours.numbers("\x00\u200b\ufeff", 9) == []
    assert ours.numbers("a" * 101, 9) == [1]
    assert ours.numbers("🙂🙂", 9) == [1]
    assert ours.numbers("\ud800a", 9) == [VOCABULARY.index("a")]  # half a character is dropped


def test_a_damaged_vocabulary_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vocab.txt"
    with pytest.raises(DataLost):
        read_vocabulary(file)
    file.write_text("a\nb\n")
    with pytest.raises(DataLost, match="no WordPiece"):
        read_vocabulary(file)
    file.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    assert read_vocabulary(file) == VOCABULARY
