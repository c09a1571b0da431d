"""Fuzzers of documents: whatever a file holds, a canonical text comes out, or a refusal."""

import json
import random
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from fuzz_chunking import Told, _check
from fuzz_texts import make_text
from hypothesis import strategies as st

from fuzzing.fuzzer import Fuzzer, require, wait
from fuzzing.mutating import ODD, damaged, damaged_archives, values
from kosmos.chunking.indexer import index_text
from kosmos.chunking.indexer_batches import Limits as Batches
from kosmos.chunking.indexer_ladder import Fallback, Policy, Reply
from kosmos.chunking.indexer_prompt import HEADINGS, REDACT, SUMMARY
from kosmos.chunking.indexer_sheet import lay_out
from kosmos.chunking.rules import check_chunks
from kosmos.chunking.structure import chunk_by_structure
from kosmos.errors import ConversionFailed, KosmosError
from kosmos.ingest.blocks import parse_blocks
from kosmos.ingest.canonical import canonicalize, clean_text, is_canonical
from kosmos.ingest.conversion import ConversionHost
from kosmos.ingest.conversion_result import read_result, write_result
from kosmos.ingest.extraction import extract_canonical
from kosmos.ingest.limits import Limits
from kosmos.ingest.sniffing import sniff
from kosmos.ingest.tree import parse_tree

ROOT = Path(__file__).resolve().parents[2]
TAGS: tuple[str, ...] = (
    "div",
    "p",
    "table",
    "tr",
    "td",
    "th",
    "ul",
    "ol",
    "li",
    "pre",
    "code",
    "h1",
    "h3",
    "a",
    "img",
    "svg",
)
TAGS += ("script", "style", "template", "math", "select", "details", "blockquote", "br", "b", "title", "body")
MARKUP = tuple(f"<{tag}>".encode() for tag in TAGS) + tuple(f"</{tag}>".encode() for tag in TAGS)
MARKUP += (
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b' href="javascript:x"',
    b' src="data:image/png;base64,AAAA"',
    b"&#0;",
)
MARKUP += (b"&#xD800;", b' rowspan="99999999"', b' colspan="-1"', b"<!DOCTYPE html>", b' class="note">')
LIMITS = Limits()


@cache
def _texts() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.md"))]


def _structure(seed: int) -> str:
    found = _check(seed, clean_text(make_text(seed)), Counter())
    require(not found, found[0] if found else "")
    return "held"


def _markdown(data: bytes) -> str:
    canonical = canonicalize(data, "notes.md")
    text = canonical.text
    require(is_canonical(text), "the text is not canonical")
    tree, lines = parse_tree(text), text.count("\n") + 1
    require(all(1 <= node.start_line <= node.end_line <= lines for node in tree.nodes), "lines of the tree")
    require(all(1 <= link.line <= lines for link in tree.links), "the line of a link")
    broken = check_chunks(text, chunk_by_structure(text, parse_blocks(text)))
    require(not broken, f"{broken[0].rule if broken else ''}")
    return "held"


def _lying_calls() -> st.SearchStrategy[tuple[int, list[tuple[str, Any]]]]:
    number = st.one_of(st.integers(-2, 60), values(0))
    unit = st.one_of(st.fixed_dictionaries({"line": number, "summary": values(0)}), values(1))
    span = st.one_of(
        st.fixed_dictionaries({"start_line": number, "end_line": number, "kind": values(0)}), values(1)
    )
    told = st.fixed_dictionaries(
        {},
        optional={
            "units": st.one_of(st.lists(unit, max_size=5), values(1)),
            "more_starts": st.one_of(st.lists(number, max_size=5), values(1)),
            "unfinished_from": number,
            "ranges": st.one_of(st.lists(span, max_size=3), values(1)),
            "h1": st.one_of(st.lists(number, max_size=4), values(1)),
            "h2": st.one_of(st.lists(number, max_size=4), values(1)),
        },
    )
    names = st.sampled_from([SUMMARY, SUMMARY, HEADINGS, REDACT, "", "other"])
    return st.tuples(st.integers(0, 5000), st.lists(st.tuples(names, st.one_of(told, values(2))), max_size=4))


def _indexer(case: tuple[int, list[tuple[str, Any]]]) -> str:
    seed, said = case
    text = clean_text(make_text(seed))
    if not text:
        return "held"
    calls = [Told(name, given if isinstance(given, dict) else None) for name, given in said]
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    policy = Policy(chance.choice(list(Fallback)), Batches(30, 600, 1))
    sheet = lay_out(text, parse_blocks(text), title="T", redactions=())
    index = index_text(sheet, lambda _: Reply(calls, "tool_calls"), policy=policy, tails=False)
    broken = check_chunks(text, index.drafts)
    require(not broken, f"{broken[0].rule if broken else ''}")
    return "held"


def _converts(kind: str, *, own: bool) -> Any:
    """A check for one format. What is our `own` code may raise refusals only; a library may fail."""

    def check(data: bytes) -> str:
        try:
            canonical, extract = extract_canonical(kind, data, f"file.{kind}", limits=LIMITS)
        except KosmosError:
            raise
        except Exception as error:
            if own:
                raise
            # The converting process turns it into a ConversionFailed.
            raise ConversionFailed(str(error)) from None
        require(is_canonical(canonical.text), "the text is not canonical")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result"
            write_result(path, canonical, extract)
            try:
                read_result(path, kind, LIMITS)
            except ConversionFailed as error:
                require(False, f"the reader does not take what the converter wrote: {error.__cause__!r}")
        return "held"

    return check


