"""Ask again, ask about halves, do without: and what the filed parts look like."""

from collections.abc import Sequence

from kosmos.chunking.indexer import index_text, replace_region
from kosmos.chunking.indexer_batches import Limits, halve, next_region, plan_regions
from kosmos.chunking.indexer_ladder import Fallback, Policy, Reply, file_region
from kosmos.chunking.indexer_prompt import HEADINGS, REDACT, SUMMARY, Question, make_question
from kosmos.chunking.indexer_sheet import Sheet, lay_out
from kosmos.chunking.redaction import find_redactions
from kosmos.chunking.rules import check_chunks
from kosmos.domain.chunks import ChunkDraft, ChunkType
from kosmos.ingest.blocks import parse_blocks

from .pointing_doubles import Call, garbage, good, nothing

WORDS = "The pump number {0} is blue and needs oil every {0} days, says the manual. " * 5
TEXT = "\n\n".join(f"{WORDS.format(n)}\n\n{WORDS.format(n + 50)}" for n in range(40))


def sheet_of(text: str) -> Sheet:
    """The text as a job lays it out."""
    return lay_out(text, parse_blocks(text), title="Pumps", redactions=find_redactions(text))


class Scripted:
    """Gives answers in turn, then good ones, and remembers the questions."""

    def __init__(self, *answers: Sequence[Call]) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)

    def __call__(self, question: Question) -> Reply:
        self.questions.append(question)
        return Reply(self._answers.pop(0)) if self._answers else good(question)


def unit(line: int, summary: str = "All about pumps.") -> Call:
    """One unit."""
    return Call(SUMMARY, {"units": [{"line": line, "summary": summary}]})


def test_the_model_is_told_once_what_was_wrong() -> None:
    model = Scripted([unit(999)])
    index = index_text(sheet_of(TEXT), model, tails=False)
    assert index.tally.reasks == 1
    assert index.tally.halvings == index.tally.fallbacks == 0
    again = str(model.questions[1].messages[2]["content"])
    assert "- generate_content_summary: there is no line 999; numbers go from 1 to" in again
    assert '"line": 999' in again
    assert model.questions[1].messages[:2] == model.questions[0].messages


def test_then_about_halves_and_then_not_at_all() -> None:
    bad = [unit(999)]
    halved = index_text(sheet_of(TEXT), Scripted(bad, bad), tails=False)
    assert (halved.tally.reasks, halved.tally.halvings, halved.tally.fallbacks) == (1, 1, 0)
    assert check_chunks(TEXT, halved.drafts) == []
    model = Scripted(*[bad] * 100)
    lost = index_text(sheet_of(TEXT), model, tails=False)
    assert (lost.tally.halvings, lost.tally.fallbacks, lost.tally.sentinels) == (3, 4, 0)
    assert len(model.questions) == 14
    assert check_chunks(TEXT, lost.drafts) == []


def test_an_answer_that_was_cut_off_is_not_asked_for_again_at_once() -> None:
    index = index_text(sheet_of(TEXT), garbage, tails=False)
    assert index.tally.reasks == 0
    assert index.tally.halvings == 3


def test_a_sentinel_covers_the_region_and_says_why() -> None:
    text = "# Top\n\n" + WORDS.format(1) * 4 + "\n\n## Next\n\nShort."
    index = index_text(sheet_of(text), nothing, policy=Policy(Fallback.SENTINEL))
    (sentinel,) = index.drafts
    assert (sentinel.type, sentinel.level) == (ChunkType.ERROR, -99)
    assert sentinel.summary == (
        "Chunking failed after 1 retries. Last error: no tool was called; call generate_content_summary"
    )
    assert check_chunks(text, index.drafts) == []
    better = index_text(sheet_of(text), good).drafts
    assert replace_region(index.drafts, 1, len(text.split("\n")), better) == better


def test_parents_follow_from_levels_over_batches() -> None:
    text = "\n\n".join(f"{'#' * level} H{level}\n\n{WORDS.format(level) * 3}" for level in (1, 3, 2, 2, 4, 1))
    index = index_text(sheet_of(text), good, policy=Policy(limits=Limits(lines=2, tokens=300)), tails=False)
    levels = [draft.level for draft in index.drafts if draft.type is ChunkType.HEADING]
    parents = [
        None if draft.parent is None else index.drafts[draft.parent].level
        for draft in index.drafts
        if draft.type is ChunkType.HEADING
    ]
    assert levels == [1, 3, 2, 2, 4, 1]
    assert parents == [None, 1, 1, 1, 2, None]


