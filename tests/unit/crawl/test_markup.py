"""What pages say about themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.crawl.markup import Link, declared_charset, decode_html, read_markup

PAGE = """<!doctype html><html><head><title> A\n title </title><base href="/base/">
<link rel="stylesheet canonical" href="/canon"><meta name="ROBOTS" content="noindex, Follow"></head>
<body><a href="one">1</a><a href="two" rel="external NoFollow">2</a><a name="x">3</a><a href="#x">4</a>
<area href="three"><a href="javascript:x()">5</a><a href="mailto:a@b">6</a></body></html>"""


def test_facts_of_a_page() -> None:
    markup = read_markup(PAGE.encode())
    assert (markup.title, markup.base, markup.canonical) == ("A title", "/base/", "/canon")
    assert (markup.noindex, markup.nofollow, markup.refresh) == (True, False, None)
    assert markup.links == (Link("one"), Link("two", nofollow=True), Link("three"))


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ("noindex", (True, False)),
        ("none", (True, True)),
        ("otherbot: noindex, nofollow", (False, False)),
        ("nofollow, otherbot: noindex", (False, True)),
        ("otherbot: nofollow, kosmos: noindex", (True, False)),
        ("", (False, False)),
    ],
)
def test_wishes_in_the_header(tag: str, wanted: tuple[bool, bool]) -> None:
    markup = read_markup(b"<p>x", robots_tag=tag)
    assert (markup.noindex, markup.nofollow) == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("0; url=/next", "/next"),
        ("0;URL='/next'", "/next"),
        ("3, /next", "/next"),
        ("600; url=/next", None),
        ("30", None),
    ],
)
def test_a_page_that_sends_on(content: str, wanted: str | None) -> None:
    assert read_markup(f'<meta http-equiv="Refresh" content="{content}">'.encode()).refresh == wanted


def test_two_canonical_addresses_are_none() -> None:
    html = b"<head><link rel=canonical href=/a><link rel=canonical href=/b></head>"
    assert read_markup(html).canonical is None


@pytest.mark.parametrize(
    ("content", "charset"),
    [
        ("<p>中文".encode(), ""),
        ("<p>中文".encode("gb18030"), "gb2312"),
        ('<meta charset="gbk"><p>中文'.encode("gbk"), ""),
        ('<meta http-equiv=Content-Type content="text/html; charset=big5"><p>中文'.encode("big5"), ""),
        ("<p>中文".encode("utf-16"), ""),
        ("\ufeff<p>中文".encode(), "nonsense-8"),
        ("<p>中文".encode(), "base64"),
    ],
)
def test_character_sets(content: bytes, charset: str) -> None:
    assert decode_html(content, charset).endswith("<p>中文")


def test_the_declared_charset() -> None:
    assert declared_charset('text/html; Charset="GB2312"') == "gb2312"
    assert declared_charset("text/html") == ""


@pytest.mark.parametrize(
    "html",
    [
        b"<div>" * 50_000,
        b"<a " + b" ".join(b"a%d" % number for number in range(100_000)) + b">",
        b"<span>" * 20_000 + b"<p></p>" * 20_000,
        b"<!--" * 100_000,
        b"<script>" * 100_000,
        b"<a b='" * 100_000,
        b'<a b="' * 99_999,
        b"<a b=" * 100_000,
        b"<a " * 100_000,
        b"<a" + b" " * 500_000,
        b"</" * 200_000,
        b"<title>" * 50_000,
        b"<" * 500_000,
        b"&" * 500_000,
    ],
)
def test_no_page_takes_for_ever(html: bytes) -> None:
    # Each of these is quadratic in a parser that is not careful: minutes instead of a blink.
    assert read_markup(b"<a href=x>" + html).links[0] == Link("x")


def test_the_number_of_links_is_limited() -> None:
    assert len(read_markup(b"<a href=x>" * 9000, most=100).links) == 100


@pytest.mark.parametrize(
    "html",
    [
        "<!-- <a href=no> --><a href=yes>",
        "<script>'<a href=no>'</script ><a href=yes>",
        "<style><a href=no></style><a href=yes>",
        "<textarea><a href=no></textarea><a href=yes>",
        "<p title='<a href=no>'><a href=yes>",
        '<p title=">"><A HREF = "yes" href=no>',
        "<a\n  class/href='yes'>",
        "<a href=&#121;es>",
        "<!doctype html [<x]><a href=yes>",
        "<?xml version='1'?><a href=yes></a href=no>",
        "< a href=no><a href=yes>",
        "<!--><a href=yes><!-- <a href=no>",
        "<a href=yes><p title='<a href=no>",
        "<a href=yes><a href=no",
    ],
)
def test_only_real_tags_are_links(html: str) -> None:
    assert read_markup(html.encode()).links == (Link("yes"),)


def test_parameters_are_no_entities() -> None:
    links = read_markup(b'<a href="?a=1&copy=2&amp;b=3&lang=4">').links
    assert links == (Link("?a=1&copy=2&b=3&lang=4"),)


def test_only_the_head_speaks_for_the_page() -> None:
    html = b"<head><title>x</title></head><body><p>guest<link rel=canonical href=/evil>"
    assert read_markup(html).canonical is None


PIECES = st.sampled_from(
    [
        *(
            "<a href=one>",
            '<a href="two?a=1&amp;b=2">',
            "<a href='th'ree'>",
            "</a>",
            "<p>",
            "</p>",
            "<div>",
            "</div>",
        ),
        *(
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "<style>",
            "</style>",
            "text",
            "<br/>",
            "<img alt='>'>",
            "<b x=y>",
        ),
        *(
            '<p title="',
            '">',
            "<area href=four>",
            "<a name=n>",
            "<a href=five rel=nofollow>",
            "\n",
            " ",
            "<",
            "=",
        ),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_the_same_links_as_a_full_parser(html: str) -> None:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(f"<body>{html}")
    wanted = [node.attributes.get("href") or "" for node in tree.css("a[href], area[href]")]
    got = [link.href for link in read_markup(f"<body>{html}".encode()).links]
    # Formatting elements that are left open are opened again by the full parser.
    assert set(got) == {href.strip() for href in wanted if href.strip()}


@given(st.binary(max_size=300), st.text(max_size=10))
def test_any_bytes_are_read(content: bytes, charset: str) -> None:
    read_markup(content, charset=charset)
