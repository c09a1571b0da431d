"""Asking a model until it answers: second tries on what may pass, the next model on what will not."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from kosmos.domain.credentials import CredentialType
from kosmos.errors import (
    AllProvidersFailed,
    ConfigError,
    NoCredential,
    ProviderBusy,
    ProviderError,
    ProviderUnavailable,
)
from kosmos.llm.streaming import Inquiry, Model, Turn, stream_once
from kosmos.llm.thoughts import Piece, Retracted, Text

TRIES = 3  # of each model
LONGEST_WAIT = 30.0

Failures = list[tuple[str, ProviderError | ConfigError]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a model, and between two tries."""

    seconds: float = 60.0  # of silence
    tries: int = TRIES
    first_wait: float = 0.5
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)

    def wait(self, attempt: int, error: ProviderError | ConfigError) -> float:
        """Seconds until the next try: what the provider asks for, or twice as long each time."""
        asked = error.retry_after if isinstance(error, ProviderBusy) else None
        usual = self.first_wait * 2**attempt * self.rng.uniform(0.8, 1.2)
        return min(LONGEST_WAIT, usual if asked is None else asked)


async def infer(
    models: Sequence[Model], inquiry: Inquiry, patience: Patience | None = None
) -> AsyncGenerator[Piece | Turn, None]:
    """The pieces of an answer and then its Turn. A failure half-way retracts what was said."""
    patience, failures = patience or Patience(), list[tuple[str, ProviderError | ConfigError]]()
    for model in models:
        for attempt in range(patience.tries):
            said = False
            try:
                async with aclosing(stream_once(model, inquiry, seconds=patience.seconds)) as pieces:
                    async for piece in pieces:
                        said = said or isinstance(piece, Text)
                        yield piece
                return
            except (ProviderError, ConfigError) as error:
                failures.append((model.credential.name, error))
                if said:
                    yield Retracted("the model broke off")
                if not isinstance(error, ProviderUnavailable):
                    break
                if attempt + 1 < patience.tries:
                    await patience.sleep(patience.wait(attempt, error))
    raise _failure(failures)


def _failure(failures: Failures) -> ProviderError | ConfigError:
    if not failures:
        return NoCredential(
            f"No credential of type {CredentialType.LLM} is configured.",
            remedy="Add one: kosmos credentials add NAME --type LLM --base-url URL --model MODEL --default",
        )
    last = dict(failures)
    return failures[-1][1] if len(last) == 1 else AllProvidersFailed(list(last.items()))
