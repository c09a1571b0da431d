"""Chunks under the redaction layer: what may be shown of one, and a layer that moves with its chunks."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kosmos.chunking.coverage import START_OFFSET, Ranged
from kosmos.chunking.redaction import apply_redactions, redactions_of
from kosmos.chunking.summaries import summarize
from kosmos.domain.blocks import without_comments
from kosmos.domain.chunks import ChunkDraft, ChunkType
from kosmos.domain.redactions import Redaction


def show_part(part: Ranged, hidden: Iterable[Redaction]) -> str:
    """The text of a chunk as it may be shown; the redactions may be those of its lines or of all."""
    column = part.metadata.get(START_OFFSET, 0)
    return apply_redactions(part.raw_content, hidden, first_line=part.start_line, first_column=column)


def show_words(part: Ranged, hidden: Sequence[Redaction]) -> str:
    """What may be read of a chunk under merged redactions: without comments, too."""
    return without_comments(show_part(part, redactions_of(hidden, part.start_line, part.end_line)))


def shown_title(part: ChunkDraft, title: str, hidden: Sequence[Redaction]) -> str:
    """The title of a heading, or what is left to show of it."""
    if redactions_of(hidden, part.start_line, part.end_line):
        title = " ".join(show_words(part, hidden).split()).strip("# ") or "…"
    return title


def hide_summaries(drafts: Sequence[ChunkDraft], hidden: Sequence[Redaction]) -> list[ChunkDraft]:
    """The same chunks of a whole text, summaries, titles and heading paths without what is hidden."""
    if not hidden:
        return list(drafts)
    made: list[ChunkDraft] = []
    for draft in drafts:
        above = made[draft.parent] if draft.parent is not None else None
        path = (*above.heading_path, above.summary) if above else ()
        made.append(replace(_hide_summary(draft, hidden), heading_path=path))
    return made


def _hide_summary(draft: ChunkDraft, hidden: Sequence[Redaction]) -> ChunkDraft:
    if not redactions_of(hidden, draft.start_line, draft.end_line):
        return draft
    if draft.type is ChunkType.HEADING:
        return replace(draft, summary=shown_title(draft, draft.summary, hidden))
    return replace(draft, summary=summarize(show_words(draft, hidden)))


def carry_redactions(old_text: str, layer: Iterable[Redaction], new_text: str) -> list[Redaction]:
    """A layer over the next version of a text: what was shown nowhere is shown nowhere, wherever it moved."""
    if old_text == new_text:
        return list(layer)
    known = _hidden_lines(old_text.split("\n"), layer)
    carried: list[Redaction] = []
    for number, line in enumerate(new_text.split("\n") if known else (), start=1):
        for item in known.get(line, ()):
            last = carried[-1] if carried else None
            if (
                last
                and item.whole_lines
                and last == replace(item, start_line=last.start_line, end_line=number - 1)
            ):
                carried[-1] = replace(last, end_line=number)  # one range, one mark
            else:
                carried.append(replace(item, start_line=number, end_line=number))
    return carried


def _hidden_lines(lines: Sequence[str], layer: Iterable[Redaction]) -> dict[str, list[Redaction]]:
    """What is hidden of lines by their text, each redaction as if it were alone on line 1."""
    hidden: dict[int, list[Redaction]] = {}
    for item in layer:
        for number in range(item.start_line, min(item.end_line, len(lines)) + 1):
            start = item.start_column if number == item.start_line else 0
            end = item.end_column if number == item.end_line else None
            if lines[number - 1].strip():
                part = replace(item, start_line=1, end_line=1, start_column=start, end_column=end)
                hidden.setdefault(number, []).append(part)
    shown = {line for number, line in enumerate(lines, start=1) if number not in hidden}
    return {lines[number - 1]: parts for number, parts in hidden.items() if lines[number - 1] not in shown}
