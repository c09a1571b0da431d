"""Routes that speak the OpenAI protocol: each agent is a model."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from kosmos.api.callers import Caller, TheApp
from kosmos.api.openai_shapes import (
    ChatAnswerOut,
    ChatChoiceOut,
    ChatIn,
    ChatOut,
    ChatUsageOut,
    ModelOut,
    ModelsOut,
)
from kosmos.api.runs import RUN_HEADER
from kosmos.api.shapes import CitationOut
from kosmos.domain.accounts import Principal
from kosmos.domain.events import EventType, StoredEvent
from kosmos.domain.language import language_of
from kosmos.domain.sessions import Run, SessionOrigin
from kosmos.tasks import agents, runs, sessions
from kosmos.tasks.run_wishes import RunWish
from kosmos.tasks.sessions import NewSession

router = APIRouter(prefix="/v1", tags=["openai"])
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer, or chunks of it.", "content": {"text/event-stream": {}}}
}


@router.get("/models")
async def list_models(app: TheApp, who: Caller) -> ModelsOut:
    """Your agents and those of the instance, as models."""
    found = await agents.list_agents(app.bench, who, limit=1000)
    return ModelsOut(
        data=[
            ModelOut(
                id=item.name,
                created=int(item.created_at.timestamp()),
                owned_by="you" if item.owner_id else "kosmos",
            )
            for item in found
        ]
    )


@router.post("/chat/completions", response_model=ChatOut, responses=_STREAM)
async def chat_completions(app: TheApp, who: Caller, form: ChatIn) -> Any:
    """Ask an agent, whose name is the model; the whole talk is sent along each time.

    Citations come as the field `citations` and, unless `footnotes` is false, as footnotes of the text.
    """
    question, history, instructions = form.split()
    new = NewSession(agent=form.model, title=question[:60], origin=SessionOrigin.OPENAI)
    session = await sessions.create_session(app.bench, who, new)
    wish = RunWish(question, history=history, instructions=instructions)
    run = await runs.start_run(app.bench, who, session.id, wish)
    reply = _Reply(form, run)
    if form.stream:
        headers = {RUN_HEADER: run.id, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            reply.chunks(runs.follow_run(app.bench, who, session.id, run.id, patient=False)),
            media_type="text/event-stream",
            headers=headers,
        )
    return await _whole(app, who, reply)


async def _whole(app: TheApp, who: Principal, reply: "_Reply") -> ChatOut:
    run = reply.run
    answer = await runs.collect_run(app.bench, who, run.session_id, run.id)
    message = ChatAnswerOut(content=answer["answer"] + reply.footnotes(answer))
    return ChatOut(
        **reply.frame(None),
        choices=[ChatChoiceOut(message=message)],
        usage=ChatUsageOut(**_usage(answer["usage"])),
        citations=[CitationOut.model_validate(item) for item in answer["citations"]],
    )


@dataclass(frozen=True, slots=True)
class _Reply:
    """One answer in the words of the protocol."""

    form: ChatIn
    run: Run

    def frame(self, kind: str | None) -> dict[str, Any]:
        """What every part of an answer begins with."""
        frame: dict[str, Any] = {"id": f"chatcmpl-{self.run.id}", "model": self.form.model}
        frame["created"] = int(self.run.created_at.timestamp())
        return frame | ({"object": kind} if kind else {})

    def footnotes(self, answer: Mapping[str, Any]) -> str:
        """The citations below the text."""
        if not self.form.footnotes or not answer["citations"]:
            return ""
        title = "来源" if language_of(answer["answer"]) == "Chinese" else "Sources"
        return "\n\n" + "\n".join([f"{title}:", *map(footnote, answer["citations"])])

    async def chunks(self, events: AsyncIterator[StoredEvent | None]) -> AsyncIterator[str]:
        """The stream. What was retracted stays, set apart: the protocol cannot take anything back."""
        yield self._chunk({"role": "assistant", "content": ""})
        usage: Mapping[str, Any] = {}
        async for event in events:
            if event is None:
                yield ": still here\n\n"
                continue
            for delta in self._deltas(event):
                yield self._chunk(delta)
            if event.type is EventType.FINAL_ANSWER:
                usage = event.payload["usage"]
                yield self._chunk({}, finish="stop", citations=event.payload["citations"])
            elif event.type is EventType.APPROVAL_REQUEST:
                asked = f"(waits for your approval {event.payload['approval_id']})"
                yield self._chunk({"content": asked}, finish="stop")
            elif event.type is EventType.ERROR:
                yield _data({"error": {"message": event.payload["message"], "type": "server_error"}})
                return
        if self.form.wants_usage and usage:
            yield _data({**self.frame("chat.completion.chunk"), "choices": [], "usage": _usage(usage)})
        yield "data: [DONE]\n\n"

    def _deltas(self, event: StoredEvent) -> Sequence[dict[str, Any]]:
        if event.type is EventType.ANSWER_CHUNK:
            return [{"content": event.payload["text"]}]
        if event.type is EventType.ANSWER_RETRACTED:
            return [{"content": "\n\n"}]
        if event.type is EventType.THOUGHT_CHUNK and self.form.show_thinking:
            return [{"reasoning_content": event.payload["text"]}]
        if event.type is EventType.FINAL_ANSWER and (notes := self.footnotes(event.payload)):
            return [{"content": notes}]
        return []

    def _chunk(self, delta: Mapping[str, Any], *, finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _data({**self.frame("chat.completion.chunk"), "choices": [choice], **more})


def footnote(item: Mapping[str, Any]) -> str:
    """A citation in one line."""
    place = item["url"] or f"{item['source']}:{item['start_line']}-{item['end_line']}"
    quote = " ".join(str(item["quote"]).split())
    return f"[{item['marker']}] {place} “{quote[:300]}{'…' if len(quote) > 300 else ''}”"


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    prompt, output = int(usage.get("prompt_tokens", 0)), int(usage.get("output_tokens", 0))
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


def _data(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
