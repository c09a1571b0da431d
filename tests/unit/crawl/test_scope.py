"""Which addresses belong to a crawl, and what profiles know."""

import pytest

from kosmos.crawl import GENERIC, KUBERNETES, CrawlPlan, labels_of, profile_for
from kosmos.crawl.plans import Scope
from kosmos.errors import InvalidInput


def objections(plan: CrawlPlan, *urls: str) -> list[str | None]:
    scope = Scope(plan)
    return [scope.objection(url) for url in urls]


@pytest.mark.parametrize(
    ("start", "url", "inside"),
    [
        ("https://a.example/docs/", "https://a.example/docs/x", True),
        ("https://a.example/docs/", "https://a.example/docs", True),
        ("https://a.example/docs", "https://a.example/docs/x", True),
        ("https://a.example/docs", "https://a.example/docsold", False),
        ("https://a.example/docs/intro.html", "https://a.example/docs/x", True),
        ("https://a.example/docs/", "http://a.example/docs/x", True),
        ("https://a.example/docs/", "https://a.example/blog/", False),
        ("https://a.example/docs/", "https://b.example/docs/", False),
        ("https://a.example/docs/", "https://a.example:8443/docs/", False),
        ("https://a.example", "https://a.example/anything?x=1", True),
        ("a.example/docs/", "https://a.example/docs/x", True),
    ],
)
def test_the_folder_of_the_start_is_the_scope(start: str, url: str, inside: bool) -> None:
    assert objections(CrawlPlan((start,)), url) == [None if inside else "out of scope"]


def test_prefixes_include_and_exclude() -> None:
    plan = CrawlPlan(
        ("https://a.example/start",),
        prefixes=("https://a.example/en", "https://b.example/"),
        include=("*/guide/*", "/en/*.html"),
        exclude=("b.example/guide/old*",),
    )
    assert objections(
        plan,
        "https://a.example/en/guide/x",
        "https://a.example/en/x.html",
        "https://a.example/en/x",
        "https://b.example/guide/old/x",
        "https://b.example/guide/x.png",
        "https://a.example/start",
    ) == [None, None, "not included", "excluded", "excluded", "out of scope"]


def test_circles_are_left() -> None:
    assert objections(CrawlPlan(("https://a.example/",)), "https://a.example/a/a/a/") == ["circular path"]


@pytest.mark.parametrize("start", ["", "ftp://a.example/", "https://", "https://u@a.example/"])
def test_what_is_no_start(start: str) -> None:
    with pytest.raises(InvalidInput):
        Scope(CrawlPlan((start,)))
    with pytest.raises(InvalidInput):
        Scope(CrawlPlan(("https://a.example/",), prefixes=(start,)))


def test_kubernetes_in_any_version_and_two_languages() -> None:
    for start in ("https://kubernetes.io/", "https://v1-31.docs.kubernetes.io/"):
        assert profile_for(start) is KUBERNETES
        plan = CrawlPlan((start,), profile=KUBERNETES)
        assert objections(
            plan,
            f"{start}docs/concepts/overview/",
            f"{start}zh-cn/docs/concepts/overview/",
            f"{start}blog/2024/",
            f"{start}de/docs/home/",
            f"{start}docs/concepts/_print/",
        ) == [None, None, "out of scope", "out of scope", "excluded"]
    assert profile_for("https://kubernetes.io.evil.example/") is GENERIC
    chinese = "https://v1-31.docs.kubernetes.io/zh-cn/docs/tasks/x/"
    assert labels_of(KUBERNETES, chinese) == {"version": "1-31", "language": "zh-cn", "section": "tasks"}
    assert labels_of(KUBERNETES, "https://kubernetes.io/docs/concepts/x/") == {"section": "concepts"}
    assert (
        Scope(CrawlPlan(("https://kubernetes.io/docs/",), profile=KUBERNETES)).canonical(
            "https://kubernetes.io/docs/x/index.html"
        )
        == "https://kubernetes.io/docs/x/"
    )
