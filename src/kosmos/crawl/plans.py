"""What a crawl is asked to do, and which addresses belong to it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate

from kosmos.crawl.profiles import GENERIC, SiteProfile
from kosmos.crawl.urls import canonical_url, circular, path_of, place_of
from kosmos.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Pace:
    """How hard a site is asked."""

    concurrency: int = 4  # requests under way, of all hosts
    per_host: int = 2
    delay: float = 0.5  # seconds between two requests to a host; robots.txt can ask for more
    most_delay: float = 30.0  # what robots.txt can ask for at most
    attempts: int = 4
    backoff: float = 2.0  # seconds before the second attempt, doubled for each further one
    patience: float = 60.0  # a longer wait ends the run, to be resumed then


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Where a crawl ends."""

    pages: int = 10_000
    depth: int = 20
    bytes: int = 2 * 2**30
    redirects: int = 5  # one after another
    links: int = 5_000  # taken from one page
    alike: int = 2_000  # addresses that differ only in numbers or query values


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """A crawl: where it starts, what belongs to it, how far and how fast it goes.

    Without `prefixes` the folder of each start is the scope; `include` and `exclude` come on top of those
    of the profile.
    """

    starts: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    profile: SiteProfile = GENERIC
    pace: Pace = field(default_factory=Pace)
    limits: CrawlLimits = field(default_factory=CrawlLimits)
    robots: bool = True


class Scope:
    """Decides which addresses belong to a crawl."""

    def __init__(self, plan: CrawlPlan) -> None:
        self._profile = plan.profile
        self.starts = tuple(self._start(text) for text in plan.starts)
        self._prefixes = tuple(_prefixes(self.starts, plan))
        self._include = _Globs((*plan.profile.include, *plan.include))
        self._exclude = _Globs((*plan.profile.exclude, *plan.exclude))

    def canonical(self, text: str, base: str | None = None) -> str | None:
        """The one spelling of an address on this site."""
        return canonical_url(text, base, drop=self._profile.drop_query, index=self._profile.index_names)

    def objection(self, url: str) -> str | None:
        """Why a canonical address does not belong to the crawl; None when it does."""
        place = place_of(url)
        if not any(place == prefix.rstrip("/") or place.startswith(prefix) for prefix in self._prefixes):
            return "out of scope"
        if self._exclude.fit(url):
            return "excluded"
        if self._include.any and url not in self.starts and not self._include.fit(url):
            return "not included"
        return "circular path" if circular(url) else None

    def _start(self, text: str) -> str:
        url = self.canonical(text if "://" in text else f"https://{text}")
        if url is None:
            raise InvalidInput(
                f"{text[:200]!r} is not an address to start at.", remedy="Write it like https://host/docs/."
            )
        return url


def _prefixes(starts: tuple[str, ...], plan: CrawlPlan) -> Iterable[str]:
    """Places under which everything belongs to the crawl; each ends at a border of the path."""
    for text in plan.prefixes:
        url = canonical_url(text)
        if url is None:
            raise InvalidInput(f"{text[:200]!r} is not a prefix.", remedy="Write it like https://host/docs/.")
        yield place_of(url).rstrip("/") + "/"
    for start in () if plan.prefixes else starts:
        if path_of(start) == "/" and plan.profile.prefixes:
            yield from (place_of(start).rstrip("/") + prefix for prefix in plan.profile.prefixes)
            continue
        folder, _, name = place_of(start).partition("?")[0].rpartition("/")
        # A last part with a dot is a file in its folder; without one it is a folder itself.
        yield f"{folder}/" if "." in name or not name else f"{folder}/{name}/"


class _Globs:
    """Many patterns as two: one over paths, one over whole places."""

    def __init__(self, globs: tuple[str, ...]) -> None:
        self.any = bool(globs)
        self._paths = _either(glob for glob in globs if glob.startswith("/"))
        self._places = _either(glob for glob in globs if not glob.startswith("/"))

    def fit(self, url: str) -> bool:
        return bool(self._paths.match(path_of(url)) or self._places.match(place_of(url)))


def _either(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(glob) for glob in globs) or r"(?!)")
