"""Fuzzers of what comes from elsewhere: sites, archives, forms, files of agents, settings."""

import hashlib
import json
import random
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.fuzzer import Fuzzer, require, wait
from fuzzing.mutating import ODD, damage_archive, damaged, shaped, texts, values
from kosmos.agents.files import dump_form, load_form
from kosmos.api.multipart import MultipartReader
from kosmos.archive.manifest import BACKUP, BLOBS, Manifest, blob_part
from kosmos.archive.reading import open_archive
from kosmos.archive.restore import check_archive
from kosmos.archive.rows import load_row, row_digest
from kosmos.archive.tables import Content, all_tables
from kosmos.archive.writing import new_archive
from kosmos.crawl.markup import read_markup
from kosmos.crawl.robots import parse_robots
from kosmos.crawl.sitemaps import MOST, parse_sitemap
from kosmos.crawl.urls import canonical_url
from kosmos.db.migrate import HEAD
from kosmos.domain.space_settings import check_settings, merge_settings, read_settings
from kosmos.errors import InvalidInput

ROBOTS = b"""User-agent: *\nDisallow: /a*b$\nAllow: /a/\nCrawl-delay: 2.5\n# c\nUser-agent: Kosmos/1.0
Disallow:\nDisallow: /%7Ejoe\nSitemap: https://example.org/s.xml\n"""
SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.org/a</loc><lastmod>2024-01-01</lastmod></url><url><loc> https://example.org/b?x=1&amp;y
</loc></url></urlset>"""
INDEX = b"<sitemapindex><sitemap><loc>https://example.org/s2.xml</loc></sitemap></sitemapindex>"
PAGE = b"""<!doctype html><html><head><title>T</title><base href="/x/"><link rel=canonical href="?a=1#f">
<meta name=robots content="noindex, nofollow"><meta http-equiv=refresh content="0; url=/y"></head>
<body><a href="../a b?utm_source=x&b=%zz">l</a><a href='//h/../..'>m</a><area href=javascript:x></body>"""
WORDS = (
    *ODD,
    b"*",
    b"$",
    b"User-agent:",
    b"Disallow: /",
    b"<!DOCTYPE x [",
    b"<!ENTITY a 'b'>",
    b"<url><loc>",
)
URLS: tuple[str, ...] = (
    "http://",
    "https:",
    "//",
    "example.org",
    "/",
    "..",
    "?",
    "a=b",
    "&",
    "#",
    "%zz",
    "%2e",
    "@",
    ":",
    "99999",
    "[::1]",
)
URLS += ("\\", " ", "例子", "xn--", "\t", "javascript:", "user:pw", "127.1", "0x7f.1", "\x00", "utm_source=x")


def _robots(data: bytes) -> str:
    read = parse_robots(data, "kosmos")
    require(read.allows("https://example.org/robots.txt"), "robots.txt itself may always be read")
    read.allows("https://example.org/a/%7Ejoe?x=b")
    require(read.delay is None or read.delay >= 0, "a delay below zero")
    return "read"


def _sitemap(data: bytes) -> str:
    read = parse_sitemap(data)
    require(len(read.pages) + len(read.sitemaps) <= 2 * MOST, "more addresses than are allowed")
    return "read"


def _markup(data: bytes) -> str:
    found = read_markup(data, charset="utf-8")
    for link in found.links:
        canonical_url(link.url if hasattr(link, "url") else str(link), "https://example.org/x/")
    return "read"


def _urls() -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(URLS), st.sampled_from(URLS), texts(4)), max_size=9).map(
        "".join
    )


def _url(text: str) -> str:
    made = canonical_url(text, "https://example.org/x/")
    if made is None:
        return "none"
    require(made.startswith(("http://", "https://")), "an address of another kind")
    require(canonical_url(made) == made, "canonical twice is not canonical once")
    return "read"


@cache
def _archive() -> bytes:
    """A small backup: every table, one blob."""
    content = b"# Notes\n"
    digest = hashlib.sha256(content).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "backup.zip"
        with new_archive(path) as writer:
            for table in all_tables():
                with writer.part(f"tables/{table.name}.jsonl") as part:
                    part.write(b"")
            with writer.part(blob_part(digest)) as part:
                part.write(content)
            with writer.part(BLOBS) as part:
                part.write_lines([f'{{"sha256":"{digest}","size":{len(content)}}}'])
            parts = {name: item for name, item in writer.parts.items() if not name.startswith("blobs/")}
            tables = {table.name: Content() for table in all_tables()}
            writer.close(Manifest(BACKUP, "1", HEAD, "2026-01-01T00:00:00+00:00", parts, tables))
        return path.read_bytes()


def _archive_file(seed: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "backup.zip"
        path.write_bytes(damage_archive(_archive(), seed))
        with open_archive(path, BACKUP) as reader:
            wait(check_archive(reader))
            for table in all_tables():
                for line in reader.lines(f"tables/{table.name}.jsonl"):
                    load_row(table, line)
    return "read"


def _rows() -> st.SearchStrategy[tuple[int, Any]]:
    tables = all_tables()

    def of(at: int) -> st.SearchStrategy[tuple[int, Any]]:
        names = [column.name for column in tables[at].columns]
        return st.tuples(
            st.just(at), st.one_of(st.fixed_dictionaries(dict.fromkeys(names, values(1))), shaped(names))
        )

    return st.integers(0, len(tables) - 1).flatmap(of)


def _row(case: tuple[int, Any]) -> str:
    line = json.dumps(case[1])
    load_row(all_tables()[case[0]], line)
    row_digest(line)
    return "read"


FORM = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n'
FORM += b"Content-Type: text/plain\r\n\r\n# A\n\r\n--xx\r\nContent-Disposition: form-data; name=f; "
FORM += b"filename*=UTF-8''%E4%B8%AD.md\r\n\r\nx\r\n--xx--\r\n"
FRAMES = (
    *ODD,
    b"--xx",
    b"--xx--",
    b"\r\n\r\n",
    b"\r\n",
    b'filename="',
    b"Content-Disposition:",
    b"; name=\\",
)


def _forms() -> st.SearchStrategy[tuple[bytes, int]]:
    return st.tuples(damaged([FORM], FRAMES), st.integers(0, 2**32))


def _form(case: tuple[bytes, int]) -> str:
    data, seed = case
    whole, pieces = _parts(data, [data]), _parts(data, list(_cut(data, seed)))
    require(whole == pieces, "pieces give other parts than the whole")
    if isinstance(whole, str):
        return "refused"
    return "read"


def _parts(data: bytes, pieces: list[bytes]) -> Any:
    reader, found = MultipartReader("multipart/form-data; boundary=xx"), list[Any]()
    try:
        for piece in pieces:
            for item in reader.feed(piece):
                if isinstance(item, bytes) and found and isinstance(found[-1], bytes):
                    found[-1] += item
                else:
                    found.append(item)
        reader.finish()
    except InvalidInput as error:
        return error.message
    require(sum(len(item) for item in found if isinstance(item, bytes)) <= len(data), "more than was sent")
    return found


def _cut(data: bytes, seed: int) -> Iterator[bytes]:
    chance, at = random.Random(seed), 0  # noqa: S311  (repeatable on purpose)
    while at < len(data):
        size = chance.choice((1, 2, 7, 60))
        yield data[at : at + size]
        at += size


AGENT = b"name: Helper\ndescription: d\nsystem_prompt: |\n  You help.\nallowed_tools: [search]\n"
AGENT += b"step_limit: 8\nlanguage: zh\n"
YAML = (
    *ODD,
    b"&a",
    b"*a",
    b"!!python/object:os.system ",
    b"<<: *a\n",
    b"- ",
    b"? ",
    b"2024-99-99",
    b"0o9",
    b"---\n",
    b"!!binary x",
)


def _agent(data: bytes) -> str:
    form = load_form(data.decode(errors="surrogateescape"))
    require(load_form(dump_form(form)) == form, "written and read again it is another agent")
    return "read"


KINDS = ("chunking", "redaction", "encoder", "quota", "retrieval")
INNER = ("producer", "batch_lines", "sizes", "summaries", "fallback")


def _settings() -> st.SearchStrategy[tuple[Any, Any]]:
    chunking = shaped(INNER, 1)
    whole = st.one_of(shaped(KINDS, 2), chunking.map(lambda item: {"chunking": item}))
    return st.tuples(whole, whole)


def _setting(case: tuple[Any, Any]) -> str:
    stored, changes = case
    read_settings(stored)
    check_settings(changes)
    read_settings(merge_settings(stored, changes))
    return "read"


READS = "read, or passed over; never an exception"
FUZZERS = (
    Fuzzer("robots.txt", READS, 2500, lambda: damaged([ROBOTS], WORDS), _robots),
    Fuzzer("sitemaps", "addresses, or FetchFailed", 2500, lambda: damaged([SITEMAP, INDEX], WORDS), _sitemap),
    Fuzzer("markup of pages", READS, 2000, lambda: damaged([PAGE], WORDS), _markup),
    Fuzzer("addresses", "canonical once is canonical twice", 2500, _urls, _url),
    Fuzzer("backup archives", "whole, or refused", 400, lambda: st.integers(0, 2**48), _archive_file),
    Fuzzer("rows of archives", "a row, or refused", 1500, _rows, _row),
    Fuzzer("forms with files", "any pieces give the same parts, or InvalidInput", 2500, _forms, _form),
    Fuzzer(
        "files of agents",
        "written and read again it is the same",
        1500,
        lambda: damaged([AGENT], YAML),
        _agent,
    ),
    Fuzzer("settings of spaces", "read, or InvalidInput", 2000, _settings, _setting),
)
