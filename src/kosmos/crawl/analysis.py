"""What a crawl found out about a site, as plain data."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kosmos.crawl.pages import Kind, Page, State
from kosmos.crawl.urls import place_of

_BROKEN = {State.GONE, State.FAILED, State.REFUSED}
_WITH_CONTENT = {State.KEPT, State.UNCHANGED}
_LEADING = {State.REDIRECT, State.ALIAS, State.DUPLICATE}
_EXAMPLES = 10
_REFERRERS = 20
_LEVELS = 3
_BRANCHES = 12


@dataclass(frozen=True, slots=True)
class Broken:
    """A page that could not be had, and who links to it."""

    url: str
    state: str
    status: int | None
    reason: str
    referrers: tuple[str, ...]
    referred: int


@dataclass(frozen=True, slots=True)
class Group:
    """Pages that share a reason."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder of the site: how many pages have content in it, and its largest folders."""

    name: str
    pages: int
    children: tuple["Branch", ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """The analysis of a crawl, finished or not."""

    pages: int
    sitemaps: int
    states: Mapping[str, int]
    statuses: Mapping[str, int]
    types: Mapping[str, int]
    depths: Mapping[int, Mapping[str, int]]  # depth → state → pages
    sizes: Mapping[str, int]  # total, median, p95, largest: of pages with content
    largest: tuple[tuple[str, int], ...]
    broken: tuple[Broken, ...]
    duplicates: tuple[tuple[str, str], ...]  # address, the address with the same content
    redirects: tuple[tuple[str, str], ...]
    loops: tuple[tuple[str, ...], ...]  # redirects that go round in a circle
    lost: tuple[tuple[str, str], ...]  # aliases and duplicates that lead to nothing that was kept
    skipped: Mapping[str, Group]
    ignored: Mapping[str, int]  # links left out: reason → how many
    retried: int
    tree: Branch = field(default_factory=lambda: Branch("", 0))

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON-like data."""
        data = asdict(self)
        data["depths"] = {str(depth): dict(states) for depth, states in self.depths.items()}
        return data


def analyse(rows: Iterable[Page]) -> CrawlReport:
    """Make the report of the rows of a frontier."""
    every = sorted(rows, key=lambda page: page.url)
    pages = [page for page in every if page.kind is Kind.PAGE]
    held = [page for page in pages if page.state in _WITH_CONTENT]
    return CrawlReport(
        pages=len(pages),
        sitemaps=len(every) - len(pages),
        states=_counted(pages, lambda page: page.state.value),
        statuses=_counted(pages, lambda page: str(page.status) if page.status else ""),
        types=_counted(held, lambda page: page.media_type or "unknown"),
        depths=_depths(pages),
        sizes=_sizes(sorted(page.size for page in held)),
        largest=tuple((page.url, page.size) for page in sorted(held, key=_by_size)[:_EXAMPLES]),
        broken=_broken(pages),
        duplicates=_pairs(pages, State.DUPLICATE),
        redirects=_pairs(pages, State.REDIRECT),
        loops=_loops(pages),
        lost=_lost(pages),
        skipped=_skipped(pages),
        ignored=_ignored(pages),
        retried=sum(page.attempts > 1 for page in pages),
        tree=_branch("", [_parts(page.url) for page in held], 0),
    )


def _by_size(page: Page) -> tuple[int, str]:
    return -page.size, page.url


def _counted(pages: Iterable[Page], key: Callable[[Page], str]) -> dict[str, int]:
    counts = Counter(key(page) for page in pages)
    counts.pop("", None)
    return dict(sorted(counts.items()))


def _depths(pages: Sequence[Page]) -> dict[int, dict[str, int]]:
    depths: dict[int, Counter[str]] = defaultdict(Counter)
    for page in pages:
        depths[page.depth][page.state.value] += 1
    return {depth: dict(sorted(depths[depth].items())) for depth in sorted(depths)}


def _sizes(sizes: Sequence[int]) -> dict[str, int]:
    if not sizes:
        return {"total": 0, "median": 0, "p95": 0, "largest": 0}
    last = len(sizes) - 1
    return {
        "total": sum(sizes),
        "median": sizes[last // 2],
        "p95": sizes[last * 95 // 100],
        "largest": sizes[-1],
    }


def _broken(pages: Sequence[Page]) -> tuple[Broken, ...]:
    bad = {page.url: page for page in pages if page.state in _BROKEN}
    referrers: dict[str, dict[str, None]] = {
        url: dict.fromkeys([page.referrer] if page.referrer else []) for url, page in bad.items()
    }
    for page in pages:
        for url in page.links:
            if url in bad:
                referrers[url][page.url] = None
    return tuple(
        Broken(
            url,
            page.state.value,
            page.status,
            page.reason,
            tuple(referrers[url])[:_REFERRERS],
            len(referrers[url]),
        )
        for url, page in bad.items()
    )


def _pairs(pages: Iterable[Page], state: State) -> tuple[tuple[str, str], ...]:
    return tuple((page.url, page.target or "") for page in pages if page.state is state)


def _loops(pages: Sequence[Page]) -> tuple[tuple[str, ...], ...]:
    """Each circle of redirects once, beginning with its smallest address."""
    leads = {page.url: page.target for page in pages if page.state is State.REDIRECT and page.target}
    loops: dict[tuple[str, ...], None] = {}
    done: set[str] = set()
    for start in leads:
        trail: dict[str, int] = {}
        url = start
        while url in leads and url not in done and url not in trail:
            trail[url] = len(trail)
            url = leads[url]
        if url in trail:
            ring = list(trail)[trail[url] :]
            first = ring.index(min(ring))
            loops[(*ring[first:], *ring[:first])] = None
        done.update(trail)
    return tuple(loops)


def _lost(pages: Sequence[Page]) -> tuple[tuple[str, str], ...]:
    known = {page.url: page for page in pages}
    return tuple(
        (page.url, page.target or "")
        for page in pages
        if page.state in {State.ALIAS, State.DUPLICATE} and not _arrives(page, known)
    )


def _arrives(page: Page, known: Mapping[str, Page]) -> bool:
    seen: set[str] = set()
    while page.state in _LEADING and page.url not in seen:
        seen.add(page.url)
        following = known.get(page.target or "")
        if following is None:
            return False
        page = following
    return page.state in _WITH_CONTENT or page.state is State.PENDING


def _skipped(pages: Iterable[Page]) -> dict[str, Group]:
    groups: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        if page.state is State.SKIPPED:
            groups[page.reason or "unknown"].append(page.url)
    return {reason: Group(len(urls), tuple(urls[:_EXAMPLES])) for reason, urls in sorted(groups.items())}


def _ignored(pages: Iterable[Page]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for page in pages:
        total.update(page.ignored)
    return dict(sorted(total.items()))


def _parts(url: str) -> list[str]:
    return place_of(url).partition("?")[0].rstrip("/").split("/")


def _branch(name: str, paths: Sequence[Sequence[str]], level: int) -> Branch:
    below: dict[str, list[Sequence[str]]] = defaultdict(list)
    for path in paths if level < _LEVELS else ():
        if len(path) > level:
            below[path[level]].append(path)
    largest = sorted(below.items(), key=lambda item: (-len(item[1]), item[0]))[:_BRANCHES]
    return Branch(name, len(paths), tuple(_branch(part, inside, level + 1) for part, inside in largest))
