"""Names: what is kept, what is refused, and which count as the same."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.domain.names import MAX_NAME, clean_name, name_key
from kosmos.errors import InvalidInput

# Lone surrogates too: they come in through JSON and through the environment.
ANY_TEXT = st.text(st.characters(), max_size=200) | st.text(
    st.sampled_from(" \t\nae\u0301\u200d\u202e\ud800中")
)
SEEN = st.text(st.characters(categories=["L", "Nd", "P"]), min_size=1, max_size=30)


@given(ANY_TEXT)
def test_a_clean_name_is_always_safe(text: str) -> None:
    try:
        name = clean_name(text)
    except InvalidInput:
        return
    assert name == unicodedata.normalize("NFC", name) == name.strip()
    assert 1 <= len(name) <= MAX_NAME
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in name)
    assert clean_name(name) == name
    name.encode()


@given(SEEN, st.text(st.sampled_from(" \t\r\n\u3000"), max_size=3))
def test_ordinary_text_is_kept_without_outer_blanks(text: str, blanks: str) -> None:
    assert clean_name(blanks + text + blanks) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    "name",
    [
        "知识库",
        "Harbor Queue 运维",
        "👩‍🚀",
        "👨‍👩‍👧‍👦 Familie",
        "❤️",
        "می‌خواهم",
        "n" * MAX_NAME,
        "字" * MAX_NAME,
    ],
)
def test_names_that_people_use_are_kept(name: str) -> None:
    assert clean_name(name) == name


def test_a_name_is_composed_before_it_is_measured() -> None:
    assert clean_name("e\u0301" * MAX_NAME) == "é" * MAX_NAME


@pytest.mark.parametrize(
    "char",
    [
        *("\x00", "\x07", "\n", "\t", "\x1b", "\x7f", "\x85"),  # control
        *(
            "\u202a",
            "\u202b",
            "\u202c",
            "\u202d",
            "\u202e",
            "\u2066",
            "\u2067",
            "\u2068",
            "\u2069",
        ),  # direction
        *("\u200e", "\u200f", "\u061c", "\ufeff"),  # marks of direction and of byte order
        *("\ud800", "\udfff", "\u2028", "\u2029", "\ue000", "\uffff", "\U0010ffff"),
    ],
)
def test_characters_that_deceive_or_cannot_be_stored_are_refused(char: str) -> None:
    with pytest.raises(InvalidInput, match=rf"U\+{ord(char):04X}"):
        clean_name(f"a{char}b")


@pytest.mark.parametrize(
    "text", ["", " ", "\u3000\t\n", "\u200b", "\u200d\u2060", "\ufe0f", "\u00ad", "\u3164", "\u2800"]
)
def test_a_name_that_nobody_can_see_is_empty(text: str) -> None:
    with pytest.raises(InvalidInput, match="space name is empty"):
        clean_name(text, what="space name")


def test_a_long_name_is_refused_with_its_length() -> None:
    with pytest.raises(InvalidInput, match="121 characters; at most 120"):
        clean_name("n" * (MAX_NAME + 1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Default", "dEFAULT"),
        ("default", "ｄｅｆａｕｌｔ"),
        ("ＡＢＣ", "abc"),
        ("Straße", "STRASSE"),
        ("ΟΔΟΣ", "οδος"),
        ("ｶﾞ", "ガ"),
        ("①", "1"),
        ("ﬁle", "FILE"),
        ("e\u0301", "É"),
        ("de\u200bfault", "default"),
        ("de\u00adfault", "default"),
    ],
)
def test_look_alikes_have_one_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("a", "b"), ("知识", "知識"), ("e", "é"), ("a b", "ab"), ("1", "l")]
)
def test_different_names_have_different_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@given(SEEN)
def test_width_and_case_never_matter(text: str) -> None:
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)
    assert name_key(wide) == name_key(text)
    assert name_key(text.casefold()) == name_key(text)
