"""One spelling for each address."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kosmos.crawl.urls import canonical_url, circular, host_of, path_of, shape_of

SAME = {
    "http://docs.example/a": (
        "HTTP://DOCS.example/a",
        "http://docs.example:80/a#part",
        "http://docs.example./a",
        " http://docs.example/a\n",
        "http://docs.example/x/../a",
        "http://docs.example/x/%2e%2e/%61",
        "http://docs.example/./a?",
        "http://docs.example/a?utm_source=x&gclid=1",
        "http://docs.exa\tmple/a",
    ),
    "https://docs.example/": ("https://docs.example", "https://docs.example:443", "https://docs.example/.."),
    "http://docs.example/%E4%B8%AD?q=%E6%96%87": (
        "http://docs.example/中?q=文",
        "http://docs.example/%e4%b8%ad?q=文",
    ),
    "http://docs.example:8080/a%2Fb": ("http://docs.example:8080/a%2fb",),
    "http://[2001:db8::1]/": ("http://[2001:DB8::1]/",),
}
PATH = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30)


@pytest.mark.parametrize(("wanted", "text"), [(url, text) for url, texts in SAME.items() for text in texts])
def test_spellings_of_one_address(wanted: str, text: str) -> None:
    assert canonical_url(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("b", "http://docs.example/dir/b"),
        ("/b", "http://docs.example/b"),
        ("../b?x=1", "http://docs.example/b?x=1"),
        ("//other.example/b", "http://other.example/b"),
        ("?x", "http://docs.example/dir/page?x"),
        ("", "http://docs.example/dir/page"),
        ("#top", "http://docs.example/dir/page"),
    ],
)
def test_relative_addresses(text: str, wanted: str) -> None:
    assert canonical_url(text, "http://docs.example/dir/page") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "mailto:a@b",
        "javascript:x",
        "ftp://docs.example/",
        "http://",
        "http://user@docs.example/",
        "http://docs.example\\@evil/",
        "http://[::1",
        "http://docs.example/" + "a" * 3000,
        "http://docs.example/" + "中" * 700,
        "docs.example/a",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert canonical_url(text) is None


def test_index_names_stand_for_their_folder() -> None:
    assert canonical_url("http://a.example/x/index.html", index=("index.html",)) == "http://a.example/x/"
    assert canonical_url("http://a.example/x/index.html") == "http://a.example/x/index.html"


@given(PATH, PATH)
@example("%2541", "%2526=%3d")
@example("a/%2E%2e/./..//b", "&&a=&=b&")
def test_canonical_twice_is_canonical_once(path: str, query: str) -> None:
    url = canonical_url(f"http://docs.example/{path}?{query}")
    if url is None:
        return
    assert canonical_url(url) == url
    assert canonical_url(url + "#fragment") == url
    assert canonical_url(url, "https://elsewhere.example/x") == url
    assert host_of(url) == "docs.example"
    assert urlsplit(url).fragment == ""
    assert not {".", ".."} & set(path_of(url).partition("?")[0].split("/"))


@given(st.text(max_size=60))
def test_nothing_found_in_a_page_breaks_it(text: str) -> None:
    url = canonical_url(text, "http://docs.example/dir/")
    assert url is None or url.startswith(("http://", "https://"))


def test_shapes_ignore_numbers_and_values() -> None:
    assert shape_of("http://a.example/2024/05?page=2&b=x") == shape_of("http://a.example/2025/1?b=y&page=77")
    assert shape_of("http://a.example/a") != shape_of("http://a.example/b")


@pytest.mark.parametrize(
    ("path", "is_circular"),
    [
        ("a/b/c", False),
        ("a/a/b", False),
        ("a/a/a", True),
        ("x/a/b/a/b/a/b", True),
        ("a/b/a/c/a", False),
        ("/".join("abcdefghij" * 5), True),
    ],
)
def test_paths_that_repeat_themselves(path: str, is_circular: bool) -> None:
    assert circular(f"http://a.example/{path}") is is_circular
