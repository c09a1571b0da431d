"""Chunks from the structure of the text alone: a heading is a chunk, blocks below it are packed.

Only starts are decided; each chunk ends where the next begins, so gaps and overlaps cannot occur.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kosmos.domain.blocks import Block, without_comments
from kosmos.domain.chunks import CONTENT_LEVEL, ChunkDraft, ChunkType
from kosmos.domain.tokens import estimate_tokens

CORE_TOKENS = 512
SUMMARY_CHARS = 160


def chunk_by_structure(
    text: str, parts: Sequence[Block], *, core_tokens: int = CORE_TOKENS
) -> list[ChunkDraft]:
    """The chunks of a text, covering every line exactly once; none for an empty text."""
    lines = text.split("\n")
    if text == "":
        return []
    starts = list(_starts(lines, parts, core_tokens)) or [Block("paragraph", 1, len(lines))]
    starts[0] = replace(starts[0], start_line=1)
    ends = [part.start_line - 1 for part in starts[1:]] + [len(lines)]
    return _build(lines, starts, ends)


def _starts(lines: Sequence[str], parts: Sequence[Block], core_tokens: int) -> Iterator[Block]:
    """The parts at which a new chunk begins."""
    size = 0
    previous: Block | None = None
    for part in parts:
        tokens = estimate_tokens("\n".join(lines[part.start_line - 1 : part.end_line]))
        alone = part.kind in ("heading", "front_matter")
        follows_alone = previous is None or previous.kind in ("heading", "front_matter")
        if alone or follows_alone or size + tokens > core_tokens:
            size = 0
            yield part
        size += tokens
        previous = part


def _build(lines: Sequence[str], starts: Sequence[Block], ends: Sequence[int]) -> list[ChunkDraft]:
    drafts: list[ChunkDraft] = []
    open_headings: list[tuple[int, Block]] = []  # position in drafts, heading
    for part, end in zip(starts, ends, strict=True):
        is_heading = part.level > 0
        while is_heading and open_headings and open_headings[-1][1].level >= part.level:
            open_headings.pop()
        raw = "\n".join(lines[part.start_line - 1 : end])
        drafts.append(
            ChunkDraft(
                type=ChunkType.HEADING if is_heading else ChunkType.CONTENT,
                level=part.level if is_heading else CONTENT_LEVEL,
                start_line=part.start_line,
                end_line=end,
                raw_content=raw,
                summary=part.title if is_heading else _summary(raw),
                token_count=estimate_tokens(raw),
                parent=open_headings[-1][0] if open_headings else None,
                heading_path=tuple(heading.title for _, heading in open_headings),
                metadata={"kind": part.kind},
            )
        )
        if is_heading:
            open_headings.append((len(drafts) - 1, part))
    return drafts


def _summary(raw: str) -> str:
    """The first words: an extract, not a paraphrase."""
    text = " ".join(without_comments(raw).split())
    return text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1].rstrip() + "…"
