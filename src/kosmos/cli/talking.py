"""How a run looks on a terminal: what it does, what it says, what it rests on."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kosmos.cli.output import console, plain

if TYPE_CHECKING:
    from kosmos.domain.events import StoredEvent


async def show_events(
    events: "AsyncIterator[StoredEvent | None]", *, as_json: bool, thinking: bool
) -> Mapping[str, Any] | None:
    """Print a run as it goes on; the payload of its final answer, if there was one."""
    answer, printed = None, _Printed(thinking)
    async for event in events:
        if event is None:
            continue
        if event.type == "final_answer":
            answer = event.payload
        if as_json:
            sys.stdout.write(json.dumps(plain(event), ensure_ascii=False) + "\n")
        else:
            printed.take(event.type.value, event.payload)
        sys.stdout.flush()
    if not as_json:
        printed.line()
    return answer


class _Printed:
    """What stands on the terminal."""

    def __init__(self, thinking: bool) -> None:
        self._thinking = thinking
        self._open = False

    def take(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Print one event."""
        if kind == "answer_chunk" or (kind == "thought_chunk" and self._thinking):
            sys.stdout.write(payload["text"])
            self._open = not payload["text"].endswith("\n")
        elif kind in ("answer_retracted", "thinking_end"):
            self.line()
        elif kind == "tool_call":
            self._note(f"{payload['name']} {json.dumps(payload['arguments'], ensure_ascii=False)}")
        elif kind == "tool_result" and not payload["ok"]:
            self._note(payload["error"])
        elif kind == "approval_request":
            call = " ".join(payload["argv"] or [payload["tool"], json.dumps(payload["arguments"])])
            self._note(f"{payload['level']}: {call}")
            self._note(f"allow exactly this with: kosmos approvals approve {payload['approval_id']}")
        elif kind in ("doc_summary_complete", "doc_summary_error"):
            what = payload.get("error") or ("was there already" if payload["cached"] else "summarised")
            self._note(f"{payload['done']} of {payload['total']}: {payload['title']}: {what}")
        elif kind == "node_error":
            self._note(f"{payload['node']}: {payload['error']}")
        elif kind == "citation_removed":
            self._note(f"the model cited [{payload['marker']}], which does not exist")
        elif kind == "error":
            self._note(f"error: {payload['message']} {payload['remedy'] or ''}".strip())

    def line(self) -> None:
        """Begin a new line, unless one has begun."""
        if self._open:
            sys.stdout.write("\n")
        self._open = False

    def _note(self, text: str) -> None:
        self.line()
        sys.stdout.flush()
        sys.stderr.write(f"· {' '.join(text.split())[:300]}\n")


def show_citations(citations: Sequence[Mapping[str, Any]]) -> None:
    """Where it stands, to the letter."""
    out = console()
    for item in citations:
        place = item["url"] or f"{item['source']}:{item['start_line']}-{item['end_line']}"
        out.print(f"\n[{item['marker']}] {place}", style="bold")
        for line in item["quote"].split("\n"):
            out.print(f"    {line}")


def show_doubts(claims: Sequence[Mapping[str, Any]]) -> None:
    """The sentences that rest on nothing."""
    doubtful = [claim for claim in claims if claim["problem"]]
    if doubtful:
        sys.stderr.write(f"· {len(doubtful)} of {len(claims)} sentences without support\n")
