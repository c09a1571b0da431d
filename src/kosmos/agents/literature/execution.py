"""The execution node: recalls what the plan asks for, several steps at once."""

import time
from collections.abc import Sequence

from kosmos.agents.literature.contract import Evidence
from kosmos.agents.literature.plans import Executed, Step, execute_plan
from kosmos.agents.literature.work import Work
from kosmos.domain.events import EventType
from kosmos.errors import KosmosError

NODE = "execution"
TOOL = "recall"


async def execute(work: Work) -> Executed:
    """Run the plan; what failed is told, and what was found stays."""

    async def recall(step: Step) -> Sequence[Evidence]:
        return await _recall(work, step)

    done = await execute_plan(work.state.plan, recall)
    for number, reason in done.failed.items():
        work.fail(NODE, f"Step {number} failed: {reason}")
    if done.forced:
        work.fall_back(f"{NODE}: left after {done.tried} tries of {len(work.state.plan)} steps")
    work.state.recall_results = [item for number in sorted(done.found) for item in done.found[number]]
    return done


async def _recall(work: Work, step: Step) -> Sequence[Evidence]:
    name = f"step_{step.number}"
    arguments = {"question": step.question, "doc_id": step.paper.document_id if step.paper else None}
    work.tell(EventType.TOOL_CALL, id=name, name=TOOL, arguments=arguments, step=work.step)
    started = time.perf_counter()
    try:
        found = await work.library.recall(step.question, step.paper)
    except KosmosError as error:
        _tell_result(work, name, [], time.perf_counter() - started, error.message)
        raise
    _tell_result(work, name, found, time.perf_counter() - started, None)
    return found


def _tell_result(work: Work, name: str, found: Sequence[Evidence], seconds: float, error: str | None) -> None:
    sources = [
        {
            "document_id": item.passage.document_id,
            "source": item.passage.source,
            "start_line": item.passage.start_line,
            "end_line": item.passage.end_line,
            "score": round(item.score, 4),
            "weak": item.weak,
        }
        for item in found
    ]
    told = {"id": name, "name": TOOL, "ok": error is None, "sources": sources, "seconds": round(seconds, 3)}
    work.tell(EventType.TOOL_RESULT, **told, step=work.step, **({"error": error} if error else {}))
