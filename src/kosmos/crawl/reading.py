"""From an answer to a result: what became of the address, and which others it names. No input or output."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kosmos.crawl.markup import Markup, declared_charset, read_markup
from kosmos.crawl.pages import Kind, Page, PageResult, State
from kosmos.crawl.plans import CrawlPlan, Scope
from kosmos.crawl.profiles import HTML_TYPES
from kosmos.crawl.sitemaps import parse_sitemap
from kosmos.crawl.urls import host_of, place_of
from kosmos.net import Fetched

_SITEMAP_LEVELS = 3
_SNIFFED = (b"<!doctype html", b"<html", b"<head")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads answers as a plan wants them read."""

    plan: CrawlPlan
    scope: Scope

    def read(self, page: Page, answer: Fetched) -> PageResult:
        """The result of an answer that is not worth another attempt."""
        page = replace(page, status=answer.status, media_type=answer.media_type or page.media_type)
        place = answer.location
        if place is not None:
            return self._redirected(page, self.scope.canonical(place))
        if answer.status == 304:
            return self._unchanged(page)
        if answer.status in {404, 410}:
            return PageResult(replace(page, state=State.GONE, reason=f"HTTP {answer.status}"))
        if not 200 <= answer.status < 300:
            return PageResult(replace(page, state=State.FAILED, reason=f"HTTP {answer.status}"))
        return self._sitemap(page, answer) if page.kind is Kind.SITEMAP else self._content(page, answer)

    def _unchanged(self, page: Page) -> PageResult:
        found = tuple(self._step(page, url) for url in page.links)
        return PageResult(replace(page, state=State.UNCHANGED), found)

    def _redirected(self, page: Page, target: str | None) -> PageResult:
        objection = self._objection(target, page)
        moved = replace(page, state=State.REDIRECT, target=target, reason=objection or "")
        if target is None or objection or target == page.url:
            return PageResult(moved)
        following = Page(target, kind=page.kind, depth=page.depth, hops=page.hops + 1, referrer=page.url)
        if following.hops > self.plan.limits.redirects:
            following = replace(following, state=State.SKIPPED, reason="too many redirects")
        return PageResult(moved, (following,))

    def _objection(self, target: str | None, page: Page) -> str | None:
        if target is None:
            return "leads to no address"
        return None if page.kind is Kind.SITEMAP else self.scope.objection(target)

    def _sitemap(self, page: Page, answer: Fetched) -> PageResult:
        read = parse_sitemap(answer.content)
        # However deep a sitemap lies, what it names is one step from the start.
        links = ((text, False) for text in read.pages)
        found, ignored = self._found(replace(page, depth=0), links, base=page.url)
        inner = self._inner_sitemaps(page, read.sitemaps) if page.depth < _SITEMAP_LEVELS else ()
        done = replace(page, state=State.READ, size=answer.size, sha256=answer.sha256, ignored=ignored)
        return PageResult(done, (*inner, *found))

    def _inner_sitemaps(self, page: Page, texts: Iterable[str]) -> tuple[Page, ...]:
        """A sitemap can speak for its own host only."""
        urls = (self.scope.canonical(text, page.url) for text in texts)
        mine = dict.fromkeys(url for url in urls if url and host_of(url) == host_of(page.url))
        return tuple(
            Page(url, kind=Kind.SITEMAP, depth=page.depth + 1, referrer=page.url) for url in list(mine)[:1000]
        )

    def _content(self, page: Page, answer: Fetched) -> PageResult:
        if not answer.read:
            return PageResult(replace(page, state=State.SKIPPED, reason=f"type {answer.media_type[:80]}"))
        if not answer.content.strip():
            return PageResult(replace(page, state=State.SKIPPED, reason="empty"))
        page = replace(
            page,
            state=State.KEPT,
            size=answer.size,
            sha256=answer.sha256,
            etag=(answer.validators.etag or "")[:500] or None,
            last_modified=(answer.validators.last_modified or "")[:100] or None,
        )
        charset = declared_charset(answer.headers.get("content-type", ""))
        result = PageResult(page, content=answer.content, charset=charset)
        return self._html(result, answer.headers) if _is_html(answer) else result

    def _html(self, result: PageResult, headers: Mapping[str, str]) -> PageResult:
        markup = read_markup(
            result.content,
            charset=result.charset,
            robots_tag=headers.get("x-robots-tag", ""),
            most=self.plan.limits.links,
        )
        page = replace(result.page, title=markup.title)
        base = (self.scope.canonical(markup.base, page.url) if markup.base else None) or page.url
        if markup.refresh:
            return self._redirected(page, self.scope.canonical(markup.refresh, base))
        found, ignored = self._linked(page, markup, base)
        page = replace(page, links=tuple(each.url for each in found), ignored=ignored)
        canonical = self._canonical(page, markup, base)
        if canonical:
            other = Page(canonical, depth=page.depth, referrer=page.url)
            alias = replace(page, state=State.ALIAS, target=canonical)
            return replace(result, page=alias, found=(other, *found))
        if markup.noindex:
            return PageResult(replace(page, state=State.UNLISTED, reason="noindex"), found)
        return replace(result, page=page, found=found)

    def _linked(self, page: Page, markup: Markup, base: str) -> tuple[tuple[Page, ...], dict[str, int]]:
        links = ((link.href, link.nofollow or markup.nofollow) for link in markup.links)
        return self._found(page, links, base=base)

    def _found(
        self, page: Page, links: Iterable[tuple[str, bool]], *, base: str
    ) -> tuple[tuple[Page, ...], dict[str, int]]:
        """Pages to visit, and how many links were left out for which reason."""
        urls: dict[str, None] = {}
        ignored: Counter[str] = Counter()
        for text, nofollow in links:
            url = self.scope.canonical(text, base)
            objection = self.scope.objection(url) if url else "no address"
            if nofollow or objection or url is None:
                ignored["nofollow" if nofollow else objection or ""] += 1
            else:
                urls[url] = None
        return tuple(self._step(page, url) for url in urls), dict(ignored)

    def _step(self, page: Page, url: str) -> Page:
        found = Page(url, depth=page.depth + 1, referrer=page.url)
        if found.depth > self.plan.limits.depth:
            return replace(found, state=State.SKIPPED, reason="too deep")
        return found

    def _canonical(self, page: Page, markup: Markup, base: str) -> str | None:
        """Another address that the page says is its own; one that led here would lead in a circle."""
        if not (markup.canonical and self.plan.profile.trust_canonical):
            return None
        url = self.scope.canonical(markup.canonical, base)
        if url is None or self.scope.objection(url) or (page.hops and url == page.referrer):
            return None
        return None if _same_place(url, page.url) else url


def _same_place(one: str, other: str) -> bool:
    return place_of(one).rstrip("/") == place_of(other).rstrip("/")


def _is_html(answer: Fetched) -> bool:
    if answer.media_type:
        return answer.media_type in HTML_TYPES
    return answer.content[:1024].lstrip().lower().startswith(_SNIFFED)
