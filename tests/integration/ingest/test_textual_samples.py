"""Every sample gives its text or a clear reason, twice the same, and the host goes on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kosmos.errors import InvalidInput
from kosmos.ingest.canonical import is_canonical
from kosmos.ingest.conversion import ConversionHost

from .samples_textual import BAD, GOOD, Sample


@pytest.fixture
async def host() -> AsyncIterator[ConversionHost]:
    async with ConversionHost(processes=1) as host:
        yield host


def test_there_are_enough_of_them() -> None:
    assert len(GOOD) + len(BAD) >= 40
    assert len({sample.name for sample in GOOD + BAD}) == len(GOOD) + len(BAD)


async def test_good_files_give_their_text_twice_the_same(host: ConversionHost, tmp_path: Path) -> None:
    for sample in GOOD:
        once = await host.convert(sample.data, sample.name)
        file = tmp_path / sample.name
        file.write_bytes(sample.data)
        again = await host.convert(file, sample.name)
        assert sample.words in once.canonical.text, sample.name
        assert is_canonical(once.canonical.text)
        assert once.canonical.converter == once.converter
        assert (again.canonical, again.origins, again.figures) == (once.canonical, once.origins, once.figures)


async def test_bad_files_give_a_reason_and_a_remedy(host: ConversionHost) -> None:
    for sample in BAD:
        with pytest.raises(InvalidInput) as caught:
            await host.convert(sample.data, sample.name)
        assert sample.reason in caught.value.message, sample.name
        assert caught.value.remedy, sample.name
    assert (await host.convert(b"<html><p>still here", "a.html")).canonical.text == "still here"


async def test_origins_and_figures_come_through(host: ConversionHost) -> None:
    samples: dict[str, Sample] = {sample.name: sample for sample in GOOD}
    book = await host.convert(samples["book.epub"].data, "book.epub")
    assert [(origin.kind, origin.name) for origin in book.origins] == [("section", "章")]
    assert book.canonical.lines[book.figures[0].line - 1] == f"![图](asset:{book.figures[0].sha256})"
    assert book.canonical.title == "书名"
    code = await host.convert(samples["code.py"].data, "code.py")
    assert [(origin.line, origin.kind, origin.place) for origin in code.origins] == [(2, "line", 1)]
