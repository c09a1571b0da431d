"""The words of the OpenAI protocol, as far as agents speak it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kosmos.api.shapes import CitationOut
from kosmos.domain.sessions import Message, MessageRole, MessageType
from kosmos.errors import InvalidInput


class ChatMessageIn(BaseModel):
    """A message of the caller's talk."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(examples=["user"])
    content: str | list[dict[str, Any]] | None = Field(default=None, examples=["How often?"])

    @property
    def text(self) -> str:
        """The text, given whole or in parts."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content or []
        if any(part.get("type") != "text" for part in parts):
            raise InvalidInput("Only text can be sent to an agent.", remedy="Leave out images and files.")
        return "\n".join(str(part.get("text", "")) for part in parts)


class ChatIn(BaseModel):
    """A chat request. Fields that are not named here are accepted and have no effect."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    model: str = Field(description="Name or id of an agent.", examples=["knowledge assistant"])
    messages: list[ChatMessageIn] = Field(min_length=1, max_length=10_000)
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    show_thinking: bool = False
    footnotes: bool = True

    def split(self) -> tuple[str, list[Message], str]:
        """The question, the talk before it, and the instructions of the caller."""
        if self.tools:
            raise InvalidInput(
                "Agents use their own tools.", remedy="Leave out `tools`; give the agent tools instead."
            )
        talk = [item for item in self.messages if item.role in ("user", "assistant") and item.text.strip()]
        if not talk or talk[-1].role != "user":
            raise InvalidInput("The last message is not a user's.", remedy="End with a question.")
        instructions = [item.text for item in self.messages if item.role in ("system", "developer")]
        return talk[-1].text, [_message(item) for item in talk[:-1]], "\n\n".join(instructions)

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with what was spent."""
        return bool((self.stream_options or {}).get("include_usage"))


def _message(item: ChatMessageIn) -> Message:
    if item.role == "user":
        return Message(MessageRole.USER, MessageType.USER, item.text)
    return Message(MessageRole.ASSISTANT, MessageType.ASSISTANT, item.text)


class ChatUsageOut(BaseModel):
    """What was spent."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatAnswerOut(BaseModel):
    """What the agent said."""

    role: str = "assistant"
    content: str


class ChatChoiceOut(BaseModel):
    """The one choice there is."""

    index: int = 0
    message: ChatAnswerOut
    finish_reason: str = "stop"
    logprobs: None = None


class ChatOut(BaseModel):
    """A chat answer, with its citations beside it."""

    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoiceOut]
    usage: ChatUsageOut
    citations: list[CitationOut]


class ModelOut(BaseModel):
    """An agent as a model."""

    id: str
    object: str = "model"
    created: int
    owned_by: str


class ModelsOut(BaseModel):
    """All agents as models."""

    object: str = "list"
    data: list[ModelOut]
