"""What is known about sites beforehand, as data."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kosmos.crawl.urls import TRACKING, host_of, place_of

HTML_TYPES = ("text/html", "application/xhtml+xml")
_OFFICE = "application/vnd.openxmlformats-officedocument."
FILE_TYPES = (
    "application/pdf",
    "text/plain",
    "text/markdown",
    "text/x-rst",
    "text/csv",
    "application/epub+zip",
    "application/x-ipynb+json",
    f"{_OFFICE}wordprocessingml.document",
    f"{_OFFICE}presentationml.presentation",
    f"{_OFFICE}spreadsheetml.sheet",
)
# What a name gives away is not even asked for.
_NO_TEXT = tuple(
    f"*.{end}"
    for end in (
        *("avi", "bmp", "gif", "ico", "jpeg", "jpg", "mov", "mp3", "mp4", "png", "svg", "webm", "webp"),
        *("css", "js", "ttf", "wasm", "woff", "woff2"),
        *(
            "7z",
            "bz2",
            "deb",
            "dll",
            "dmg",
            "exe",
            "gz",
            "iso",
            "jar",
            "msi",
            "rpm",
            "tar",
            "tgz",
            "xz",
            "zip",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class SiteProfile:
    """How to read one kind of site.

    `include` and `exclude` are globs over `/path?query` when they begin with a slash, else over
    `host/path?query`. `content` and `noise` are CSS selectors for whoever converts the pages. `labels`
    are named patterns whose first group says something about a page.
    """

    name: str
    hosts: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()  # of paths; used when a crawl starts at the root of the site
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = _NO_TEXT
    drop_query: tuple[str, ...] = TRACKING
    index_names: tuple[str, ...] = ()
    types: tuple[str, ...] = HTML_TYPES + FILE_TYPES
    sitemaps: bool = True
    trust_canonical: bool = True
    content: tuple[str, ...] = ("main", "article", "[role=main]", "#content", "body")
    noise: tuple[str, ...] = ("nav", "header", "footer", "aside", "script", "style")
    labels: tuple[tuple[str, str], ...] = ()


GENERIC = SiteProfile("generic")

KUBERNETES = SiteProfile(
    "kubernetes",
    hosts=("kubernetes.io", "www.kubernetes.io", "*.docs.kubernetes.io"),
    prefixes=("/docs/", "/zh-cn/docs/"),
    exclude=(*_NO_TEXT, "*/_print/*", "*/docs/search/*", "*/docs/_print", "*.html.markdown"),
    index_names=("index.html",),
    content=("div.td-content", "main"),
    noise=(
        ".td-toc",
        ".td-page-meta",
        ".td-sidebar-nav",
        ".feedback--title",
        ".feedback--container",
        "#pre-footer",
        ".pageinfo-deprecation",
        ".breadcrumb",
        "nav",
        "footer",
    ),
    labels=(
        ("version", r"^v([0-9]+-[0-9]+)\.docs\.kubernetes\.io/"),
        ("language", r"^[^/]+/([a-z]{2}(?:-[a-z]{2})?)/docs/"),
        ("section", r"^[^/]+/(?:[a-z]{2}(?:-[a-z]{2})?/)?docs/([^/?]+)/"),
    ),
)

PROFILES = {profile.name: profile for profile in (GENERIC, KUBERNETES)}


def profile_for(url: str) -> SiteProfile:
    """The profile made for the host of a canonical address, else the generic one."""
    host = host_of(url)
    return next(
        (each for each in PROFILES.values() if any(fnmatchcase(host, glob) for glob in each.hosts)), GENERIC
    )


def labels_of(profile: SiteProfile, url: str) -> dict[str, str]:
    """What the address of a page says about it, such as version and language."""
    found = {name: re.search(pattern, place_of(url)) for name, pattern in profile.labels}
    return {name: match[1] for name, match in found.items() if match}
