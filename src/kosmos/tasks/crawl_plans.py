"""What a crawl is asked to do: as people ask, as the crawler wants it, and as it is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from urllib.parse import urljoin

from kosmos.crawl import PROFILES, CrawlLimits, CrawlPlan, Pace, SiteProfile, profile_for
from kosmos.crawl.plans import Scope
from kosmos.domain.values import check_text
from kosmos.errors import InvalidInput

MAX_URL = 2000
MAX_PATTERNS = 100
MAX_PATTERN = 500
MAX_PAGES = 100_000
MAX_DEPTH = 100
MAX_DELAY = 600.0
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class CrawlWish:
    """What somebody asks for; None means the usual. Prefixes may be paths of the same site."""

    url: str
    prefixes: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    profile: str | None = None
    max_pages: int | None = None
    max_depth: int | None = None
    delay: float | None = None


def make_plan(wish: CrawlWish) -> CrawlPlan:
    """The plan of a wish, or InvalidInput with what is wrong in it."""
    check_text(wish.url, what="address", most=MAX_URL)
    for texts in (wish.prefixes, wish.include, wish.exclude):
        _check_patterns(texts)
    (start,) = Scope(CrawlPlan((wish.url,))).starts
    limits, pace = CrawlLimits(), Pace()
    plan = CrawlPlan(
        starts=(start,),
        prefixes=tuple(urljoin(start, text) for text in wish.prefixes),
        include=wish.include,
        exclude=wish.exclude,
        profile=profile_for(start) if wish.profile is None else _profile(wish.profile),
        limits=CrawlLimits(
            pages=_within(wish.max_pages, limits.pages, least=1, most=MAX_PAGES, what="number of pages"),
            depth=_within(wish.max_depth, limits.depth, least=0, most=MAX_DEPTH, what="depth"),
        ),
        pace=Pace(delay=_within(wish.delay, pace.delay, least=0.0, most=MAX_DELAY, what="delay")),
    )
    Scope(plan)  # says what is wrong with the prefixes
    return plan


def plan_as_json(plan: CrawlPlan) -> dict[str, Any]:
    """A plan as it is stored. Whether robots.txt is obeyed is no matter of choice."""
    data = asdict(plan)
    del data["robots"]
    return data | {"profile": plan.profile.name}


def plan_of_json(data: Mapping[str, Any]) -> CrawlPlan:
    """A plan as it was stored."""
    return CrawlPlan(
        starts=tuple(data["starts"]),
        prefixes=tuple(data["prefixes"]),
        include=tuple(data["include"]),
        exclude=tuple(data["exclude"]),
        profile=_profile(data["profile"]),
        pace=Pace(**data["pace"]),
        limits=CrawlLimits(**data["limits"]),
    )


def _profile(name: str) -> SiteProfile:
    if name not in PROFILES:
        raise InvalidInput(
            f"There is no site profile {name[:100]!r}.", remedy=f"Use one of: {', '.join(PROFILES)}."
        )
    return PROFILES[name]


def _check_patterns(texts: Sequence[str]) -> None:
    if len(texts) > MAX_PATTERNS:
        raise InvalidInput(f"At most {MAX_PATTERNS} patterns can be given.", remedy="Give fewer.")
    for text in texts:
        check_text(text, what="pattern", most=MAX_PATTERN)


def _within(given: N | None, usual: N, *, least: N, most: N, what: str) -> N:
    if given is None:
        return usual
    if not least <= given <= most:
        raise InvalidInput(f"The {what} must lie within {least:g} and {most:g}.", remedy=f"Usual: {usual:g}.")
    return given
