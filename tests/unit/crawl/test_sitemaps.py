"""Sitemaps, good and hostile."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.crawl.sitemaps import MOST, parse_sitemap
from kosmos.errors import FetchFailed

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
SET = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {NAMESPACE} xmlns:image="x"><url><loc> http://a.example/1?a=1&amp;b=2 </loc><lastmod>2024</lastmod>
<image:image><image:loc>http://a.example/picture.png</image:loc></image:image></url>
<url><loc><![CDATA[http://a.example/中]]></loc></url></urlset>"""
INDEX = f"<sitemapindex {NAMESPACE}><sitemap><loc>http://a.example/s.xml.gz</loc></sitemap></sitemapindex>"
BOMB = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>
<urlset><url><loc>&b;</loc></url></urlset>"""


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: b"\xef\xbb\xbf\n" + data])
def test_pages_but_not_images(pack: object) -> None:
    assert callable(pack)
    read = parse_sitemap(pack(SET.encode()) if pack is not bytes else SET.encode())
    assert read.pages == ["http://a.example/1?a=1&b=2", "http://a.example/中"]
    assert read.sitemaps == []


def test_an_index() -> None:
    assert parse_sitemap(INDEX.encode()).sitemaps == ["http://a.example/s.xml.gz"]


def test_plain_text() -> None:
    assert parse_sitemap(b"http://a.example/1\r\n# no\nhttps://a.example/2").pages == [
        "http://a.example/1",
        "https://a.example/2",
    ]


def test_a_cut_sitemap_is_worth_its_beginning() -> None:
    assert len(parse_sitemap(SET.encode()[:-30]).pages) >= 1


@pytest.mark.parametrize(
    "content",
    [
        BOMB.encode(),
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><urlset/>',
        b"<html><p>not found",
        BOMB.encode("utf-16"),
        gzip.compress(b"<urlset>" + b" " * (51 * 2**20)),
        b"\x1f\x8b broken",
    ],
)
def test_hostile_ones_are_refused(content: bytes) -> None:
    try:
        read = parse_sitemap(content)
    except FetchFailed:
        return
    assert read.pages == read.sitemaps == []


def test_depth_and_number_are_limited() -> None:
    assert parse_sitemap(b"<a>" * 100_000).pages == []
    many = b"<urlset>" + b"<url><loc>http://a.example/</loc></url>" * (MOST + 10) + b"</urlset>"
    assert len(parse_sitemap(many).pages) == MOST


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        parse_sitemap(content)
    except FetchFailed:
        return