def _html() -> st.SearchStrategy[bytes]:
    grammar = st.lists(st.sampled_from([*MARKUP, b" text ", "证书".encode(), b"\n"]), max_size=40).map(
        b"".join
    )
    page = b"<html><head><title>T</title></head><body><main><h1>Pump</h1><p>Oil <a href='x'>it</a></p>"
    page += b"<table><tr><th>a</th></tr><tr><td>1</td></tr></table><ul><li>x<ul><li>y</li></ul></li></ul>"
    page += "<pre><code class='language-sh'>ls</code></pre><p>证书<sup id='f1'>1</sup></p></main>".encode()
    return st.one_of(grammar, damaged([page], (*ODD, *MARKUP)))


@cache
def _textual() -> dict[str, list[bytes]]:
    cell = {"cell_type": "code", "metadata": {}, "source": ["x=1"], "execution_count": 1, "outputs": []}
    notebook = json.dumps({"cells": [cell, {"cell_type": "markdown", "source": "# T"}], "nbformat": 4})
    rst = b"Title\n=====\n\n.. note:: x\n\n   y\n\n* a\n* b\n\n+---+---+\n| a | b |\n+---+---+\n"
    rst += b"\n.. code:: sh\n\n   ls\n"
    return {
        "csv": [b'a,b\n1,2\n"x,y",z\n', "名;值\n甲;1\n".encode("gbk")],
        "ipynb": [notebook.encode()],
        "rst": [rst],
        "text": [b"def f():\n    return 1\n"],
        "markdown": _texts(),
    }


def _textual_files() -> st.SearchStrategy[tuple[str, bytes]]:
    known = _textual()
    return st.sampled_from(sorted(known)).flatmap(lambda kind: st.tuples(st.just(kind), damaged(known[kind])))


def _textual_file(case: tuple[str, bytes]) -> str:
    kind, data = case
    return str(_converts(kind, own=kind != "rst")(data))


@cache
def _pdfs() -> list[bytes]:
    from office import samples_pdf

    from acceptance.pdf import make_pdf

    small = make_pdf([["A pump needs oil.", "Every 40 days."], ["Second page."]])
    return [small, samples_pdf.report(), samples_pdf.chinese()]


PDF_WORDS = (
    *ODD,
    b"/Kids",
    b"/Parent 1 0 R",
    b"0 R",
    b"endobj",
    b"stream\n",
    b"/Length 99999999",
    b"/Count -5",
)


@cache
def _offices() -> dict[str, list[bytes]]:
    from office import samples_office

    def fill(book: Any) -> None:
        for row in range(5):
            book.active.append([row, f"x{row}", 1.5, None])

    return {
        "docx": [samples_office.word()],
        "pptx": [samples_office.slides()],
        "xlsx": [samples_office.workbook(fill)],
        "epub": [_book()],
    }


def _book() -> bytes:
    import io
    import zipfile

    container = '<container><rootfiles><rootfile full-path="o/c.opf"/></rootfiles></container>'
    package = "<package><metadata><title>T</title></metadata><manifest><item id='a' href='a.xhtml' "
    package += "media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("o/c.opf", package)
        archive.writestr("o/a.xhtml", "<html><body><h1>A</h1><p>Pump.</p></body></html>")
    return made.getvalue()


def _office_files() -> st.SearchStrategy[tuple[str, bytes]]:
    known = _offices()
    return st.sampled_from(sorted(known)).flatmap(
        lambda kind: st.tuples(st.just(kind), damaged_archives(known[kind]))
    )


def _office_file(case: tuple[str, bytes]) -> str:
    return str(_converts(case[0], own=False)(case[1]))


_hosts: list[ConversionHost] = []


def _hosted_files() -> st.SearchStrategy[tuple[str, bytes]]:
    pdfs = damaged(_pdfs(), PDF_WORDS).map(lambda data: ("pdf", data))
    return st.one_of(pdfs, _office_files())


def _hosted(case: tuple[str, bytes]) -> str:
    """The real way of a file: another process, its result read with suspicion."""
    if not _hosts:
        _hosts.append(ConversionHost(processes=1))
    converted = wait(_hosts[0].convert(case[1], f"file.{case[0]}"))
    require(is_canonical(converted.canonical.text), "the text is not canonical")
    return "held"


def _any_file(data: bytes) -> str:
    sniff(data, "file.bin")
    return "held"


def _all_files() -> st.SearchStrategy[bytes]:
    samples = [*_pdfs()[:1], *(data for known in _offices().values() for data in known), *_texts()[:1]]
    return st.one_of(st.binary(max_size=64), damaged([sample[:4000] for sample in samples]))


ONLY_REFUSALS = "a canonical text that the suspicious reader takes, or a refusal"
COVERAGE = "chunks joined are the text, to the byte, in a tree that obeys the rules"
FUZZERS = (
    Fuzzer("markdown", COVERAGE, 700, lambda: st.integers(0, 10**9), _structure),
    Fuzzer("markdown bytes", COVERAGE, 700, lambda: damaged(_texts()), _markdown),
    Fuzzer("indexer's calls", COVERAGE, 1000, _lying_calls, _indexer),
    Fuzzer("html", ONLY_REFUSALS, 4000, _html, _converts("html", own=True)),
    Fuzzer("csv, ipynb, rst, text", ONLY_REFUSALS, 2500, _textual_files, _textual_file),
    Fuzzer("pdf", ONLY_REFUSALS, 400, lambda: damaged(_pdfs(), PDF_WORDS), _converts("pdf", own=False)),
    Fuzzer("docx, xlsx, pptx, epub", ONLY_REFUSALS, 600, _office_files, _office_file),
    Fuzzer("files through the host", ONLY_REFUSALS, 60, _hosted_files, _hosted),
    Fuzzer("kinds of files", "a kind, or a refusal", 3000, _all_files, _any_file),
)
