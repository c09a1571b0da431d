"""Commands on papers: add, list, summarise, survey, review, ask, export."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.documents import InSpace, Producer, add
from kosmos.cli.output import AsJson, show, show_rows
from kosmos.cli.session import with_app

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.tasks.papers import PaperRow
    from kosmos.tasks.run_wishes import RunWish

group = typer.Typer(help="Papers: summaries, surveys, reviews, questions.", no_args_is_help=True)
ASSISTANT = "literature assistant"
Papers = Annotated[
    list[str] | None,
    typer.Argument(metavar="PAPER...", help="Names or ids of documents. Default: all of the space."),
]
OnePaper = Annotated[str, typer.Argument(metavar="PAPER", help="Name or id of a document.")]
Agent = Annotated[str, typer.Option("--agent", help="An agent whose workflow is literature.")]
Wanted = Annotated[str | None, typer.Option("--request", help="What is wanted, in your own words.")]
Chinese = Annotated[bool, typer.Option("--chinese", help="Ask in Chinese where no words are given.")]
Refresh = Annotated[bool, typer.Option("--refresh", help="Make all summaries anew.")]
Thinking = Annotated[bool, typer.Option("--thinking", help="Show what the model thinks.")]
Window = Annotated[int | None, typer.Option("--max-context-tokens", help="Size of the model's window.")]
_ASKED = {
    "LITERATURE_SUMMARY": ("Summarise what these papers say.", "请总结这些论文。"),
    "REVIEW_GENERATION": ("Write a literature review of these papers.", "请根据这些论文写一篇文献综述。"),
    "PAPER_REVIEW": ("Review this paper.", "请评审这篇论文。"),
}


@group.command("add")
def add_papers(
    sources: Annotated[
        list[str], typer.Argument(metavar="PATH|URL...", help="Files, folders or addresses of papers.")
    ],
    space: InSpace = "default",
    producer: Producer = None,
    as_json: AsJson = False,
) -> None:
    """Add papers to a space. Title, authors, year and DOI are read from them."""
    add(sources, space=space, producer=producer, as_json=as_json)


@group.command("list")
def list_papers(space: InSpace = "default", as_json: AsJson = False) -> None:
    """List the papers of a space with what they say about themselves."""
    from kosmos.tasks import papers

    async def work(app: "App", who: "Principal") -> "list[PaperRow]":
        return await papers.list_papers(app.bench, who, space)

    show_rows(
        with_app(work),
        as_json,
        {
            "source": lambda item: item.source,
            "title": lambda item: item.title,
            "authors": lambda item: ", ".join(item.authors[:3]) + ("…" if len(item.authors) > 3 else ""),
            "year": lambda item: item.year or "",
            "doi": lambda item: item.doi,
            "status": lambda item: item.status,
        },
    )


@group.command("export")
def export(papers: Papers = None, space: InSpace = "default", as_json: AsJson = False) -> None:
    """Print papers as BibTeX."""
    from kosmos.tasks.papers import export_bibtex

    async def work(app: "App", who: "Principal") -> str:
        return await export_bibtex(app.bench, who, space, papers or ())

    text = with_app(work)
    show({"bibtex": text}, as_json, lambda: _print(text))


@group.command("summarize")
def summarize(
    papers: Papers = None,
    space: InSpace = "default",
    request: Wanted = None,
    chinese: Chinese = False,
    refresh: Refresh = False,
    window: Window = None,
    agent: Agent = ASSISTANT,
    thinking: Thinking = False,
    as_json: AsJson = False,
) -> None:
    """Summarise one paper, or several together."""
    question = request or _ASKED["LITERATURE_SUMMARY"][chinese]
    wish = {"mode_type": "LITERATURE_SUMMARY", "refresh_summary_cache": refresh}
    _ask(question, papers or [], wish, _Manner(space, agent, window, thinking, as_json))


@group.command("survey")
def survey(
    papers: Papers = None,
    space: InSpace = "default",
    request: Wanted = None,
    chinese: Chinese = False,
    refresh: Refresh = False,
    window: Window = None,
    agent: Agent = ASSISTANT,
    thinking: Thinking = False,
    as_json: AsJson = False,
) -> None:
    """Write a literature review of papers: ideas, a comparing table, agreement, gaps, references."""
    question = request or _ASKED["REVIEW_GENERATION"][chinese]
    wish = {"mode_type": "REVIEW_GENERATION", "refresh_summary_cache": refresh}
    _ask(question, papers or [], wish, _Manner(space, agent, window, thinking, as_json))


@group.command("review")
def review(
    paper: OnePaper,
    space: InSpace = "default",
    request: Wanted = None,
    chinese: Chinese = False,
    window: Window = None,
    agent: Agent = ASSISTANT,
    thinking: Thinking = False,
    as_json: AsJson = False,
) -> None:
    """Review a paper as a referee does: summary, strengths, weaknesses, questions, rating."""
    question = request or _ASKED["PAPER_REVIEW"][chinese]
    wish = {"mode_type": "PAPER_REVIEW"}
    _ask(question, [paper], wish, _Manner(space, agent, window, thinking, as_json))


@group.command("ask")
def ask(
    question: Annotated[str, typer.Argument(help="A question in Chinese or English.")],
    papers: Annotated[
        list[str] | None, typer.Option("--paper", help="Only this paper, by name or id. May be repeated.")
    ] = None,
    space: InSpace = "default",
    window: Window = None,
    agent: Agent = ASSISTANT,
    thinking: Thinking = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from papers; what is wanted is recognised."""
    _ask(question, papers or [], {}, _Manner(space, agent, window, thinking, as_json))


