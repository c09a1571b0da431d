"""One question to a chat model: what it said, which tools it called, what that cost."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.domain.credentials import Credential
from kosmos.domain.jobs import Spent
from kosmos.llm.client import client_for
from kosmos.telemetry import measures
from kosmos.telemetry.traces import span

# Options of a credential that are ours; all others go to the provider with the request.
OWN_OPTIONS = frozenset(
    {
        "max_concurrency",
        "max_context_tokens",
        "prompt_price",
        "cached_price",
        "output_price",
        "parallel_batches",
        "stream_usage",
    }
)
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `arguments` is None when the model wrote something that is no JSON object."""

    name: str
    arguments: Mapping[str, Any] | None
    text: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered."""

    text: str
    calls: tuple[Call, ...]
    finish: str
    spent: Spent


async def complete(
    credential: Credential,
    key: str | None,
    messages: Sequence[Message],
    *,
    seconds: float,
    tools: Sequence[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
) -> Completion:
    """Ask once. Retrying, caching and counting are decided above."""
    given = {name: value for name, value in credential.options.items() if name not in OWN_OPTIONS}
    request: dict[str, Any] = {
        **given,
        **(options or {}),
        "model": credential.model,
        "messages": list(messages),
    }
    if tools:
        request |= {"tools": list(tools), "tool_choice": "required"}
    kind = credential.type.value
    with span("model call", type=kind), measures.timed(measures.MODEL_SECONDS, kind):
        answer = await _asked(credential, key, request, seconds)
    measures.count_model_call(kind, answer.spent)
    return answer


async def _asked(
    credential: Credential, key: str | None, request: Mapping[str, Any], seconds: float
) -> Completion:
    async with client_for(credential, key, seconds) as client, asyncio.timeout(seconds):
        answer = await client.chat.completions.create(**request)
        choice = answer.choices[0]
        calls = tuple(
            _call(call.function.name, call.function.arguments)
            for call in choice.message.tool_calls or ()
            if call.type == "function"
        )
        text = choice.message.content or ""
        return Completion(text, calls, choice.finish_reason or "", _spent(credential, answer.usage))


def _call(name: str, text: str) -> Call:
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        arguments = None
    return Call(name, arguments if isinstance(arguments, dict) else None, text)


def _spent(credential: Credential, usage: Any) -> Spent:
    """By the provider's own count; a provider that does not count costs nothing that we could know."""
    if usage is None:
        return Spent()
    details = getattr(usage, "prompt_tokens_details", None)
    cached = int(getattr(details, "cached_tokens", 0) or 0)
    prompt, output = int(usage.prompt_tokens or 0), int(usage.completion_tokens or 0)
    return Spent(prompt, cached, output, cost_of(credential, prompt, output, cached) or 0.0)


def cost_of(credential: Credential, prompt: int, output: int, cached: int = 0) -> float | None:
    """By the credential's prices for a million tokens; None when it has none."""
    names = ("prompt_price", "output_price")
    prices = [credential.options.get(name) for name in names]
    if not all(isinstance(price, int | float) and price >= 0 for price in prices):
        return None
    fresh, out = float(prices[0] or 0), float(prices[1] or 0)
    reduced = credential.options.get("cached_price")
    kept = float(reduced) if isinstance(reduced, int | float) and reduced >= 0 else fresh
    return (fresh * (prompt - cached) + kept * cached + out * output) / 1e6
