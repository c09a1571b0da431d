"""Whatever a model says, the chunks are the text: to the letter, each line once, in a tree that holds.

500 texts by default; `KOSMOS_FUZZ_TEXTS=20000` runs as many as one likes.
"""

import os

import pytest

from kosmos.chunking.indexer import index_text
from kosmos.chunking.indexer_batches import Limits, plan_regions
from kosmos.chunking.indexer_ladder import Fallback, Policy
from kosmos.chunking.indexer_sheet import Sheet, lay_out
from kosmos.chunking.redaction import find_redactions
from kosmos.chunking.rules import check_chunks
from kosmos.domain.chunks import ChunkType
from kosmos.ingest.blocks import parse_blocks

from .markdown_texts import generate
from .pointing_doubles import empty, garbage, good, nothing, unknown_tool, wild

TEXTS = int(os.environ.get("KOSMOS_FUZZ_TEXTS", "500"))
SMALL = Limits(lines=8, tokens=150, least_tokens=1)


def sheet_of(text: str) -> Sheet:
    """The text as a job lays it out."""
    return lay_out(text, parse_blocks(text), title="T", redactions=find_redactions(text))


def test_chunks_hold_whatever_the_model_says() -> None:
    asked = 0
    for seed in range(TEXTS):
        text = generate(seed)
        if text == "":
            continue
        sheet = sheet_of(text)
        fallback = Fallback.SENTINEL if seed % 3 == 0 else Fallback.STRUCTURE
        index = index_text(sheet, wild(seed), policy=Policy(fallback, SMALL), tails=seed % 2 == 0)
        assert check_chunks(text, index.drafts) == [], seed
        assert bool(index.tally.sentinels) == any(d.type is ChunkType.ERROR for d in index.drafts), seed
        asked += sum(region.asked for region in plan_regions(sheet, limits=SMALL))
    assert asked > TEXTS


@pytest.mark.parametrize("model", [good, nothing, empty, garbage, unknown_tool])
def test_chunks_hold_with_models_of_one_mind(model: object) -> None:
    for seed in range(5000, 5030):
        text = generate(seed) or "x"
        index = index_text(sheet_of(text), model, policy=Policy(limits=SMALL))  # type: ignore[arg-type]
        assert check_chunks(text, index.drafts) == [], seed
        assert model is not good or index.tally.reasks == 0


def test_nothing_hidden_is_ever_sent_or_summarized() -> None:
    seen: list[str] = []

    def spy(question: object) -> object:
        seen.append(str(question.messages))  # type: ignore[attr-defined]
        return good(question)  # type: ignore[arg-type]

    hidden = 0
    for seed in range(120):
        sheet = sheet_of(generate(seed) or "x")
        hidden += len(sheet.redactions)
        index = index_text(sheet, spy, policy=Policy(limits=SMALL))  # type: ignore[arg-type]
        assert not any("ad@example.com" in draft.summary for draft in index.drafts)
    assert hidden > 50
    assert not any("ad@example.com" in text or "<!--" in text for text in seen)


def test_regions_cover_the_text_and_go_on_from_any_boundary() -> None:
    for seed in range(150):
        sheet = sheet_of(generate(seed) or "x")
        regions = list(plan_regions(sheet, limits=SMALL))
        lines = [line for region in regions for line in range(region.start_line, region.end_line + 1)]
        assert lines == list(range(1, len(sheet.lines) + 1))
        for at, region in enumerate(regions):
            assert list(plan_regions(sheet, region.start_line, SMALL)) == regions[at:]
