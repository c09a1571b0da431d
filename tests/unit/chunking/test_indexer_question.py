"""What a model is shown: where something may begin, titles as they are read, and what is asked for."""

import pytest

from kosmos.chunking.indexer_answers import Pointed
from kosmos.chunking.indexer_batches import Region, find_runs
from kosmos.chunking.indexer_filing import file_answer
from kosmos.chunking.indexer_prompt import Title, make_question, wanted_starts
from kosmos.chunking.indexer_sheet import Sheet, lay_out
from kosmos.ingest.blocks import parse_blocks

LONG = "The pump is blue and needs oil every day, says the manual of the maker. " * 12


def sheet_of(text: str) -> Sheet:
    """The text laid out."""
    return lay_out(text, parse_blocks(text), title="Pumps")


def asked(text: str, *outline: Title, tail: bool = False) -> str:
    """The words about a whole text."""
    sheet = sheet_of(text)
    question = make_question(sheet, Region(1, len(sheet.lines)), outline, tail=tail)
    return str(question.messages[1]["content"])


def numbered(text: str) -> list[int]:
    """The lines that carry a number."""
    return [stretch.sign for stretch in sheet_of(text).stretches if stretch.heading is None]


def test_titles_are_sent_as_they_are_read() -> None:
    said = asked(f"## 泵 {{#pump}}\n\n{LONG}\n\nValves\n======\n\n{LONG}\n")
    assert "\n## 泵\n" in said
    assert "\n# Valves\n\n8|" in said
    assert "#pump" not in said
    assert "======" not in said
    assert said.startswith("Document: Pumps\n\n\n<<<\n## 泵")


def test_the_outline_is_what_is_open_and_the_last_few() -> None:
    titles = [Title(1, "Book"), *(Title(2, f"Part {n}") for n in range(9))]
    said = asked(LONG, *titles)
    shown = said.split("\n\n<<<", 1)[0].split("\n")[1:]
    assert shown == ["Outline so far:", "# Book", *(f"## Part {n}" for n in range(4, 9))]


def test_the_task_names_starts_and_how_many_summaries() -> None:
    assert asked(LONG).endswith("\n>>>\n\nBegin units at 1; 1 summary in all, in English.")
    many = "\n\n".join([LONG] * 12)
    assert "Begin units at 1; 2 summaries in all, for the longest units, in English." in asked(many)
    assert "unfinished_from" in asked(many, tail=True)


def test_the_start_that_is_asked_for_has_words() -> None:
    text = f"------------\n\n第一回 甄士隐\n\n{LONG}"
    sheet = sheet_of(text)
    assert wanted_starts(sheet, Region(1, 5)) == [3]
    assert [run.units for run in find_runs(sheet, Region(1, 5))] == [1]


@pytest.mark.parametrize(
    ("lines", "starts"),
    [
        # Wrapped prose with one long address: no line but the first begins anything.
        (["Words that go on and on over the end of the line"] * 20 + [f"see /{'a' * 250}", "and so on"], [1]),
        # Chinese without blanks: a colon in the sentence names no speaker.
        (["当策略集合发生变化时这可能是由于" * 12, "此时是否生效由实现定义，例如：某个策略" * 12], [1]),
        (["李雷：" + "泵坏了" * 60, "韩梅梅：" + "我去看看" * 60, "MR. NIKOUI: " + "yes " * 200], [1, 2, 3]),
    ],
)
def test_only_lines_that_begin_something_have_numbers(lines: list[str], starts: list[int]) -> None:
    assert numbered("\n".join(lines)) == starts


def test_long_indented_prose_is_not_one_block_of_code() -> None:
    paragraph = "    " + "此开卷第一回也作者自云因曾历过一番梦幻" * 20
    text = "\n\n".join([paragraph] * 12)
    assert numbered(text) == list(range(1, 24, 2))
    assert all(stretch.sent for stretch in sheet_of(text).stretches)
    assert numbered("\n\n".join([paragraph] * 3)) == [1]  # what fits may well be code
    fenced = "```\n" + text + "\n```"
    assert numbered(fenced) == [1]
    assert not sheet_of(fenced).stretches[0].sent


def test_starts_without_a_summary_get_a_sentence_of_their_own() -> None:
    text = "\n\n".join([LONG, f"Valves leak. {LONG}", "Tiny.", f"Motors hum. {LONG}"])
    sheet = sheet_of(text)
    pointed = Pointed({}, {1: "All about pumps"}, frozenset({3, 5, 7}))
    parts = file_answer(sheet, Region(1, 7), pointed)
    assert [(part.start_line, part.end_line) for part in parts] == [(1, 2), (3, 6), (7, 7)]
    assert parts[0].summary == "All about pumps"
    assert parts[1].summary in text  # a scrap stays with what stands before it
    assert parts[2].summary in text
