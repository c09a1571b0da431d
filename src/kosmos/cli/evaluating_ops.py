"""`kosmos eval ops`: how well the operations agent does."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kosmos.cli.output import AsJson, console, show

if TYPE_CHECKING:
    from kosmos.agents.loop import Infer
    from kosmos.eval.ops import CaseResult


def eval_ops(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Holds the *.jsonl files.")] = Path(),
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Of the model; none: commands only.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="Its name.")] = "model",
    key_env: Annotated[
        str | None, typer.Option("--key-env", help="Environment variable with its key.")
    ] = None,
    only: Annotated[str, typer.Option("--only", help="Cases whose id contains this.")] = "",
    tries: Annotated[int, typer.Option("--tries", min=1, max=20, help="How often each case is tried.")] = 3,
    language: Annotated[str, typer.Option("--language", help="Of prompts: auto, zh or en.")] = "auto",
    seconds: Annotated[float, typer.Option("--timeout", help="Silence of the model allowed.")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Policy questions over manifests and recorded investigations: pass@1 and pass^k; the risk engine too."""
    from kosmos.eval import ops

    results: list[CaseResult] = []
    if base_url is not None:
        infer = _model(base_url, model, os.environ.get(key_env, "") if key_env else None, seconds)
        cases = [case for case in ops.read_cases(folder) if only in case.id]
        results = asyncio.run(_try_all(cases, infer, tries, language))
    risk = ops.judge_commands(folder / "kubectl_commands.jsonl")
    report = {"summary": ops.summary(results), "results": results, "risk": risk}
    show(report, as_json, lambda: _show(report))


async def _try_all(cases: Any, infer: "Infer", tries: int, language: str) -> "list[CaseResult]":
    from kosmos.eval import ops

    return [
        ops.CaseResult(
            case.id,
            case.kind,
            tuple([await ops.try_case(case, infer, language=language) for _ in range(tries)]),
        )
        for case in cases
    ]


def _model(base_url: str, name: str, key: str | None, seconds: float) -> "Infer":
    from kosmos.domain.clock import system_clock
    from kosmos.domain.credentials import Credential, CredentialType
    from kosmos.llm.inference import Patience, infer
    from kosmos.llm.streaming import Model

    now = system_clock()
    credential = Credential(
        id="",
        owner_id=None,
        name=name,
        type=CredentialType.LLM,
        base_url=base_url,
        model=name,
        options={},
        is_default=False,
        has_key=key is not None,
        key_id=None,
        created_at=now,
        updated_at=now,
    )
    return lambda inquiry: infer([Model(credential, key)], inquiry, Patience(seconds))


def _show(report: Any) -> None:
    out = console()
    for result in report["results"]:
        marks = "".join("+" if trial.passed else "-" for trial in result.trials)
        out.print(f"{marks}  {result.id}", markup=False)
    for kind, row in report["summary"].items():
        told = "  ".join(f"{name} {value:.2f}".rstrip("0").rstrip(".") for name, value in row.items())
        out.print(f"{kind}: {told}")
    risk = report["risk"]
    out.print(f"commands: {risk.caught} of {risk.mutating} that modify something are HIGH or more; "
              f"{risk.low} of {risk.reading} others are below")  # fmt: skip
    for line in risk.wrong:
        out.print(f"  wrong: {line}", markup=False)
