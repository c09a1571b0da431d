"""The command that searches, with all that a search can be told."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show
from kosmos.cli.session import with_app
from kosmos.errors import InvalidInput

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.domain.answers import Findings, SearchHit
    from kosmos.retrieval.conditions import Conditions

_FILTERS = "Filters"
_RANKING = "Ranking"


def register(app: typer.Typer) -> None:
    """Add the command that stands at the top level."""
    app.command()(search)


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in Chinese or English.")],
    space: Annotated[
        list[str] | None, typer.Option("--space", help="Only in this space; may be repeated. Default: all.")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="How many results.")] = 5,
    offset: Annotated[int, typer.Option("--offset", help="Pass over so many results.")] = 0,
    group: Annotated[bool, typer.Option("--group", help="Show each document once.")] = False,
    neighbours: Annotated[
        int, typer.Option("--neighbours", help="Show so many chunks before and after each result.")
    ] = 0,
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--doc", help="Only this document (id or name); may be repeated.", rich_help_panel=_FILTERS
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", help="content, heading or error. Default: content.", rich_help_panel=_FILTERS),
    ] = None,
    level: Annotated[
        list[int] | None, typer.Option("--level", help="Level of headings.", rich_help_panel=_FILTERS)
    ] = None,
    path: Annotated[
        str, typer.Option("--path", help="Sources that begin so.", rich_help_panel=_FILTERS)
    ] = "",
    heading: Annotated[
        str, typer.Option("--heading", help="Below headings like `Setup > Linux`.", rich_help_panel=_FILTERS)
    ] = "",
    since: Annotated[
        str, typer.Option("--since", help="Changed on that day or later.", rich_help_panel=_FILTERS)
    ] = "",
    until: Annotated[
        str, typer.Option("--until", help="Changed on that day or earlier.", rich_help_panel=_FILTERS)
    ] = "",
    language: Annotated[
        str | None, typer.Option("--language", help="zh or en.", rich_help_panel=_FILTERS)
    ] = None,
    page: Annotated[
        str, typer.Option("--page", help="A page or pages, as 3 or 3-7.", rich_help_panel=_FILTERS)
    ] = "",
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", help="KEY=VALUE that the document declares.", rich_help_panel=_FILTERS),
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Least similarity, 0 to 1.", rich_help_panel=_RANKING)
    ] = 0.0,
    route: Annotated[
        list[str] | None,
        typer.Option(
            "--route",
            help="ROUTE=WEIGHT, as vector=0; may be repeated.",
            rich_help_panel=_RANKING,
        ),
    ] = None,
    fusion: Annotated[
        str | None, typer.Option("--fusion", help="weighted or rrf.", rich_help_panel=_RANKING)
    ] = None,
    rerank: Annotated[
        str | None,
        typer.Option("--rerank", help="none, auto, endpoint, model or local.", rich_help_panel=_RANKING),
    ] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Let a model rephrase the question.", rich_help_panel=_RANKING)
    ] = False,
    walk: Annotated[
        bool,
        typer.Option("--walk", help="Go on to parents, siblings and links.", rich_help_panel=_RANKING),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say how each score came about.", rich_help_panel=_RANKING)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the chunks that fit best."""
    from kosmos.retrieval.conditions import Conditions
    from kosmos.retrieval.search import Wanted
    from kosmos.tasks import asking

    where = Conditions(
        types=tuple(kind or ()),
        levels=tuple(level or ()),
        path=path,
        heading=heading,
        since=since,
        until=until,
        languages=(language,) if language else (),
        metadata=dict(_pair(text, "--meta") for text in meta or ()),
        pages=_pages(page),
    )
    wanted = Wanted(
        query,
        k=k,
        offset=offset,
        threshold=threshold,
        routes=_weights(route or []),
        fusion=fusion,
        rerank=rerank,
        grouped=group,
        neighbours=neighbours,
        walk=walk,
        rewrite=rewrite,
        explain=explain,
    )

    async def work(app: "App", who: "Principal") -> "Findings":
        from dataclasses import replace

        space_ids, narrowed = await _resolve(app, who, space or [], documents=document or [], where=where)
        return await asking.find(app.bench, who, replace(wanted, where=narrowed), space_ids=space_ids)

    found = with_app(work)
    for warning in found.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    show(found.hits, as_json, lambda: _show_hits(found.hits))


async def _resolve(
    app: "App", who: "Principal", spaces: list[str], *, documents: list[str], where: "Conditions"
) -> tuple[list[str] | None, "Conditions"]:
    """Ids for names of spaces and documents."""
    from dataclasses import replace

    from kosmos.accounts.access import resolve_space
    from kosmos.tasks.documents import find_document

    one = spaces[0] if len(spaces) == 1 else None
    found = [await find_document(app.bench, who, name, space=one) for name in documents]
    async with app.bench.db.read() as conn:
        ids = [(await resolve_space(conn, who, name)).space.id for name in spaces]
    ids = ids or list(dict.fromkeys(document.space_id for document in found))
    return ids or None, replace(where, document_ids=tuple(document.id for document in found))


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidInput(f"{option} takes KEY=VALUE, not {text!r}.", remedy=f"As {option} author=Li")
    return key, value


def _weights(given: list[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for text in given:
        name, value = _pair(text, "--route")
        try:
            weights[name] = float(value)
        except ValueError:
            raise InvalidInput(f"{value!r} is no weight.", remedy="As --route vector=0.5") from None
    return weights


def _pages(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise InvalidInput(f"{text!r} is no page.", remedy="As --page 3 or --page 3-7")
    return int(first), int(last or first)


def _show_hits(hits: "tuple[SearchHit, ...]") -> None:
    out = console()
    if not hits:
        out.print("nothing found")
    for rank, hit in enumerate(hits, start=1):
        page = f"  page {hit.page}" if hit.page is not None else ""
        more = f"  and {hit.more} more" if hit.more else ""
        head = f"{rank}. {hit.source}:{hit.start_line}-{hit.end_line}{page}  score {hit.score:.3f}{more}"
        out.print(head, style="bold")
        if hit.reason:
            out.print(f"   {hit.origin}: {hit.reason}")
        for line in [line for line in hit.text.split("\n") if line.strip()][:4]:
            out.print(f"   {line}")
        for beside in hit.neighbours:
            out.print(f"   beside: {beside.start_line}-{beside.end_line}")
        if hit.explain is not None:
            _show_explanation(hit.explain)


def _show_explanation(why: Any) -> None:
    out = console()
    scale = f"   scale {why['scale']:.4f}" + (f", rrf_k {why['rrf_k']:g}" if "rrf_k" in why else "")
    out.print(f"{scale}; question {why['question_language']}, text {why['text_language']}")
    for name, place in why["routes"].items():
        out.print(
            f"   {name}: rank {place['rank']}, score {place['score']:.4f} in {place['low']:.4f}.."
            f"{place['high']:.4f}, weight {place['weight']:g} -> {place['part']:.4f}"
        )
        for term in place.get("terms", [])[:8]:
            out.print(
                f"      {term['term']}: {term['question']:.3f} × {term['text']:.3f} = {term['product']:.3f}"
            )
    for rise in why["rises"]:
        pairs = zip(rise["weights"], rise["scores"], strict=True)
        sums = " + ".join(f"{weight:.3f} × {score:.4f}" for weight, score in pairs)
        out.print(f"   {rise['kind']}: {sums} -> {rise['part']:.4f}")
    out.print(f"   sum {why['fused']:.4f}")
    if "rerank" in why:
        out.print(f"   rerank {json.dumps(why['rerank'])}")
