"""The indexer: chunks of a text by a model that only points at lines.

`file_region` asks about one region, `Index` puts the regions together in the order of the text, and
`index_text` does both with anything that answers questions. Jobs do the same with providers and tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kosmos.chunking.indexer_batches import next_region
from kosmos.chunking.indexer_filing import Open, attach
from kosmos.chunking.indexer_ladder import (
    DEFAULT_POLICY,
    Filed,
    Policy,
    Reply,
    Steps,
    Tally,
    file_region,
    titles_of,
)
from kosmos.chunking.indexer_prompt import Question, Title
from kosmos.chunking.indexer_sheet import Sheet
from kosmos.chunking.redaction import merge_redactions
from kosmos.domain.chunks import ChunkDraft
from kosmos.domain.redactions import Redaction

Answer = Callable[[Question], Reply]


@dataclass(slots=True)
class Index:
    """What was filed so far, from the first line on."""

    sheet: Sheet
    drafts: list[ChunkDraft] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _open: list[Open] = field(default_factory=list)

    @classmethod
    def resume(cls, sheet: Sheet, drafts: Sequence[ChunkDraft]) -> "Index":
        """An index that goes on behind chunks that are stored already."""
        attached, above = attach(drafts, [], 0)
        return cls(sheet, attached, _open=above)

    def add(self, filed: Filed) -> list[ChunkDraft]:
        """File the next region; its chunks with their parents."""
        drafts, self._open = attach(filed.parts, self._open, len(self.drafts))
        self.drafts += drafts
        self.tally += filed.tally
        return drafts

    @property
    def next_line(self) -> int:
        """The first line that is not filed yet."""
        return self.drafts[-1].end_line + 1 if self.drafts else 1

    @property
    def outline(self) -> list[Title]:
        """The headings filed so far, marked and found."""
        return titles_of(self.drafts)


def hidden_of(sheet: Sheet, filed: Filed) -> tuple[Redaction, ...]:
    """What is hidden in a region, by detectors and by the model."""
    return merge_redactions([*sheet.redactions, *filed.redactions])


def marked_outline(sheet: Sheet, start_line: int) -> list[Title]:
    """The marked headings above a line: what is known of the outline before anything is filed."""
    return [Title(block.level, block.title) for block in sheet.outline if block.start_line < start_line]


def can_run_at_once(sheet: Sheet) -> bool:
    """Whether the regions of a text can be asked about in any order: the parser knows where they stand."""
    return bool(sheet.outline)


def index_text(
    sheet: Sheet,
    answer: Answer,
    *,
    policy: Policy = DEFAULT_POLICY,
    tails: bool = True,
) -> Index:
    """The whole text, one region after the other; with `tails`, each may leave its end to the next."""
    index = Index(sheet)
    while index.next_line <= len(sheet.lines):
        region = next_region(sheet, index.next_line, policy.limits)
        tail = tails and region.end_line < len(sheet.lines)
        outline = index.outline if tails else marked_outline(sheet, region.start_line)
        steps = file_region(sheet, region, outline=outline, tail=tail, policy=policy)
        index.add(run_steps(steps, answer))
    return index


def run_steps(steps: Steps, answer: Answer) -> Filed:
    """Answer every question until the region is filed."""
    try:
        question = next(steps)
        while True:
            question = steps.send(answer(question))
    except StopIteration as done:
        filed: Filed = done.value
        return filed


def replace_region(
    drafts: Sequence[ChunkDraft], start_line: int, end_line: int, parts: Sequence[ChunkDraft]
) -> list[ChunkDraft]:
    """All chunks with other parts in place of those of a range of lines, such as a sentinel's."""
    before = [draft for draft in drafts if draft.end_line < start_line]
    after = [draft for draft in drafts if draft.start_line > end_line]
    return attach([*before, *parts, *after], [], 0)[0]