@dataclass(frozen=True, slots=True)
class _Manner:
    """Where to look, whom to ask, and what to show."""

    space: str
    agent: str
    window: int | None
    thinking: bool
    as_json: bool


def _ask(question: str, papers: list[str], wanted: "Mapping[str, Any]", manner: _Manner) -> None:
    """Ask in a session of its own, and show what comes."""
    from kosmos.cli.talking import show_citations, show_doubts, show_events
    from kosmos.domain.sessions import SessionOrigin
    from kosmos.tasks import runs, sessions

    async def work(app: "App", who: "Principal") -> "Mapping[str, Any]":
        wish = await _wish(app, who, question, papers, wanted=wanted, manner=manner)
        new = sessions.NewSession(agent=manner.agent, title=question[:60], origin=SessionOrigin.ASK)
        session = await sessions.create_session(app.bench, who, new)
        run = await runs.start_run(app.bench, who, session.id, wish)
        if not manner.as_json:
            events = runs.follow_run(app.bench, who, session.id, run.id)
            await show_events(events, as_json=False, thinking=manner.thinking)
        return await runs.collect_run(app.bench, who, session.id, run.id)

    answer = with_app(work)
    show(answer, manner.as_json, lambda: show_citations(answer["citations"]))
    if not manner.as_json:
        show_doubts(answer["claims"])


async def _wish(
    app: "App",
    who: "Principal",
    question: str,
    papers: list[str],
    *,
    wanted: "Mapping[str, Any]",
    manner: _Manner,
) -> "RunWish":
    from kosmos.agents.literature.intents import Intent
    from kosmos.tasks.literature_wishes import LiteratureWish
    from kosmos.tasks.papers import list_papers as rows_of
    from kosmos.tasks.run_models import ModelWish
    from kosmos.tasks.run_wishes import RunWish

    literature = LiteratureWish(
        doc_ids=tuple(row.id for row in await rows_of(app.bench, who, manner.space, papers)),
        mode_type=Intent(wanted["mode_type"]) if wanted else None,
        refresh_summary_cache=bool(wanted.get("refresh_summary_cache")),
    )
    return RunWish(question, ModelWish(max_context_tokens=manner.window), literature=literature)


def _print(text: str) -> None:
    sys.stdout.write(text)
