"""Routes: crawls of sites, and what they found out."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from kosmos.api.callers import Caller, Id, TheApp
from kosmos.api.crawl_shapes import CrawlIn, CrawlOut, CrawlReportOut, StartedCrawlOut
from kosmos.api.shapes import Page
from kosmos.crawl import draw
from kosmos.tasks import crawls
from kosmos.tasks.crawl_plans import make_plan

router = APIRouter(prefix="/crawls", tags=["crawls"])
SVG = "image/svg+xml"
# A picture made from what strangers wrote must not do anything, whoever opens it.
_INERT = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}


@router.get("")
async def list_crawls(
    app: TheApp,
    who: Caller,
    space_id: Annotated[str | None, Query(pattern=r"^[0-9a-zA-Z-]{1,36}$")] = None,
) -> Page[CrawlOut]:
    """The crawls of a space, or of all your spaces."""
    found = await crawls.list_crawls(app.bench, who, space_id)
    return Page(items=[CrawlOut.of(view) for view in found])


@router.post("", status_code=201)
async def start_crawl(app: TheApp, who: Caller, form: CrawlIn) -> StartedCrawlOut:
    """Crawl a site; one that was crawled before gets another round. Editors only."""
    plan = make_plan(form.wish())
    return StartedCrawlOut.of(await crawls.start_crawl(app.bench, who, form.space_id, plan))


@router.get("/{crawl_id}")
async def get_crawl(app: TheApp, who: Caller, crawl_id: Id) -> CrawlReportOut:
    """One crawl with its report: pages, depths, status codes, sizes, broken links, duplicates."""
    return CrawlReportOut.with_report(*await crawls.report_crawl(app.bench, who, crawl_id))


@router.get("/{crawl_id}/picture", response_class=Response, responses={200: {"content": {SVG: {}}}})
async def get_crawl_picture(app: TheApp, who: Caller, crawl_id: Id) -> Response:
    """The report as a picture."""
    _, report = await crawls.report_crawl(app.bench, who, crawl_id)
    return Response(draw(report), media_type=SVG, headers=_INERT)
