"""The analysis of a crawl, and its picture."""

import json
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from kosmos.crawl import Kind, Page, State, analyse, draw

SITE = "http://a.example"
PAGES = [
    Page(
        f"{SITE}/",
        state=State.KEPT,
        status=200,
        size=10,
        media_type="text/html",
        links=(f"{SITE}/no", f"{SITE}/b/1"),
    ),
    Page(
        f"{SITE}/b/1",
        state=State.KEPT,
        depth=1,
        status=200,
        size=30,
        attempts=2,
        links=(f"{SITE}/no",),
        ignored={"nofollow": 2},
    ),
    Page(f"{SITE}/b/2", state=State.DUPLICATE, depth=1, status=200, size=30, target=f"{SITE}/b/1"),
    Page(f"{SITE}/no", state=State.GONE, depth=1, status=404, reason="HTTP 404", referrer=f"{SITE}/"),
    Page(f"{SITE}/x", state=State.REDIRECT, depth=2, status=302, target=f"{SITE}/y"),
    Page(f"{SITE}/y", state=State.REDIRECT, depth=2, status=302, target=f"{SITE}/x"),
    Page(f"{SITE}/z", state=State.REDIRECT, depth=2, status=302, target=f"{SITE}/y"),
    Page(f"{SITE}/alias", state=State.ALIAS, depth=2, target=f"{SITE}/no"),
    Page(f"{SITE}/secret", state=State.SKIPPED, depth=2, reason="robots.txt"),
    Page(f"{SITE}/sitemap.xml", kind=Kind.SITEMAP, state=State.GONE, status=404),
]


def test_everything_is_counted_once() -> None:
    report = analyse(PAGES)
    assert (report.pages, report.sitemaps, report.retried) == (9, 1, 1)
    assert report.states == {"alias": 1, "duplicate": 1, "gone": 1, "kept": 2, "redirect": 3, "skipped": 1}
    assert report.statuses == {"200": 3, "302": 3, "404": 1}
    assert report.depths[1] == {"duplicate": 1, "gone": 1, "kept": 1}
    assert report.sizes == {"total": 40, "median": 10, "p95": 10, "largest": 30}
    assert report.largest[0] == (f"{SITE}/b/1", 30)
    assert report.types == {"text/html": 1, "unknown": 1}
    assert report.ignored == {"nofollow": 2}
    assert report.skipped["robots.txt"].examples == (f"{SITE}/secret",)


def test_broken_links_name_all_who_refer() -> None:
    (broken,) = analyse(PAGES).broken
    assert (broken.url, broken.status, broken.referred) == (f"{SITE}/no", 404, 2)
    assert set(broken.referrers) == {f"{SITE}/", f"{SITE}/b/1"}


def test_what_leads_nowhere() -> None:
    report = analyse(PAGES)
    assert report.loops == ((f"{SITE}/x", f"{SITE}/y"),)
    assert report.lost == ((f"{SITE}/alias", f"{SITE}/no"),)
    assert report.duplicates == ((f"{SITE}/b/2", f"{SITE}/b/1"),)


def test_the_report_is_json_and_does_not_depend_on_the_order() -> None:
    assert json.loads(json.dumps(analyse(PAGES).as_dict()))["depths"]["0"] == {"kept": 1}
    assert analyse(reversed(PAGES)) == analyse(PAGES)


def test_the_tree_shows_where_content_lies() -> None:
    tree = analyse(PAGES).tree
    assert (tree.pages, tree.children[0].name, tree.children[0].pages) == (2, "a.example", 2)
    assert tree.children[0].children[0].name == "b"


def test_an_empty_crawl_has_a_report_and_a_picture() -> None:
    assert "<svg" in draw(analyse([]))


NASTY = st.builds(
    Page,
    url=st.text(max_size=12).map(lambda text: f'http://a.example/<&">]]>\x01/{text}'),
    state=st.sampled_from([state for state in State if state is not State.READ]),
    depth=st.integers(0, 40),
    target=st.none() | st.sampled_from([f"{SITE}/x", f"{SITE}/y"]),
    size=st.integers(0, 10**9),
)


@given(st.lists(NASTY, max_size=8))
def test_the_picture_is_always_well_formed(pages: list[Page]) -> None:
    root = ElementTree.fromstring(draw(analyse(pages)))
    bars = [
        node
        for node in root.iter("{http://www.w3.org/2000/svg}title")
        if (node.text or "").startswith("depth")
    ]
    assert sum(int((node.text or "").rpartition(" ")[2]) for node in bars) == len(pages)