def test_a_found_heading_heads_what_follows_it() -> None:
    text = f"{WORDS.format(1)}\n\n3.2 Results\n\n{WORDS.format(2) * 3}"
    found = [unit(1), Call(HEADINGS, {"headings": [{"line": 3, "level": 2}]})]
    index = index_text(sheet_of(text), Scripted(found))
    assert [(d.type.value, d.start_line, d.end_line, d.summary[:16]) for d in index.drafts] == [
        ("content", 1, 2, "All about pumps."),
        ("heading", 3, 4, "3.2 Results"),
        ("content", 5, 5, "The pump number "),
    ]
    assert index.drafts[2].parent == 1


def test_a_unit_that_is_too_large_is_split() -> None:
    index = index_text(sheet_of(TEXT), Scripted([unit(1)]), tails=False)
    assert len(index.drafts) > 4
    assert index.drafts[0].summary == "All about pumps."
    assert all(draft.from_split and draft.token_count <= 2048 for draft in index.drafts)


def test_a_few_words_before_a_unit_belong_to_it() -> None:
    text = f"# Top\n\nIn short:\n\n{WORDS.format(1) * 4}"
    index = index_text(sheet_of(text), Scripted([[unit(3), unit(5)][1]]))
    assert [(d.start_line, d.end_line) for d in index.drafts] == [(1, 2), (3, 5)]


def test_a_tail_is_asked_about_again_and_progress_is_made() -> None:
    limits = Limits(lines=10, tokens=6000)
    sheet = sheet_of(TEXT)
    last = next_region(sheet, 1, limits).end_line
    model = Scripted([Call(SUMMARY, {"units": [{"line": 1, "summary": "s"}], "unfinished_from": last})])
    index = index_text(sheet, model, policy=Policy(limits=limits))
    assert check_chunks(TEXT, index.drafts) == []
    assert "unfinished_from" in str(model.questions[0].tools)
    assert f"1|{sheet.lines[last - 1][:20]}" in str(model.questions[1].messages[1]["content"])
    assert "unfinished_from" not in str(model.questions[-1].tools)  # the last batch has no next one


def test_a_summary_that_tells_what_is_hidden_is_not_used() -> None:
    text = f"Wilhelmina has diabetes.\n\n{WORDS.format(1) * 4}"
    hide = {"start_line": 1, "end_line": 1, "kind": "private", "reason": "health"}
    calls = [unit(1, "Wilhelmina is ill."), Call(REDACT, {"ranges": [hide]})]
    (draft,) = index_text(sheet_of(text), Scripted(calls)).drafts
    assert "ilhelmina" not in draft.summary
    assert "diabetes" not in draft.summary
    assert draft.summary.startswith("The pump number 1")


def test_what_is_too_long_is_never_sent() -> None:
    long_line = "word " * 9000
    text = f"{WORDS.format(1) * 4}\n\n{long_line.strip()}\n\n{WORDS.format(2) * 4}"
    model = Scripted()
    index = index_text(sheet_of(text), model)
    assert check_chunks(text, index.drafts) == []
    assert len(model.questions) == 2
    assert not any("word word" in str(question.messages) for question in model.questions)


def test_a_question_does_not_depend_on_where_the_text_stands() -> None:
    sheet, moved = sheet_of(TEXT), sheet_of("Moved.\n\n# Top\n\n" + TEXT)
    first, second = next_region(sheet, 1), next_region(moved, 5)
    assert make_question(sheet, first, ()).messages == make_question(moved, second, ()).messages


def test_comments_and_secrets_are_not_sent() -> None:
    text = f"<!-- the English original -->\n\nWrite to jane@example.com.\n\n{WORDS.format(1) * 4}"
    question = make_question(sheet_of(text), next_region(sheet_of(text), 1), ())
    content = str(question.messages[1]["content"])
    assert "original" not in content
    assert "jane" not in content
    assert "3|Write to ⟦email⟧." in content


def test_batches_are_cut_at_headings() -> None:
    text = "\n\n".join(f"## H{n}\n\n{WORDS.format(n)}\n\n{WORDS.format(n)}" for n in range(30))
    sheet = sheet_of(text)
    regions = list(plan_regions(sheet, limits=Limits(lines=9, tokens=6000)))
    assert len(regions) > 4
    assert all(sheet.lines[region.start_line - 1].startswith("## ") for region in regions)
    halves = halve(sheet, next_region(sheet, 1))
    assert halves is not None
    assert sheet.lines[halves[1].start_line - 1].startswith("## ")


def test_a_region_without_content_needs_no_question() -> None:
    text = "\n".join(f"# Heading number {n} of a very long table of contents" for n in range(60))
    steps = file_region(sheet_of(text), next_region(sheet_of(text), 1))
    parts: Sequence[ChunkDraft] = ()
    try:
        next(steps)
    except StopIteration as done:
        parts = done.value.parts
    assert len(parts) == 60
