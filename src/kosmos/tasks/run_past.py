"""What a run knows of its session: the talk so far, and the sources that earlier answers rest on."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kosmos.agents.claims import MARK
from kosmos.agents.sources import Sources
from kosmos.domain.sessions import Message, MessageType, Session
from kosmos.tasks.knowledge_desk import KnowledgeDesk
from kosmos.tools.contract import Passage

References = dict[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Past:
    """The active messages of a session and what their markers point at."""

    messages: tuple[Message, ...] = ()
    references: References = field(default_factory=dict)
    last_number: int = 0


def look_back(session: Session, messages: Sequence[Message]) -> Past:
    """The past of a session."""
    found: References = {}
    for message in messages:
        for item in (*message.metadata.get("sources", ()), *message.metadata.get("citations", ())):
            number = int(item.get("number") or item.get("marker") or 0)
            found[number] = {**found.get(number, {}), **item}
    last = int(session.metadata.get("last_number", 0))
    return Past(tuple(messages), found, max([last, *found]))


def kept_references(older: Sequence[Message], summary: str) -> list[Mapping[str, Any]]:
    """Those of the sources of compressed messages that the summary still speaks of."""
    spoken = {int(number) for number in MARK.findall(summary)}
    kept: References = {}
    for message in older:
        for item in (*message.metadata.get("sources", ()), *message.metadata.get("citations", ())):
            number = int(item.get("number") or item.get("marker") or 0)
            if number in spoken:
                kept[number] = {**kept.get(number, {}), **item, "number": number}
    return [kept[number] for number in sorted(kept)]


def fence_of(session_id: str) -> str:
    """The mark around data in this session: nobody who writes documents knows it."""
    return hashlib.sha256(f"fence {session_id}".encode()).hexdigest()[:10]


def open_sources(past: Past, session_id: str, desk: KnowledgeDesk) -> Sources:
    """The sources of a run: numbers go on where the session stopped."""

    async def restore(number: int) -> Passage | None:
        item = past.references[number]
        if item.get("url"):
            quote = str(item.get("quote") or "")
            return Passage(quote, str(item["source"]), url=str(item["url"])) if quote else None
        return await desk.lines(str(item["document_id"]), int(item["start_line"]), int(item["end_line"]))

    return Sources(
        fence=fence_of(session_id),
        next_number=past.last_number + 1,
        past=frozenset(past.references),
        restore=restore,
    )


def is_first(messages: Sequence[Message]) -> bool:
    """Whether nothing has been answered in a session yet."""
    return not any(message.type is MessageType.ASSISTANT for message in messages)
