"""What nodes tell of their thinking."""

from kosmos.agents.react.kit import Kit
from kosmos.domain.events import Event, EventType


def think(kit: Kit, text: str, step: int) -> None:
    """Tell a thought that came as a whole."""
    if text.strip():
        kit.tell(Event(EventType.THINKING_START, {"step": step}))
        kit.tell(Event(EventType.THOUGHT_CHUNK, {"text": text, "step": step}))
        kit.tell(Event(EventType.THINKING_END, {"step": step}))
