"""How many tokens of a model's window are for what."""

from collections.abc import Iterable
from dataclasses import dataclass

from kosmos.agents.wire import to_wire, tokens_of
from kosmos.domain.sessions import Message

SYSTEM_TOKENS = 2000
ANSWER_TOKENS = 8000
SUMMARY_TOKENS = 1500
COMPRESS_AT = 0.8  # of the window
LEAST = 1000


@dataclass(frozen=True, slots=True)
class Budget:
    """The shares of a window; in a small one no share takes more than an eighth."""

    window: int

    @property
    def system(self) -> int:
        """For system prompt and tools."""
        return min(SYSTEM_TOKENS, self.window // 8)

    @property
    def answer(self) -> int:
        """For what the model will say."""
        return min(ANSWER_TOKENS, self.window // 8)

    @property
    def prompt(self) -> int:
        """For everything that is sent."""
        return max(LEAST, self.window - self.answer)

    @property
    def summary(self) -> int:
        """For the summary of what was compressed."""
        return min(SUMMARY_TOKENS, self.window // 8)

    @property
    def threshold(self) -> int:
        """A talk above this is compressed."""
        return int(self.window * COMPRESS_AT)

    def available(self, session_tokens: int, query_tokens: int) -> int:
        """What is left for documents beside a talk and a question."""
        return max(0, self.window - session_tokens - query_tokens - self.system - self.answer)


def tokens_in(messages: Iterable[Message]) -> int:
    """How many tokens messages take when they are sent."""
    return sum(tokens_of(to_wire(message)) for message in messages)
