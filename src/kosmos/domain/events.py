"""Everything that a run can tell while it goes on: one declared set, whoever runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    """What an event says. The payload of each is described in docs/design/agents.md."""

    RUN_START = "run_start"
    THINKING_START = "thinking_start"
    THOUGHT_CHUNK = "thought_chunk"
    THINKING_END = "thinking_end"
    ANSWER_CHUNK = "answer_chunk"
    ANSWER_RETRACTED = "answer_retracted"  # what this step has said so far was not the answer
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    APPROVAL_REQUEST = "approval_request"
    APPROVAL_RESULT = "approval_result"
    CITATION = "citation"
    CITATION_REMOVED = "citation_removed"
    USAGE = "usage"
    NODE_COMPLETE = "node_complete"
    NODE_ERROR = "node_error"
    DOC_SUMMARY_INIT = "doc_summary_init"
    DOC_SUMMARY_START = "doc_summary_start"
    DOC_SUMMARY_CHUNK = "doc_summary_chunk"
    DOC_SUMMARY_COMPLETE = "doc_summary_complete"
    DOC_SUMMARY_ERROR = "doc_summary_error"
    SESSION_COMPRESSED = "session_compressed"
    SESSION_TITLE = "session_title"
    FINAL_ANSWER = "final_answer"
    ERROR = "error"
    RUN_END = "run_end"


THINKING = frozenset({EventType.THINKING_START, EventType.THOUGHT_CHUNK, EventType.THINKING_END})
# Pieces of one text: those that wait to be stored together may become one event.
PIECES = frozenset({EventType.THOUGHT_CHUNK, EventType.ANSWER_CHUNK, EventType.DOC_SUMMARY_CHUNK})


@dataclass(frozen=True, slots=True)
class Event:
    """Something a run tells."""

    type: EventType
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its number in its run, so that a client can go on where it stopped."""

    run_id: str
    sequence: int
    type: EventType
    payload: Mapping[str, Any]
    created_at: datetime
