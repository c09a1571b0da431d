"""What a node sends: base, mode and the user's part, each a file, in the language of the run."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from kosmos.agents.react.kit import Kit
from kosmos.agents.react.state import AgentState, CallNote, calls_of, notes_of
from kosmos.agents.wire import Wire
from kosmos.domain.tokens import estimate_tokens
from kosmos.prompts import load_prompt

_NONE = {"en": "(none)", "zh": "（无）"}
_SHORT = 400  # characters of an old result that does not fit any more
_CUT = {"en": "(cut: the context is full)", "zh": "（已截断：上下文已满）"}


def lay_out(kit: Kit, user: str, *, mode: str = "") -> list[Wire]:
    """System and user message of a node."""
    system = prompt(kit, "base", role=kit.role, fence=kit.sources.fence, today=kit.today.isoformat())
    if mode:
        system = f"{system}\n\n{prompt(kit, f'mode_{mode}')}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def prompt(kit: Kit, name: str, **values: str) -> str:
    """A prompt of the graph, filled in; what is empty is named as such."""
    given = {key: value or (_NONE[kit.tongue] if key != "notes" else "") for key, value in values.items()}
    return load_prompt(f"react_{name}_{kit.tongue}").render(**given)


def written(value: BaseModel | None) -> str:
    """A form as JSON, without what is empty."""
    return value.model_dump_json(exclude_none=True, exclude_defaults=True) if value is not None else ""


def show_passages(state: AgentState, kit: Kit) -> str:
    """The passages with their numbers."""
    shown = []
    for item in state.get("retrieved_docs") or []:
        body = kit.sources.fenced(f"{item.metadata['place']}\n{item.page_content}")
        shown.append(f"[{item.metadata['number']}]\n{body}")
    return "\n\n".join(shown)


def show_calls(state: AgentState, kit: Kit, *, taken: int = 0) -> str:
    """The calls with their results; old results are cut where not all of them fit."""
    left = kit.prompt_tokens - taken
    shown: list[str] = []
    for call in reversed(calls_of(state)):
        text = call["text"]
        left -= estimate_tokens(text)
        if left < 0 and shown:
            text = f"{text[:_SHORT]}\n{_CUT[kit.tongue]}"
        shown.append(_call(call, text, kit))
    return "\n\n".join(reversed(shown))


def _call(call: CallNote, text: str, kit: Kit) -> str:
    how = "ok" if call["ok"] else "refused by a person" if call["refused"] else "failed"
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    return f"{call['id']} {call['name']} {arguments} → {how}\n{kit.sources.fenced(text)}"


def show_tools(kit: Kit) -> str:
    """The tools that may be planned."""
    lines = [kit.tool_descriptions] if kit.tool_descriptions else []
    for tool in kit.toolbox.tools.values():
        parameters = json.dumps(tool.schema["function"]["parameters"], ensure_ascii=False)
        lines.append(f"- {tool.name}: {tool.description}\n  arguments: {parameters}")
    return "\n".join(lines)


def show_history(messages: Sequence[Any]) -> str:
    """The talk before the last question."""
    asked = [at for at, message in enumerate(messages) if message.type == "human"]
    talk = messages[: asked[-1]] if asked else []
    names = {"human": "user", "ai": "assistant"}
    lines = [
        f"{names[message.type]}: {message.content}"
        for message in talk
        if message.type in names and message.content
    ]
    return "\n".join(line[:4000] for line in lines)


def rest(state: AgentState, kit: Kit) -> dict[str, str]:
    """What planning, judging and answering all look at."""
    passages = show_passages(state, kit)
    taken = estimate_tokens(passages) + estimate_tokens(show_tools(kit)) + 2000
    return {
        "question": notes_of(state).get("question", ""),
        "analysis": written(state.get("analysis")),
        "passages": passages,
        "calls": show_calls(state, kit, taken=taken),
    }
