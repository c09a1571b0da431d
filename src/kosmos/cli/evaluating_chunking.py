"""`kosmos eval chunking`: how good chunks are, in numbers that can be compared with others."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kosmos.cli.output import AsJson, console, show

if TYPE_CHECKING:
    from kosmos.eval.chunking import Score
    from kosmos.eval.chunking_run import Report, Row


def eval_chunking(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Holds questions.jsonl and its corpora.")
    ] = Path(),
    encoder: Annotated[
        Path | None, typer.Option("--encoder", help="Folder of a sentence encoder, for routes by vectors.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="Answers for the indexer instead of those shipped.")
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, max=100, help="How many pieces are found.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Compare chunkers: recall, precision and IoU of the best pieces, and the tokens a model takes."""
    from kosmos.config import load_settings
    from kosmos.eval.chunking import read_chunking_set
    from kosmos.eval.chunking_answers import read_answers
    from kosmos.eval.chunking_cuts import cut_all, routes_with
    from kosmos.eval.chunking_encoder import open_encoder
    from kosmos.eval.chunking_run import compare
    from kosmos.eval.results import keep_result

    data = read_chunking_set(folder)
    routes = routes_with(open_encoder(encoder) if encoder else None)
    cuts, missing = cut_all(data.corpora, read_answers(answers))
    report = compare(data, cuts, routes, k=k, missing=missing)
    keep_result(load_settings().home / "evals", f"chunking {folder.name}", asdict(report), datetime.now(UTC))
    show(report, as_json, lambda: _show_report(report))


def _show_report(report: "Report") -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    routes = list(report.beaten)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(["chunker", "pieces", "chars", *routes, "tokens in", "tokens out"]):
        table.add_column(name, justify="right" if at else "left", no_wrap=True)
    for row in report.rows:
        table.add_row(*map(Text, _cells(row, routes)))
    out.print(f"recall / precision / IoU of the {report.k} best pieces, in percent")
    out.print(table)
    out.print("tokens in, out: what a model reads and writes for 1,000 tokens of text")
    for route, worse in report.beaten.items():
        verdict = "; ".join(worse) or "no peer has both a higher recall and a higher IoU than structure"
        out.print(f"by {route}: {verdict}")
    for reason in report.missing:
        out.print(f"not measured: {reason}")


def _cells(row: "Row", routes: list[str]) -> list[str]:
    scores = [_percent(row.scores[route]) for route in routes]
    spent = [f"{count:.0f}" if count else "-" for count in (row.tokens_in, row.tokens_out)]
    return [row.label, str(row.pieces), f"{row.mean_chars:.0f}", *scores, *spent]


def _percent(score: "Score") -> str:
    return f"{100 * score.recall:.1f} / {100 * score.precision:.1f} / {100 * score.iou:.1f}"
