"""Reading sites: which pages there are, what each says about itself, and what was fetched of them."""

from kosmos.crawl.analysis import CrawlReport, analyse
from kosmos.crawl.crawler import CrawlEnd, crawl
from kosmos.crawl.frontier import Frontier, MemoryFrontier
from kosmos.crawl.pages import Kind, Page, PageResult, State
from kosmos.crawl.picture import draw
from kosmos.crawl.plans import CrawlLimits, CrawlPlan, Pace
from kosmos.crawl.profiles import GENERIC, KUBERNETES, PROFILES, SiteProfile, labels_of, profile_for

__all__ = [
    "GENERIC",
    "KUBERNETES",
    "PROFILES",
    "CrawlEnd",
    "CrawlLimits",
    "CrawlPlan",
    "CrawlReport",
    "Frontier",
    "Kind",
    "MemoryFrontier",
    "Pace",
    "Page",
    "PageResult",
    "SiteProfile",
    "State",
    "analyse",
    "crawl",
    "draw",
    "labels_of",
    "profile_for",
]
