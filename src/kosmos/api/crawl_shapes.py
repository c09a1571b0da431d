"""The forms in which crawls enter and leave over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from kosmos.api.job_shapes import AnId, JobOut
from kosmos.api.shapes import Form, Shape
from kosmos.crawl import CrawlReport
from kosmos.tasks.crawl_plans import (
    MAX_DELAY,
    MAX_DEPTH,
    MAX_PAGES,
    MAX_PATTERN,
    MAX_PATTERNS,
    MAX_URL,
    CrawlWish,
)
from kosmos.tasks.crawls import CrawlView, Started

Address = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATTERN)]


class CrawlIn(Form):
    """A site to crawl into a space."""

    space_id: AnId
    url: Address = Field(examples=["https://kubernetes.io/docs/"], description="Where to start.")
    prefixes: list[Pattern] = Field(
        default=[],
        max_length=MAX_PATTERNS,
        description="What belongs to the crawl. Default: the folder of the start.",
    )
    include: list[Pattern] = Field(default=[], max_length=MAX_PATTERNS, examples=[["/docs/concepts/*"]])
    exclude: list[Pattern] = Field(default=[], max_length=MAX_PATTERNS, examples=[["*/release-notes/*"]])
    profile: str | None = Field(default=None, description="How to read the site. Default: by its host.")
    max_pages: int | None = Field(default=None, ge=1, le=MAX_PAGES)
    max_depth: int | None = Field(default=None, ge=0, le=MAX_DEPTH)
    delay: float | None = Field(
        default=None,
        ge=0,
        le=MAX_DELAY,
        description="Seconds between two requests; robots.txt can ask for more.",
    )

    def wish(self) -> CrawlWish:
        """As the tasks want it."""
        lists = {name: tuple(getattr(self, name)) for name in ("prefixes", "include", "exclude")}
        return CrawlWish(**{**self.model_dump(exclude={"space_id"}), **lists})


class CrawlOut(Shape):
    """A site that a space follows, with the newest job that crawls it."""

    id: str
    space_id: str
    start: str
    plan: Mapping[str, Any]
    round: int
    created_at: datetime
    updated_at: datetime
    job: JobOut | None

    @classmethod
    def of(cls, view: CrawlView) -> "CrawlOut":
        """From a crawl and its job."""
        return cls(**_fields(view))


class StartedCrawlOut(Shape):
    """A crawl that was asked for. `existing`: it was waiting or running already, by the plan it had."""

    crawl: CrawlOut
    job: JobOut
    existing: bool

    @classmethod
    def of(cls, started: Started) -> "StartedCrawlOut":
        """From what was started."""
        crawl = CrawlOut.of(CrawlView(started.crawl, started.job))
        return cls(crawl=crawl, job=JobOut.model_validate(started.job), existing=started.existing)


class CrawlReportOut(CrawlOut):
    """A crawl with what it has found out about its site so far."""

    report: CrawlReport

    @classmethod
    def with_report(cls, view: CrawlView, report: CrawlReport) -> "CrawlReportOut":
        """From a crawl and its report."""
        return cls(**_fields(view), report=report)


def _fields(view: CrawlView) -> dict[str, Any]:
    crawl = view.crawl
    return {
        "id": crawl.id,
        "space_id": crawl.space_id,
        "start": crawl.start,
        "plan": crawl.plan,
        "round": crawl.round,
        "created_at": crawl.created_at,
        "updated_at": crawl.updated_at,
        "job": JobOut.model_validate(view.job) if view.job else None,
    }
