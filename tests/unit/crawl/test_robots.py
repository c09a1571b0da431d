"""robots.txt by RFC 9309."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kosmos.crawl.robots import Robots, Rule, parse_robots

HOST = "http://docs.example"


def robots(text: str, agent: str = "kosmos") -> Robots:
    return parse_robots(text.encode(), agent)


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /", "/a", False),
        ("Disallow:", "/a", True),
        ("Disallow: /private", "/private/x", False),
        ("Disallow: /private", "/privateer", False),
        ("Disallow: /private/", "/private", True),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a/b\nDisallow: /a", "/a/c", False),
        ("Allow: /page\nDisallow: /page", "/page", True),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/x", False),
        ("Disallow: /*.php$", "/a/b.php", False),
        ("Disallow: /*.php$", "/a/b.php?x", True),
        ("Disallow: /*/print", "/a/b/print/x", False),
        ("Disallow: /*?", "/a?x", False),
        ("Disallow: /*?", "/a", True),
        ("Disallow: /中文", "/%E4%B8%AD%E6%96%87/x", False),
        ("Disallow: /%e4%b8%ad", "/%E4%B8%AD", False),
        ("Disallow: /%61", "/a", False),
        ("Disallow: a", "/a", False),
        ("DISALLOW : /a # why", "/a", False),
        ("Disallow: /", "/robots.txt", True),
    ],
)
def test_rules(rules: str, path: str, allowed: bool) -> None:
    assert robots(f"User-agent: *\n{rules}").allows(HOST + path) is allowed


def test_the_group_of_our_name_counts_alone() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: KOSMOS/2.0\nDisallow: /mine\nCrawl-delay: 2.5\n"
    assert robots(text).allows(f"{HOST}/a")
    assert not robots(text).allows(f"{HOST}/mine")
    assert robots(text).delay == 2.5
    assert not robots(text, "otherbot").allows(f"{HOST}/a")


def test_groups_of_one_name_are_one_and_names_can_share_a_group() -> None:
    text = "User-agent: a\nUser-agent: kosmos\nDisallow: /1\nUser-agent: b\nDisallow: /2\n"
    text += "User-agent: kosmos\nDisallow: /3"
    asked = robots(text)
    assert [asked.allows(f"{HOST}/{number}") for number in (1, 2, 3)] == [False, True, False]


def test_a_name_is_not_a_prefix() -> None:
    assert robots("User-agent: kosmosbot\nDisallow: /").allows(f"{HOST}/a")


def test_sitemaps_stand_outside_the_groups() -> None:
    text = "\ufeffSitemap: http://docs.example/one.xml\r\nUser-agent: *\r\n"
    text += "sitemap: http://docs.example/two.xml\r\nDisallow: /a"
    asked = robots(text)
    assert asked.sitemaps == ("http://docs.example/one.xml", "http://docs.example/two.xml")
    assert not asked.allows(f"{HOST}/a")


def test_rules_before_any_name_and_nonsense_are_passed_over() -> None:
    assert robots("Disallow: /\n<html>\nfoo\nCrawl-delay: -1\nUser-agent: *\nCrawl-delay: soon").allows(
        f"{HOST}/a"
    )


def _by_regex(pattern: str, path: str) -> bool:
    closed = pattern.endswith("$")
    body = "".join(".*" if mark == "*" else re.escape(mark) for mark in pattern.removesuffix("$"))
    return re.match(body + ("\\Z" if closed else ""), path, re.DOTALL) is not None


@given(st.text("ab/*", max_size=8), st.booleans(), st.text("ab/", max_size=12))
def test_wildcards_agree_with_a_regular_expression(pattern: str, closed: bool, path: str) -> None:
    full = f"/{pattern}" + ("$" if closed else "")
    assert Rule(True, full).fits(f"/{path}") is _by_regex(full, f"/{path}")


def test_no_pattern_takes_for_ever() -> None:
    assert not Rule(True, "/" + "*a" * 5000 + "b").fits("/" + "a" * 2000)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(content: bytes) -> None:
    parse_robots(content, "kosmos").allows(f"{HOST}/a")
