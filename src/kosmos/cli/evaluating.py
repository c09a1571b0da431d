"""Commands that measure: how well a space answers questions whose answers are known."""

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show
from kosmos.cli.session import with_app
from kosmos.errors import InvalidInput

if TYPE_CHECKING:
    from kosmos.app import App
    from kosmos.domain.accounts import Principal
    from kosmos.eval.retrieval import Report
    from kosmos.eval.retrieval_metrics import Difference
    from kosmos.eval.retrieval_run import Measured
    from kosmos.eval.retrieval_sets import RetrievalSet
    from kosmos.eval.retrieval_tuning import Tuned

group = typer.Typer(help="Measure how well questions are answered.", no_args_is_help=True)


@group.callback()
def about() -> None:
    """Measure how well questions are answered."""


@group.command("retrieval")
def retrieval(
    source: Annotated[
        Path, typer.Argument(metavar="FOLDER|FILE", help="A BEIR folder, or a JSONL file of questions.")
    ],
    space: Annotated[
        str, typer.Option("--space", help="Whose documents a file of questions is about.")
    ] = "default",
    field: Annotated[
        list[str] | None, typer.Option("--field", help="Field of the file that holds a question.")
    ] = None,
    split: Annotated[str, typer.Option("--split", help="Which qrels of a folder: test or dev.")] = "test",
    against: Annotated[
        list[str] | None,
        typer.Option("--against", help="KEY=VALUE: compare with that setting, as fusion=rrf."),
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Seek better settings for these questions.")] = False,
    save: Annotated[
        bool, typer.Option("--save", help="With --tune: give the space the settings, if they are better.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure nDCG@10, Recall@100, Hit@5 and MRR@10 with intervals, and compare with the last run."""
    from kosmos.eval.retrieval_sets import read_set

    given = read_set(source, fields=field or (), split=split)

    other = _settings(against or [])

    async def work(app: "App", who: "Principal") -> "Measured":
        return await _measure(app, who, given, space=space, other=other, tune=tune, save=save)

    found = with_app(work)
    show(found, as_json, lambda: _show(found))


async def _measure(
    app: "App",
    who: "Principal",
    given: "RetrievalSet",
    *,
    space: str,
    other: dict[str, Any],
    tune: bool,
    save: bool,
) -> "Measured":
    from kosmos.accounts.access import resolve_space
    from kosmos.accounts.spaces import change_space
    from kosmos.cli.progress import progress_bar
    from kosmos.domain.accounts import Role
    from kosmos.eval.retrieval_run import Plan, run_evaluation
    from kosmos.retrieval.indexing import collection_of
    from kosmos.retrieval.tuning import KEY, read_tuning

    bench = app.bench
    async with bench.db.read() as conn:
        own = (await resolve_space(conn, who, space, need=Role.OWNER if save else Role.VIEWER)).space
    settings = own.settings if given.corpus is None else {}
    changed = {KEY: {**settings.get(KEY, {}), **other}} if other else None
    plan = Plan(
        given,
        collection=collection_of(own.id) if given.corpus is None else None,
        tuning=read_tuning(settings),
        other=read_tuning(changed) if changed else None,
        tune=tune,
        folder=app.settings.home / "evals",
    )
    with progress_bar("asking", quiet=False) as step:
        found = await run_evaluation(plan, bench.store, bench.encoder, now=bench.clock(), on_step=step)
    if save and found.tuned is not None and found.tuned.worth_it and given.corpus is None:
        changes = {"settings": {**own.settings, KEY: found.tuned.tuning.as_settings()}}
        async with bench.db.write() as conn:
            await change_space(conn, who, own.id, changes=changes, now=bench.clock())
    return found


def _settings(given: list[str]) -> dict[str, Any]:
    """Settings from KEY=VALUE; `same.vector=0` names a weight."""
    import json

    settings: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidInput(f"--against takes KEY=VALUE, not {text!r}.", remedy="As --against fusion=rrf")
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        outer, dot, inner = key.partition(".")
        if dot:
            settings.setdefault(outer, {})[inner] = parsed
        else:
            settings[key] = parsed
    return settings


def _show(found: "Measured") -> None:
    out = console()
    out.print(f"{found.name}: {found.report.questions} questions", style="bold")
    _show_report(found.report)
    for warning in found.report.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    if found.since_last is not None:
        _show_differences("against the last run", found.since_last)
    if found.difference is not None and found.other_report is not None:
        out.print(f"against {found.other}:")
        _show_report(found.other_report)
        _show_differences("difference", found.difference)
    if found.tuned is not None:
        _show_tuned(found.tuned, found.tuning)


def _show_report(report: "Report") -> None:
    out = console()
    for label, means in [("all", report.overall), *report.languages.items()]:
        cells = [f"{name} {mean.value:.3f} [{mean.low:.3f}, {mean.high:.3f}]" for name, mean in means.items()]
        out.print(f"  {label:4}" + "  ".join(cells))


def _show_differences(label: str, changes: "Mapping[str, Difference]") -> None:
    out = console()
    for name, change in changes.items():
        out.print(
            f"  {label}: {name} {change.value:+.3f} [{change.low:+.3f}, {change.high:+.3f}], "
            f"p {change.p:.2f}, {change.better} better, {change.worse} worse"
        )


def _show_tuned(tuned: "Tuned", before: Mapping[str, Any]) -> None:
    out = console()
    gain = tuned.gain
    out.print(
        f"tuned on half of the questions; on the other half nDCG@10 changes by {gain.value:+.3f} "
        f"[{gain.low:+.3f}, {gain.high:+.3f}]"
    )
    changed = {key: value for key, value in asdict(tuned.tuning).items() if before.get(key) != value}
    out.print(f"  retrieval settings: {changed}" if changed else "  nothing better was found")
