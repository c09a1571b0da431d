"""`kosmos documents cost`: what calls of models took, and what they would take."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.documents import Producer
from kosmos.cli.output import AsJson, console, show
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.ledger import Charge, Sum
    from kosmos.tasks.costing import Cost, Forecast

SHOWN = 20


def show_cost(
    document: Annotated[
        str | None,
        typer.Argument(help="Id of a document, or its name. Default: the whole space."),
    ] = None,
    space: Annotated[str | None, typer.Option("--space", help="Name or id of the space.")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="What chunking it again would take.")] = False,
    producer: Producer = None,
    calls: Annotated[bool, typer.Option("--calls", help="Every call about the document.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what models were paid for a document or a space: tokens in, cached and out, and the cost."""
    from kosmos.accounts.access import resolve_space
    from kosmos.tasks import costing
    from kosmos.tasks.documents import find_document

    async def work(app: "App", who: "Principal") -> "Cost | Forecast | list[Charge]":
        bench = app.bench
        if document is not None:
            found = await find_document(bench, who, document, space=space)
            if estimate:
                return await costing.foresee_document(bench, who, found.id, producer=producer)
            if calls:
                return await _all_calls(app, who, found.id)
            return await costing.document_cost(bench, who, found.id)
        async with bench.db.read() as conn:
            space_id = (await resolve_space(conn, who, space or "default")).space.id
        if estimate:
            return await costing.foresee_space(bench, who, space_id, producer=producer)
        return await costing.space_cost(bench, who, space_id)

    result = with_app(work)
    show(result, as_json, lambda: _show(result))


async def _all_calls(app: "App", who: "Principal", document_id: str) -> "list[Charge]":
    from kosmos.tasks.costing import list_calls

    found: list[Charge] = []
    while page := await list_calls(
        app.bench, who, document_id, after=found[-1].id if found else "", limit=1000
    ):
        found += page
    return found


def _show(result: Any) -> None:
    if isinstance(result, list):
        _show_calls(result)
    elif hasattr(result, "estimate"):
        _show_forecast(result)
    else:
        _show_cost(result)


def _show_cost(cost: "Cost") -> None:
    out = console()
    out.print(_summed(cost.sum))
    for line in cost.lines:
        out.print(f"  {line.purpose} by {line.model}: {_summed(line.sum)}")
    for item in cost.documents[:SHOWN]:
        out.print(f"  {item.source or 'removed documents'}: {_summed(item.sum)}")
    if len(cost.documents) > SHOWN:
        out.print(f"  … and {len(cost.documents) - SHOWN} more documents; --json lists all")


def _summed(sum_: "Sum") -> str:
    spent = sum_.spent
    unknown = f", {sum_.unpriced} calls without a price" if sum_.unpriced else ""
    cached = f" ({spent.cached_tokens:,} cached)" if spent.cached_tokens else ""
    tokens = f"{spent.prompt_tokens:,} tokens in{cached}, {spent.output_tokens:,} out"
    return f"{sum_.calls:,} calls, {tokens}, cost {spent.cost:.4f}{unknown}"


def _show_forecast(forecast: "Forecast") -> None:
    out, figures = console(), forecast.estimate
    if forecast.asked == 0:
        out.print(f"estimate for {forecast.documents:,} documents by {forecast.producer}: no model is asked")
        return
    cost = "unknown (no credential names prices)" if figures.cost is None else f"{figures.cost:.4f}"
    tokens = f"{figures.prompt_tokens:,} tokens in, {figures.output_tokens:,} out"
    by = f", by {figures.credential}" if figures.credential else ""
    asked = f"{forecast.asked:,} of {forecast.documents:,} documents"
    out.print(f"estimate for {asked} by {forecast.producer}: {tokens}, cost {cost}{by}")


def _show_calls(calls: "list[Charge]") -> None:
    out = console()
    for call in calls:
        lines = f" lines {call.start_line}-{call.end_line}" if call.start_line is not None else ""
        cost = "no price" if call.cost is None else f"cost {call.cost:.5f}"
        tokens = f"{call.prompt_tokens:,} in ({call.cached_tokens:,} cached), {call.output_tokens:,} out"
        out.print(f"{call.created_at:%Y-%m-%d %H:%M:%S} {call.purpose}{lines} {call.model}: {tokens}, {cost}")
    out.print(f"{len(calls):,} calls")
