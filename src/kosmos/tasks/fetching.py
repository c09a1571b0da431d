"""Adding one page or file of the web."""

from dataclasses import replace

from kosmos.accounts.access import require_space
from kosmos.crawl import profile_for
from kosmos.crawl.markup import declared_charset
from kosmos.crawl.urls import canonical_url
from kosmos.domain.accounts import Principal, Role
from kosmos.errors import FetchFailed, InvalidInput
from kosmos.net import Fetched
from kosmos.net.guard import shown
from kosmos.tasks.adding import Added, add_document
from kosmos.tasks.producing import choose_producer
from kosmos.tasks.web_sources import WebContent, web_source
from kosmos.tasks.workbench import Workbench

_LATER = {408, 425, 429, 500, 502, 503, 504}


async def add_url(
    bench: Workbench, who: Principal, space_id: str, url: str, *, producer: str | None = None
) -> Added:
    """Fetch an address and add what it holds to a space that the caller may edit.

    The document belongs to the address that redirects lead to, as it does when the site is crawled.
    """
    async with bench.db.read() as conn:
        await require_space(conn, who, space_id, need=Role.EDITOR)
        await choose_producer(bench, conn, who, space_id, producer)
    fetched = await bench.fetcher.fetch(_address(url))
    _check(fetched)
    place = canonical_url(fetched.url) or fetched.url
    charset = declared_charset(fetched.headers.get("content-type", ""))
    content = WebContent(place, fetched.content, fetched.media_type, charset)
    source = replace(web_source(content, profile_for(place)), producer=producer)
    return await add_document(bench, who, space_id, source)


def _address(text: str) -> str:
    url = canonical_url(text)
    if url is None:
        raise InvalidInput(
            f"{text[:200]!r} is no address that could be fetched.", remedy="Write it like https://host/page."
        )
    return url


def _check(fetched: Fetched) -> None:
    if not 200 <= fetched.status < 300:
        raise FetchFailed(
            f"{shown(fetched.url)} answered HTTP {fetched.status}.",
            retryable=fetched.status in _LATER,
            remedy="Check the address in a browser.",
        )
    if not fetched.content.strip():
        raise FetchFailed(f"{shown(fetched.url)} is empty.", remedy="Check the address in a browser.")
