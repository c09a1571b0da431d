"""The indexer on a chunking set, with answers that were given before: no model is asked.

An answer is found by the hash of what was asked about its batch: title, outline, numbered lines and task. The
fixed words of the question are not part of it, so that they can be polished without losing the answers.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from kosmos.chunking.indexer import can_run_at_once, index_text
from kosmos.chunking.indexer_ladder import Reply
from kosmos.chunking.indexer_prompt import Question
from kosmos.chunking.indexer_sheet import lay_out
from kosmos.chunking.redaction import find_redactions
from kosmos.domain.tokens import estimate_tokens
from kosmos.errors import InvalidInput
from kosmos.eval.chunking import Piece
from kosmos.eval.chunking_pieces import as_pieces
from kosmos.eval.chunking_run import INDEXER, Cut
from kosmos.ingest.blocks import parse_blocks

_SHIPPED = "indexer_answers.json"

Calls = Sequence[tuple[str, Mapping[str, Any]]]
Answers = Mapping[str, Calls]  # by the hash of the batch


@dataclass(frozen=True, slots=True)
class Told:
    """A call of a tool that was written down."""

    name: str
    arguments: Mapping[str, Any]


class NoAnswer(LookupError):
    """Nobody has answered that question yet."""


def read_answers(file: Path | None = None) -> Answers:
    """The answers in a file; without one, those that were given by hand and are part of the product."""
    try:
        source = resources.files(__package__) / _SHIPPED if file is None else file
        rows = json.loads(source.read_text(encoding="utf-8"))["answers"]
        return {str(key): [(str(name), dict(said)) for name, said in calls] for key, calls in rows.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput(
            f"{file} holds no answers of the indexer.",
            remedy='Give a JSON file {"answers": {"HASH": [["tool", {…}], …]}}.',
        ) from None


def batch_hash(question: Question) -> str:
    """What an answer is found by."""
    return hashlib.sha256(str(question.messages[1]["content"]).encode()).hexdigest()[:32]


def cut_by_answers(corpora: Mapping[str, str], answers: Answers) -> tuple[Cut | None, list[str]]:
    """The pieces of all corpora that are answered for, and what is missing for the others."""
    desk = _Desk(answers)
    pieces: list[Piece] = []
    covered: set[str] = set()
    missing: list[str] = []
    for name, text in corpora.items():
        try:
            pieces += _index(name, text, desk)
            covered.add(name)
        except NoAnswer as reason:
            missing.append(f"{INDEXER}: {name} has a batch without an answer ({reason})")
    if not covered:
        return None, missing
    whole = covered == set(corpora)
    label = INDEXER if whole else f"{INDEXER} ({', '.join(sorted(covered))} only)"
    return Cut(
        label, pieces, sent=desk.sent, given=desk.given, corpora=None if whole else frozenset(covered)
    ), missing


@dataclass(slots=True)
class _Desk:
    """Gives the answers, and counts what a model would have read and written."""

    answers: Answers
    sent: int = 0
    given: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)

    def answer(self, question: Question) -> Reply:
        key = batch_hash(question)
        if key not in self.answers or len(question.messages) > 2:
            raise NoAnswer(key)
        calls = [Told(name, said) for name, said in self.answers[key]]
        asked = [*(str(message["content"]) for message in question.messages), json.dumps(question.tools)]
        written = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in calls]
        self.waiting.append((sum(map(estimate_tokens, asked)), sum(map(estimate_tokens, written))))
        return Reply(calls)

    def book(self) -> None:
        """Count what was answered for a text that is whole."""
        self.sent += sum(sent for sent, _ in self.waiting)
        self.given += sum(given for _, given in self.waiting)


def _index(name: str, text: str, desk: _Desk) -> list[Piece]:
    desk.waiting.clear()
    sheet = lay_out(text, parse_blocks(text), title=f"{name}.md", redactions=find_redactions(text))
    index = index_text(sheet, desk.answer, tails=not can_run_at_once(sheet))
    desk.book()
    return as_pieces(name, index.drafts)
