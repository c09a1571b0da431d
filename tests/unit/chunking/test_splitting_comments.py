"""Comments are those that the index leaves out, whatever the text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.splitting_comments import find_comments
from kosmos.domain.blocks import without_comments

TEXTS = st.lists(
    st.sampled_from(["<!--", "-->", "<!", "--", ">", "\n", " ", "   ", "word", "字"]), max_size=40
).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_they_are_the_same_as_those_left_out_of_the_index(text: str) -> None:
    comments = find_comments(text)
    assert comments.visible(text, 0, len(text)) == without_comments(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_a_cut_outside_them_loses_nothing(text: str, data: st.DataObject) -> None:
    comments = find_comments(text)
    at = data.draw(st.integers(0, len(text)))
    inside = any(start < at < end for start, end in zip(comments.starts, comments.ends, strict=True))
    assert comments.covers(at) == inside
    left, right = comments.visible(text, 0, at), comments.visible(text, at, len(text))
    assert left + right == without_comments(text)
