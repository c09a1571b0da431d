"""`read` and `grep` give exactly what the canonical text holds, page by page, for those who may read it."""

import random
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kosmos.domain.accounts import Role, Scope
from kosmos.domain.documents import Document
from kosmos.errors import Conflict, DataLost, InvalidInput, NotFound
from kosmos.ingest.grep import SHOWN_CHARS
from kosmos.tasks.adding import Source, add_document
from kosmos.tasks.grep import Match, Wanted, grep_documents
from kosmos.tasks.overview import list_chunks, view_document
from kosmos.tasks.reading import MAX_LINES, Place, read_place

from .paged import PagedConverter
from .scene import HookedBlobs, Scene

WORDS = ["pump", "oil", "valve", ".*", "a+b", "(x)", "[y]", "$1", "^", "\\", "|", "\t", "ﬁ", "İ", "ß"]
WORDS += [
    "证书",
    "轮换",
    "叶子证书每九十天",
    "數據庫",
    "ファイル",
    "שלום",
    "\u202eabc\u202c",
    "e\u0301",
    "\ufeff",
]
WORDS += ["❤️", "👩\u200d👩\u200d👧", "\ue000", "\U0010ffff", "\u200d", "\u00a0", "\u2028", "\u0085", "\u3000"]
MANUAL = """# Manual

Intro 简介.

## 安装

请先停止数据库服务。

### Linux

apt

## Remove

### Linux

rm
"""


@dataclass(frozen=True)
class Book:
    """A stored document, its canonical lines, and the page of each of them if it has pages."""

    document: Document
    lines: list[str]
    pages: list[int] | None

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """For Hypothesis, which would print all of it."""
        printer.text(self.document.source)

    def page(self, line: int) -> int | None:
        return self.pages[line - 1] if self.pages else None


def _text(rng: random.Random, breaks: str) -> str:
    """Lines of words in both languages and of odd characters, some of them long, some empty."""
    lengths = [0, 0, 1, 3, 8, 8, 30] + [300] * (rng.random() < 0.3)
    made = [" ".join(rng.choices(WORDS, k=rng.choice(lengths))) for _ in range(rng.randint(1, 120))]
    return "".join(f"{line}{rng.choice(breaks)}" for line in made) + "end"


class QuickBlobs(HookedBlobs):
    """Blobs that read everything once: a thousand examples read the same few."""

    known: ClassVar[dict[str, bytes]] = {}

    async def read(self, sha256: str) -> bytes:
        if sha256 not in self.known:
            self.known[sha256] = await self._inner.read(sha256)
        return self.known[sha256]


@pytest.fixture
async def shelf(scene: Scene) -> list[Book]:
    """Documents with and without pages."""
    rng = random.Random(20261115)
    books = []
    for number in range(8):
        paged = PagedConverter(first=rng.choice([1, 1, 7]), kind=rng.choice(["page", "slide"]))
        source = _text(rng, "\n\n\n\n\f" if number % 2 else "\n")
        place = scene.using(converter=cast("Any", paged)) if number % 2 else scene
        document, _ = await place.add(source, f"{number}.md")
        assert document.canonical_sha256 is not None
        lines = (await scene.bench.blobs.read(document.canonical_sha256)).decode().split("\n")
        books.append(Book(document, lines, paged.pages(source) if number % 2 else None))
        assert len(lines) == document.line_count == len(books[-1].pages or lines)
    return books


