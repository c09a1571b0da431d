"""What papers say about themselves, and where their reference lists stand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.papers import PaperFacts, bibtex_of, dump_facts, load_facts, reference_of
from kosmos.ingest.papers import find_bibliography, find_facts

PAPER = """# Deep Channels

Mara Lindqvist¹, J. P. van der Berg* and Chen Wei

Institute of Coastal Works, Delft University

arXiv:2103.01234v2

## Abstract

We measure depth, see 10.9999/other.paper for more.

## Results

It is deep.

## References

[1] A. Referee. Zebras. 1999. doi:10.1111/zebra
[2] B. Referee. Lions. 2001.

## Appendix

More."""


def test_a_paper_introduces_itself() -> None:
    facts = find_facts(PAPER, "Deep Channels", {})
    assert facts is not None
    assert facts.authors == ("Mara Lindqvist", "J. P. van der Berg", "Chen Wei")
    assert (facts.year, facts.arxiv) == (2021, "2103.01234")
    assert facts.doi == ""  # what the abstract mentions is somebody else's
    assert facts.bibliography == (17, 21)
    assert load_facts({"paper": dump_facts(facts)}) == facts


@pytest.mark.parametrize(
    "text",
    [
        "# Guide\n\nOil the pump.\n\n## References\n\n- [pump](https://a.example)",
        "# Abstract algebra\n\nGroups and rings.",
        "",
        "# Notes\n\nSee doi:10.1000/182.",
    ],
)
def test_other_texts_are_no_papers(text: str) -> None:
    assert find_facts(text, "t", {}) is None


def test_what_front_matter_declares_comes_first() -> None:
    metadata = {"authors": ["李 明", "Wang"], "date": "2018-05-01", "doi": "https://doi.org/10.1/x"}
    facts = find_facts(PAPER, "t", {**metadata, "doi": "10.1234/x."})
    assert facts is not None
    assert (facts.authors, facts.year, facts.doi) == (("李 明", "Wang"), 2018, "10.1234/x")


@pytest.mark.parametrize(
    "title", ["## 参考文献", "**References**", "REFERENCES", "## 6 References", "VI. References"]
)
def test_reference_lists_under_many_titles(title: str) -> None:
    lines = ["# T", "", "a", "b", "c", title, "", "[1] X. 1999.", "[2] Y. 2000."]
    assert find_bibliography(lines) == (6, 9)


@pytest.mark.parametrize("title", ["References to the sea", "## See also", "Our references are many."])
def test_what_only_looks_like_one(title: str) -> None:
    assert find_bibliography(["# T", "", "a", "b", "c", title, "", "[1] X. 1999."]) is None


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=40))
def test_no_text_breaks_it(text: str, title: str) -> None:
    facts = find_facts(text, title, {"author": text, "date": title})
    lines = text.split("\n")
    found = find_bibliography(lines)
    assert found is None or 1 <= found[0] <= found[1] <= len(lines)
    assert facts is None or isinstance(facts.authors, tuple)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["title", "authors", "year", "doi", "bibliography"]),
        st.none() | st.text() | st.lists(st.integers()) | st.booleans(),
    )
)
def test_odd_metadata_is_empty(kept: dict[str, object]) -> None:
    facts = load_facts({"paper": kept}, "fallback")
    assert facts.year is None
    assert facts.title


def test_bibtex_has_a_key_for_each_and_is_escaped() -> None:
    one = PaperFacts("Deep & {wide} 100%", ("Mara Lindqvist",), 2021, "10.1/x")
    text = bibtex_of([one, one, PaperFacts("深水", ("李文博",))])
    assert "@article{lindqvist2021deep," in text
    assert "@article{lindqvist2021deep-2," in text
    assert "@misc{paper," in text
    assert r"title = {{Deep \& \{wide\} 100\%}}," in text


def test_references() -> None:
    assert reference_of(PaperFacts("Is it deep?", ("A B", "C D"), 2020, "10.1/x")) == (
        "A B, C D. (2020). Is it deep? https://doi.org/10.1/x"
    )
    assert reference_of(PaperFacts("Deep", tuple("ABCDEFG"))) == "A, B, C, D, E, F et al.. Deep."
