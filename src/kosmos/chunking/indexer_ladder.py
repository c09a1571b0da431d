"""What is done when an answer cannot be filed: ask again, ask about halves, then do without the model.

The steps are a generator that yields questions and is sent replies, so that they are the same whether a job
asks a provider or a test asks a double. Nothing here waits, stores or counts money.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kosmos.chunking.indexer_answers import read_answer
from kosmos.chunking.indexer_batches import DEFAULT_LIMITS, Limits, Region, find_runs, halve
from kosmos.chunking.indexer_filing import file_answer, file_by_structure, make_sentinel
from kosmos.chunking.indexer_prompt import Question, Title, ToolCall, ask_again, make_question
from kosmos.chunking.indexer_sheet import Sheet
from kosmos.domain.chunks import ChunkDraft, ChunkType
from kosmos.domain.redactions import Redaction


class Fallback(StrEnum):
    """What becomes of a region that the model cannot file."""

    STRUCTURE = "structure"
    SENTINEL = "sentinel"


@dataclass(frozen=True, slots=True)
class Policy:
    """How far the ladder goes."""

    fallback: Fallback = Fallback.STRUCTURE
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each step was taken."""

    reasks: int = 0
    halvings: int = 0
    fallbacks: int = 0
    sentinels: int = 0
    answered: int = 0  # regions, or halves of them, that the model has filed

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.reasks + other.reasks,
            self.halvings + other.halvings,
            self.fallbacks + other.fallbacks,
            self.sentinels + other.sentinels,
            self.answered + other.answered,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered; `finish` is `length` where it was cut off.

    `refusal` says why there is no answer at all: the provider does not take this very question.
    """

    calls: Sequence[ToolCall]
    finish: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Filed:
    """The parts of a region up to `end_line`, which is its last line unless a tail was left."""

    parts: tuple[ChunkDraft, ...]
    end_line: int
    redactions: tuple[Redaction, ...] = ()
    tally: Tally = Tally()


Steps = Generator[Question, Reply, Filed]
DEFAULT_POLICY = Policy()


def file_region(
    sheet: Sheet,
    region: Region,
    *,
    outline: Sequence[Title] = (),
    tail: bool = False,
    policy: Policy = DEFAULT_POLICY,
) -> Steps:
    """File a region, asking as often as it takes and the ladder allows."""
    if not region.asked:
        return _by_structure(sheet, region)
    return (yield from _climb(sheet, region, list(outline), tail=tail, policy=policy))


def _climb(
    sheet: Sheet, region: Region, outline: list[Title], *, tail: bool, policy: Policy, retries: int = 0
) -> Steps:
    if not find_runs(sheet, region):
        return _by_structure(sheet, region)
    question = replace(
        make_question(sheet, region, outline, tail=tail),
        fits=lambda calls: not read_answer(sheet, region, calls, tail=tail)[1],
        lines=(region.start_line, region.end_line),
    )
    filed, error, asked = yield from _ask_twice(sheet, region, question, tail=tail)
    if filed is not None:
        return filed
    retries += asked
    tally = Tally(reasks=asked - 1)
    halves = halve(sheet, region, policy.limits)
    if halves is None:
        return _give_up(sheet, region, policy.fallback, f"{retries - 1} retries. Last error: {error}", tally)
    parts: list[ChunkDraft] = []
    redactions: list[Redaction] = []
    tally += Tally(halvings=1)
    for half in halves:
        done = yield from _climb(sheet, half, outline, tail=False, policy=policy, retries=retries)
        outline = [*outline, *titles_of(done.parts)]
        parts += done.parts
        redactions += done.redactions
        tally += done.tally
    return Filed(tuple(parts), region.end_line, tuple(redactions), tally)


def _ask_twice(
    sheet: Sheet, region: Region, question: Question, *, tail: bool
) -> Generator[Question, Reply, tuple[Filed | None, str, int]]:
    """What was filed, or the first error, and how often the model was asked."""
    error = ""
    for asked in (1, 2):
        reply = yield question
        if reply.refusal:  # it would be refused again; a part of it may not
            return None, reply.refusal, asked
        pointed, violations = read_answer(sheet, region, reply.calls, tail=tail)
        if not violations:
            parts = file_answer(sheet, region, pointed)
            tally = Tally(reasks=asked - 1, answered=1)
            return Filed(tuple(parts), parts[-1].end_line, pointed.redactions, tally), "", asked
        error = violations[0]
        if reply.finish == "length":  # the same question would be cut off again; a smaller one may not
            return None, f"the answer was cut off; {error}", asked
        question = ask_again(question, reply.calls, violations)
    return None, error, 2


def _give_up(sheet: Sheet, region: Region, fallback: Fallback, failure: str, tally: Tally) -> Filed:
    if fallback is Fallback.SENTINEL:
        part = make_sentinel(sheet, region, f"Chunking failed after {failure}")
        return Filed((part,), region.end_line, tally=tally + Tally(sentinels=1))
    return replace(_by_structure(sheet, region), tally=tally + Tally(fallbacks=1))


def _by_structure(sheet: Sheet, region: Region) -> Filed:
    return Filed(tuple(file_by_structure(sheet, region.start_line, region.end_line)), region.end_line)


def titles_of(parts: Sequence[ChunkDraft]) -> list[Title]:
    """The headings among parts, for the outline of what follows."""
    return [Title(part.level, part.summary) for part in parts if part.type is ChunkType.HEADING]