@settings(
    max_examples=100,  # of five ranges each, on each of the two engines
    deadline=None,
    phases=[Phase.generate],  # a smaller seed is not a smaller example
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
async def test_any_range_agrees_with_the_canonical_text(scene: Scene, shelf: list[Book], seed: int) -> None:
    scene = scene.using(blobs=cast("Any", QuickBlobs(scene.bench.blobs)))
    rng = random.Random(seed)
    book, needles = rng.choice(shelf), []
    for _ in range(5):
        start = rng.randint(1, len(book.lines))
        end = rng.choice([None, rng.randint(start, len(book.lines) + 3)])
        await _check_range(scene, book, start, end)
        line = rng.choice(book.lines[start - 1 : end])
        cut = rng.randint(0, len(line))
        needles.append(line[cut : cut + rng.randint(1, 12)])
    await _check_page(scene, book, start)
    await _check_grep(scene, book, [needle for needle in needles if needle])


def _same(found: Any, wanted: Any) -> None:
    """The first difference alone: a picture of all of them would take minutes to draw."""
    if found != wanted:
        pairs = enumerate(zip(list(found), list(wanted), strict=False))
        first = next((pair for pair in pairs if pair[1][0] != pair[1][1]), "one is longer")
        pytest.fail(f"differ at {first}")


async def _check_range(scene: Scene, book: Book, start: int, end: int | None) -> None:
    """The lines are those of the text, and each stands on its page."""
    found = await read_place(scene.bench, scene.owner, book.document.id, Place(start, end))
    _same(list(found.lines), book.lines[start - 1 : end])
    assert (found.start_line, found.truncated) == (start, False)
    shown = [(line, span.page) for span in found.pages for line in range(span.start_line, span.end_line + 1)]
    numbers = range(start, start + len(found.lines))
    _same(shown, [(line, book.page(line)) for line in numbers if book.pages])


async def _check_page(scene: Scene, book: Book, line: int) -> None:
    """The page of a line, read by its number, holds that line and nothing from other pages."""
    if book.pages is None:
        with pytest.raises(NotFound):
            await read_place(scene.bench, scene.owner, book.document.id, Place(page=1))
        return
    page = book.pages[line - 1]
    found = await read_place(scene.bench, scene.owner, book.document.id, Place(page=page))
    numbers = [number for number, other in enumerate(book.pages, start=1) if other == page]
    assert found.start_line == numbers[0]
    _same(list(found.lines), [book.lines[number - 1] for number in numbers])
    assert [span.page for span in found.pages] == [page]


async def _check_grep(scene: Scene, book: Book, needles: list[str]) -> None:
    """Every line with the text is found, and none without it, both as text and as a pattern."""
    wanted = Wanted("", document_id=book.document.id, context=2, max_matches=1000)
    for fixed, words in ((True, needles[:1]), (False, needles)):
        if words:
            pattern = words[0] if fixed else "|".join(re.escape(word) for word in words)
            search = replace(wanted, pattern=pattern, fixed=fixed)
            found = await grep_documents(scene.bench, scene.owner, search)
            lines = [n for n, line in enumerate(book.lines, 1) if any(word in line for word in words)]
            _same([match.line for match in found.matches], lines)
            for match in found.matches:
                _check_match(book, match, words)


def _check_match(book: Book, match: Match, words: list[str]) -> None:
    line, around = book.lines[match.line - 1], [text[:SHOWN_CHARS] for text in book.lines]
    assert line[match.column - 1 : match.end_column - 1] in words
    assert line[match.offset :].startswith(match.text)
    assert len(match.text) == min(len(line), SHOWN_CHARS)
    assert match.offset <= match.column - 1 <= match.offset + len(match.text)
    assert match.page == book.page(match.line)
    _same(match.before, tuple(around[max(0, match.line - 3) : match.line - 1]))
    _same(match.after, tuple(around[match.line : match.line + 2]))


@pytest.mark.parametrize(
    ("heading", "lines"),
    [("安装", (5, 12)), ("安装 > linux", (9, 12)), ("Remove > Linux", (15, 17)), ("#remove", (13, 17))],
)
async def test_the_lines_below_a_heading(scene: Scene, heading: str, lines: tuple[int, int]) -> None:
    document, _ = await scene.add(MANUAL)
    found = await read_place(scene.bench, scene.owner, document.id, Place(heading=heading))
    assert (found.start_line, found.start_line + len(found.lines) - 1) == lines
    assert list(found.lines) == MANUAL.split("\n")[lines[0] - 1 : lines[1]]


@pytest.mark.parametrize(
    ("place", "error"),
    [
        (Place(heading="Linux"), InvalidInput),
        (Place(heading="macOS"), NotFound),
        (Place(heading=" "), InvalidInput),
        (Place(page=1), NotFound),
        (Place(start=18), NotFound),
        (Place(start=0), InvalidInput),
        (Place(start=3, end=2), InvalidInput),
        (Place(start=3, page=2), InvalidInput),
        (Place(end=3, heading="x"), InvalidInput),
        (Place(page=1, heading="x"), InvalidInput),
    ],
)
async def test_places_that_are_not_there(scene: Scene, place: Place, error: type[Exception]) -> None:
    document, _ = await scene.add(MANUAL)
    with pytest.raises(error) as caught:
        await read_place(scene.bench, scene.owner, document.id, place)
    assert getattr(caught.value, "remedy")  # noqa: B009


async def test_at_most_so_many_lines_unless_all_are_wanted(scene: Scene) -> None:
    lines = [f"{number} {'whale ' * 40}end" for number in range(1, MAX_LINES + 101)]
    document, _ = await scene.add("\n".join(lines))
    found = await read_place(scene.bench, scene.owner, document.id, Place(start=11))
    assert list(found.lines) == lines[10 : MAX_LINES + 10]
    assert found.truncated
    every = await read_place(scene.bench, scene.owner, document.id, Place(), most=None)
    assert (len(every.lines), every.truncated) == (document.line_count, False)


async def test_a_text_that_is_not_there_yet_or_never_comes(scene: Scene) -> None:
    source = Source("test:///a", "a.md", b"# A\n\ntext")
    added = await add_document(scene.bench, scene.owner, scene.space_id, source)
    with pytest.raises(Conflict, match="no text yet"):
        await read_place(scene.bench, scene.owner, added.document.id, Place())
    with pytest.raises(InvalidInput):
        await scene.add(b"\x00\x01\x02", "bad.md")
    (bad,) = [item for item in await scene.documents() if item.source == "bad.md"]
    assert bad.error is not None
    with pytest.raises(Conflict) as caught:
        await read_place(scene.bench, scene.owner, bad.id, Place())
    assert bad.error in caught.value.message


async def test_a_new_version_while_somebody_reads(scene: Scene) -> None:
    document, _ = await scene.add("# Old\n\nold words")
    replaced = False

    async def replace_once() -> None:
        nonlocal replaced
        if not replaced:
            replaced = True
            await scene.add("# New\n\nnew words")

    class Slow(HookedBlobs):
        async def read(self, sha256: str) -> bytes:
            await replace_once()
            return await self._inner.read(sha256)

    reader = scene.using(blobs=cast("Any", Slow(scene.bench.blobs)))
    found = await read_place(reader.bench, scene.owner, document.id, Place())
    assert list(found.lines) == ["# New", "", "new words"]


async def test_lost_bytes_are_reported(scene: Scene) -> None:
    document, _ = await scene.add(MANUAL)
    assert document.canonical_sha256 is not None
    await scene.bench.blobs.remove(document.canonical_sha256)
    with pytest.raises(DataLost):
        await read_place(scene.bench, scene.owner, document.id, Place())


async def test_everything_about_a_document_for_its_readers(scene: Scene) -> None:
    place = scene.using(converter=cast("Any", PagedConverter()))
    document, _ = await place.add("# One\n\nwords\f# Two\n\nmore", "two.pdf")
    bob = await scene.person("bob")
    for attempt in (
        read_place(scene.bench, bob, document.id, Place()),
        view_document(scene.bench, bob, document.id),
        list_chunks(scene.bench, bob, document.id),
    ):
        with pytest.raises(NotFound):
            await attempt
    await scene.invite("bob", Role.VIEWER)
    reader = replace(bob, scope=Scope.READ)
    view = await view_document(scene.bench, reader, document.id)
    assert (view.converter, view.notes) == ("paged/1", ("One thing was left out.",))
    assert {job.type for job in view.jobs} == {"indexing", "chunking", "document_processing"}
    assert (view.spent.cost, view.assets) == (0.0, ())
    found = await list_chunks(scene.bench, reader, document.id)
    assert view.chunk_count == len(found) > 1
    assert found == [
        item
        for position in range(-1, len(found) - 1)
        for item in await list_chunks(scene.bench, reader, document.id, after=position, limit=1)
    ]
    assert "\n".join(chunk.raw_content for chunk in found) == "# One\n\nwords\n# Two\n\nmore"
    assert {chunk.metadata["page"] for chunk in found} == {1, 2}
