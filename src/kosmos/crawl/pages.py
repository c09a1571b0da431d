"""The rows of a crawl: one for each address, saying what is known of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What an address is fetched for."""

    PAGE = "page"
    SITEMAP = "sitemap"


class State(StrEnum):
    """What became of an address. All but PENDING are final within a round."""

    PENDING = "pending"
    KEPT = "kept"  # content to convert
    UNCHANGED = "unchanged"  # the content of the last round still holds
    DUPLICATE = "duplicate"  # the same bytes as `target`
    ALIAS = "alias"  # says that `target` is its canonical address
    UNLISTED = "unlisted"  # asks not to be indexed
    REDIRECT = "redirect"  # leads to `target`
    READ = "read"  # a sitemap
    GONE = "gone"  # 404 or 410
    FAILED = "failed"
    REFUSED = "refused"  # by the rules of the way out: a private address, a closed port …
    SKIPPED = "skipped"  # not asked for, or not read


@dataclass(frozen=True, slots=True)
class Page:
    """One address of a crawl. `referrer` is the first page that linked to it."""

    url: str
    kind: Kind = Kind.PAGE
    state: State = State.PENDING
    depth: int = 0
    hops: int = 0  # redirects that led here, one after another
    referrer: str | None = None
    attempts: int = 0
    due: float = 0.0  # seconds since 1970; not before
    status: int | None = None
    reason: str = ""
    media_type: str = ""
    title: str = ""
    size: int = 0
    sha256: str = ""
    etag: str | None = None
    last_modified: str | None = None
    target: str | None = None
    links: tuple[str, ...] = ()  # within the crawl
    ignored: Mapping[str, int] = field(default_factory=dict)  # links left out: reason → how many
    fetched_at: float | None = None


@dataclass(frozen=True, slots=True)
class PageResult:
    """What one visit brought: the new row, the addresses found, and content where the row is KEPT."""

    page: Page
    found: tuple[Page, ...] = ()
    content: bytes = b""
    charset: str = ""  # as declared by the server
    wait: float = 0.0  # seconds the host asked to be left alone
