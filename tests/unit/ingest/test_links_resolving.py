"""Links find the documents they mean: by file, by page, by address, in the reader's language."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.domain.trees import Link, LinkKind
from kosmos.ingest.links_resolving import resolve_links
from kosmos.ingest.links_sources import SourceIndex, alias_paths
from kosmos.ingest.navigation import read_navigation
from kosmos.ingest.tree import parse_tree

PAGES = ["_index.md", "concepts/pods/_index.md", "concepts/pods/life.md", "reference/glossary/pod.md"]
SITE = [f"content/{language}/docs/{page}" for language in ("en", "zh-cn") for page in PAGES]
SITE.append("content/en/docs/only.md")
BARE = [name.replace("content/", "").replace("/docs", "") for name in SITE]
EN, ZH = "content/en/docs/concepts/pods/life.md", "content/zh-cn/docs/concepts/pods/life.md"


def _source(target: str, own: str, sources: list[str], shortcode: str = "") -> str | None:
    kind = LinkKind.SHORTCODE if shortcode else LinkKind.INLINE
    (found,) = resolve_links(
        [Link(kind, 1, target, shortcode=shortcode)], own, {name: name for name in sources}, sites=["k.io"]
    )
    assert found.document_id == found.source
    return found.source


@pytest.mark.parametrize(
    ("own", "target", "expected"),
    [
        (EN, "/docs/concepts/pods/", "content/en/docs/concepts/pods/_index.md"),
        (EN, "/docs/concepts/pods/life/#x", EN),
        (EN, "/docs/concepts/pods/life.md", EN),
        (EN, "_index.md", "content/en/docs/concepts/pods/_index.md"),
        (EN, "../", "content/en/docs/concepts/pods/_index.md"),
        (EN, "../../../only/", "content/en/docs/only.md"),
        (EN, "#x", EN),
        (EN, "/zh-cn/docs/concepts/pods/life", ZH),
        (EN, "/zh/docs/concepts/pods/life", ZH),
        (EN, "https://k.io/docs/only/?q=1#y", "content/en/docs/only.md"),
        (EN, "https://K.IO/docs/ONLY", "content/en/docs/only.md"),
        (ZH, "/docs/concepts/pods/life", ZH),
        (ZH, "/zh-cn/docs/concepts/pods/life", ZH),
        (ZH, "/zh-cn/docs/only", "content/en/docs/only.md"),
        (EN, "https://elsewhere.io/docs/only", None),
        (EN, "/docs/none", None),
        (EN, "mailto:a@b.c", None),
        (EN, "/blog/concepts/pods/life", None),
    ],
)
def test_links_of_a_site_in_two_languages(own: str, target: str, expected: str | None) -> None:
    assert _source(target, own, SITE) == expected


@pytest.mark.parametrize(
    ("own", "target", "expected"),
    [
        ("en/concepts/pods/life.md", "/docs/concepts/pods/", "en/concepts/pods/_index.md"),
        ("zh-cn/concepts/pods/life.md", "/zh-cn/docs/concepts/pods/", "zh-cn/concepts/pods/_index.md"),
        ("zh-cn/concepts/pods/life.md", "/docs/only", "en/only.md"),
        ("en/concepts/pods/life.md", "/blog/only", None),
    ],
)
def test_sources_that_begin_inside_the_folder_the_site_shows(
    own: str, target: str, expected: str | None
) -> None:
    assert _source(target, own, BARE) == expected


def test_a_folder_that_was_added_alone() -> None:
    assert (
        _source("/docs/concepts/pods/life/", "pods/_index.md", ["pods/life.md", "pods/_index.md"])
        == "pods/life.md"
    )


def test_template_calls_find_terms_and_pages_near_by() -> None:
    assert _source("pod", ZH, SITE, "glossary_tooltip") == "content/zh-cn/docs/reference/glossary/pod.md"
    assert _source("pod", EN, SITE, "glossary_tooltip") == "content/en/docs/reference/glossary/pod.md"
    assert _source("life", "content/en/docs/only.md", SITE, "ref") == EN
    api = "content/en/docs/reference/kubernetes-api/pod-v1.md"
    assert _source("pod-v1#Spec", EN, [*SITE, api], "api-reference") == api


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("../b/", "https://x.io/docs/b/"),
        ("/docs/b", "https://x.io/docs/b/"),
        ("https://x.io/docs/b/#part", "https://x.io/docs/b/"),
        ("//x.io/docs/b", "https://x.io/docs/b/"),
        ("http://x.io/docs/b?utm=1", "https://x.io/docs/b/"),
        ("/docs/q?page=2", "https://x.io/docs/q?page=2"),
        ("https://y.io/docs/b", None),
        ("/b", None),
    ],
)
def test_links_between_crawled_pages(target: str, expected: str | None) -> None:
    pages = [
        "https://x.io/docs/a/",
        "https://x.io/docs/b/",
        "https://x.io/docs/q?page=2",
        "https://x.io/docs/q?page=3",
    ]
    assert _source(target, "https://x.io/docs/a/", pages) == expected


def test_what_stays_on_the_site_is_told_from_what_does_not() -> None:
    links = [
        Link(LinkKind.INLINE, 1, target)
        for target in ["/none", "x.png", "https://k.io/y", "https://z.io", "tel:1"]
    ]
    assert [r.internal for r in resolve_links(links, EN, {}, sites=["k.io"])] == [
        True,
        True,
        True,
        False,
        False,
    ]


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("ab./:#?%[]@\\ 中\x00"), max_size=20),
    st.sampled_from(["", "http://", "//", "/docs/"]),
    st.sampled_from([EN, "https://x.io/a/", "a.md", ""]),
)
def test_no_address_is_too_odd(target: str, start: str, own: str) -> None:
    for shortcode in ("", "ref", "glossary_tooltip"):
        link = Link(LinkKind.INLINE, 1, start + target, shortcode=shortcode)
        (found,) = resolve_links([link], own, {name: name for name in [*SITE, "https://x.io/b"]}, sites=["a"])
        assert found.internal or found.document_id is None


def test_other_languages_are_marked() -> None:
    links = [Link(LinkKind.INLINE, 1, "/docs/only"), Link(LinkKind.INLINE, 1, "/docs/concepts/pods/")]
    assert [r.other_language for r in resolve_links(links, ZH, {name: name for name in SITE})] == [
        True,
        False,
    ]


def test_front_matter_gives_pages_other_paths() -> None:
    own = "en/blog/buddying.md"
    paths = alias_paths(own, {"slug": "buddy", "aliases": ["/old/", 3], "url": None})
    index = SourceIndex({own: "7", "en/x.md": "8"}, dict.fromkeys(paths, own))
    links = [Link(LinkKind.INLINE, 1, target) for target in ["/docs/blog/buddy/", "/old", "/blog/buddying"]]
    assert [r.document_id for r in resolve_links(links, "en/x.md", index)] == ["7", "7", "7"]


def test_navigation_of_a_page() -> None:
    text = (
        "# A\n\n[mention](b.md) [here](#a) [out](https://z.io)\n\n"
        "## 接下来 {#next}\n\n<!--\nEnglish\n-->\n- [c](c.md#x)\n\n"
        "## 2. See also:\n\n[b](b.md)\n\n## End\n\n[d](d.md)"
    )
    tree = parse_tree(text)
    sources = {f"{name}.md": name for name in "abcd"}
    navigation = read_navigation(tree, text, resolve_links(tree.links, "a.md", sources))
    assert navigation.nav_next_step == "- [c](c.md#x)"
    assert navigation.nav_see_also == "[b](b.md)"
    assert navigation.entry_urls == ("b.md", "https://z.io", "c.md#x", "d.md")
    assert [
        (link["relation"], link["document_id"], link["anchor"], link["line"])
        for link in navigation.related_links
    ] == [
        ("next_step", "c", "x", 10),
        ("see_also", "b", "", 14),
        ("mention", "d", "", 18),
    ]


@pytest.mark.parametrize(
    "title",
    ["What's next", "What’s next?", "Next steps", "接下来", "下一步", "3、后续步骤", "**What's Next**"],
)
def test_headings_that_lead_on(title: str) -> None:
    text = f"## {title}\n\ngo on"
    assert read_navigation(parse_tree(text), text).nav_next_step == "go on"


@pytest.mark.parametrize(
    "title", ["See Also", "另请参见", "参见", "参阅", "另请参阅：", "相关链接", "Further reading"]
)
def test_headings_that_name_related_pages(title: str) -> None:
    text = f"## {title}\n\nthere"
    assert read_navigation(parse_tree(text), text).nav_see_also == "there"


def test_other_headings_are_no_navigation() -> None:
    text = "## The next generation\n\na\n\n## 参见我们的文档\n\nb"
    navigation = read_navigation(parse_tree(text), text)
    assert (navigation.nav_next_step, navigation.nav_see_also) == ("", "")
