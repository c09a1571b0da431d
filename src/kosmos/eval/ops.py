"""How well the operations agent does: policy questions over manifests, recorded investigations."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from kosmos.agents.loop import Infer
from kosmos.agents.react.checkpoints import Checkpoints
from kosmos.agents.react.kit import Kit, ReactLimits
from kosmos.agents.react.run import ReactRun
from kosmos.agents.sources import Sources
from kosmos.agents.thinking import answer_language
from kosmos.domain.events import EventType
from kosmos.errors import ConfigError, InvalidInput, KosmosError
from kosmos.eval.ops_cluster import FakeCluster
from kosmos.eval.ops_replay import Recording
from kosmos.risk import RiskLevel, assess_line
from kosmos.tools.contract import Tool, ToolOutput, make_tool
from kosmos.tools.registry import Toolbox
from kosmos.tools.reviewing import ARGV, PROGRAM

STEPS = 20
ROLE = "You look after Kubernetes clusters."
_TELLING = re.compile(r"`([^`]+)`|\b([\w./:-]*\d[\w./:-]*|[A-Z][A-Z_]{2,}|[a-z]+(?:-[a-z0-9]+)+)\b")
# Labelled otherwise where they come from, although they do modify something.
MISLABELLED = ("config set-context", "auth reconcile", ">")


@dataclass(frozen=True, slots=True)
class Case:
    """One task: what is asked, what the answer must and must not contain."""

    id: str
    kind: str  # gatekeeper or investigation
    question: str
    contains: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    mocks: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One try at a case."""

    passed: bool
    answer: str
    calls: int
    unrecorded: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()  # calls that wanted an approval, which nobody gives here
    changed: int = 0  # calls that changed something: must be none
    error: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All tries at a case."""

    id: str
    kind: str
    trials: tuple[Trial, ...] = field(default_factory=tuple)

    @property
    def first(self) -> bool:
        """pass@1."""
        return bool(self.trials) and self.trials[0].passed

    @property
    def every(self) -> bool:
        """pass^k: it passed every time."""
        return bool(self.trials) and all(trial.passed for trial in self.trials)


def read_cases(folder: Path) -> list[Case]:
    """The cases of a folder with `gatekeeper_tasks.jsonl` and `investigations.jsonl`."""
    found = [_gatekeeper(item) for item in _lines(folder / "gatekeeper_tasks.jsonl")]
    investigations = map(_investigation, _lines(folder / "investigations.jsonl"))
    # An expectation that names nothing, or one thing or another, can only be judged by a reader.
    found += [case for case in investigations if case.contains]
    if not found:
        raise InvalidInput(
            f"{folder} holds no cases.",
            remedy="Give a folder with gatekeeper_tasks.jsonl or investigations.jsonl.",
        )
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _gatekeeper(item: Mapping[str, Any]) -> Case:
    expected = item["expect"]
    files = [text for name, text in item["files"].items() if name.startswith("artifacts/")]
    return Case(
        item["id"],
        "gatekeeper",
        item["prompts"][0],
        tuple(one["contains"] for one in expected if "contains" in one),
        tuple(one["notContains"] for one in expected if "notContains" in one),
        files=tuple(files),
    )


def _investigation(item: Mapping[str, Any]) -> Case:
    expected = item["expected"] if isinstance(item["expected"], list) else [item["expected"]]
    issue = item.get("issue") or {}
    question = item["user_prompt"] or f"Investigate this alert and find its cause:\n{_alert(item, issue)}"
    return Case(
        f"{item['suite']}/{item['id']}",
        "investigation",
        question,
        tuple(dict.fromkeys(term for text in expected for term in telling(text))),
        mocks=tuple(item["mocks"]),
    )


def _alert(item: Mapping[str, Any], issue: Mapping[str, Any]) -> str:
    told = {
        k: v for k, v in issue.items() if isinstance(v, str | int) and k not in ("account_id", "fingerprint")
    }
    finding = next((m["output"] for m in item["mocks"] if m["tool"] == "fetch_finding_by_id"), "")
    return f"{item['id']}\n{json.dumps(told, ensure_ascii=False)[:4000]}\n{str(finding)[:4000]}"


def telling(text: str) -> list[str]:
    """The names and figures of an expected finding: what an answer must name to have found it."""
    if re.search(r"\beither\b", text, re.IGNORECASE):
        return []
    return [(quoted or word).strip() for quoted, word in _TELLING.findall(text)]


def tools_of(case: Case) -> tuple[list[Tool], Recording, list[bool]]:
    """The tools of a case, its recording, and a list that grows with every change."""
    recording, changed = Recording(case.mocks), list[bool]()
    cluster = FakeCluster(case.files)

    async def kubectl(
        argv: Annotated[list[str], Field(description="Behind kubectl, such as [get, pods, -n, shop].")],
    ) -> ToolOutput:
        """Run kubectl. There is no shell: no pipes, no redirections."""
        if "--dry-run=server" not in argv and argv and argv[0] not in _READS:
            changed.append(True)
        text, ok = cluster.run(argv) if case.kind == "gatekeeper" else recording.kubectl(argv)
        return ToolOutput(data=text, failed=not ok)

    async def recorded(tool: str, arguments: dict[str, Any]) -> ToolOutput:
        """Call one of the further tools."""
        text, ok = recording.other(tool, arguments)
        return ToolOutput(data=text, failed=not ok)

    labels = {ARGV: "argv", PROGRAM: ("kubectl",)}
    made = [replace(make_tool(kubectl, read_only=False), labels=labels)]
    if recording.others:
        described = f"Call one of the further tools: {'; '.join(recording.others)}."
        made.append(replace(make_tool(recorded), description=described))
    return made, recording, changed


_READS = frozenset(
    {"get", "describe", "logs", "top", "explain", "events", "api-resources", "version", "diff", "auth"}
)


async def try_case(case: Case, infer: Infer, *, language: str = "auto") -> Trial:
    """One run of the graph over a case. Nobody approves anything: what asks for it has failed."""
    tools, recording, changed = tools_of(case)
    kit = Kit(
        ask=_unbound,
        toolbox=Toolbox({tool.name: tool for tool in tools}),
        sources=Sources("ops"),
        limits=ReactLimits(steps=STEPS),
        language=answer_language(language, case.question),
        role=ROLE,
    )
    checkpoints = Checkpoints()
    run = ReactRun(kit, infer, case.id, await checkpoints.saver())
    calls, error = 0, ""
    try:
        async for event in run.begin(case.question):
            calls += event.type is EventType.TOOL_CALL
    except KosmosError as failure:
        error = failure.message
    finally:
        await checkpoints.close()
    answer = run.partial
    asked = (" ".join(run.waiting["argv"] or [str(run.waiting["tool"])]),) if run.waiting else ()
    passed = not error and not asked and fits(case, answer)
    return Trial(passed, answer, calls, tuple(recording.missed), asked, len(changed), error)


async def _unbound(*_: Any) -> Any:
    raise ConfigError("No model is bound.")


def fits(case: Case, answer: str) -> bool:
    """Whether an answer contains what it must and nothing that it must not."""
    plain = answer.casefold()
    has = all(text.casefold() in plain for text in case.contains)
    return bool(plain) and has and not any(text.casefold() in plain for text in case.lacks)


@dataclass(frozen=True, slots=True)
class RiskReport:
    """The risk engine on labelled commands."""

    mutating: int
    caught: int
    reading: int
    low: int
    wrong: tuple[str, ...]


def judge_commands(path: Path) -> RiskReport:
    """How many commands that modify something are HIGH or more, and how many others are below."""
    mutating = caught = reading = low = 0
    wrong = []
    for item in _lines(path):
        line = str(item.get("command") or item.get("cmd") or "")
        label = str(item.get("modifies_resource") or item.get("modifies") or item.get("expected") or "")
        modifies = label == "yes" or any(mark in line for mark in MISLABELLED)
        level = assess_line(line).level
        if modifies:
            mutating, caught = mutating + 1, caught + (level >= RiskLevel.HIGH)
            wrong += [line] if level < RiskLevel.HIGH else []
        elif label == "no":
            reading, low = reading + 1, low + (level < RiskLevel.HIGH)
            wrong += [line] if level >= RiskLevel.HIGH else []
    return RiskReport(mutating, caught, reading, low, tuple(wrong))


def summary(results: Sequence[CaseResult]) -> dict[str, dict[str, float]]:
    """pass@1 and pass^k by kind of case."""
    made: dict[str, dict[str, float]] = {}
    for kind in dict.fromkeys(result.kind for result in results):
        mine = [result for result in results if result.kind == kind]
        trials = [trial for result in mine for trial in result.trials]
        made[kind] = {
            "cases": len(mine),
            "pass@1": sum(result.first for result in mine) / len(mine),
            "pass^k": sum(result.every for result in mine) / len(mine),
            "unrecorded": sum(len(trial.unrecorded) for trial in trials),
            "asked": sum(len(trial.asked) for trial in trials),
            "changed": sum(trial.changed for trial in trials),
        }
    return made
