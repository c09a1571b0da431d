"""PDF files that cannot be read: each gives a plain reason and a remedy."""

import importlib.util

import pytest

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats import pdf, pdf_rescue, pdf_tables
from kosmos.ingest.formats.pdf import extract

from . import samples_pdf as samples


def test_an_encrypted_file_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidInput, match=r"secret\.pdf is encrypted") as caught:
        extract(samples.encrypted("password"), "secret.pdf")
    assert caught.value.remedy
    assert "password" in caught.value.remedy


def test_an_empty_password_opens() -> None:
    assert extract(samples.encrypted(""), "a.pdf").markdown == "Secret words"


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"not a pdf at all", b"%PDF-1.4\n" + b"\x00" * 500])
def test_what_is_no_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"a\.pdf is damaged or cut off"):
        extract(data, "a.pdf")


def test_a_file_without_its_end_gives_text_or_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    data = samples.report()
    cut = data[: len(data) * 3 // 5]
    monkeypatch.setattr(pdf_rescue, "rescue_pages", lambda *_: [])
    monkeypatch.setattr(pdf, "rescue_pages", lambda *_: [])
    with pytest.raises(InvalidInput) as caught:
        extract(cut, "cut.pdf")
    assert caught.value.remedy


@pytest.mark.skipif(importlib.util.find_spec("pdf_oxide") is None, reason="pdf_oxide is not installed")
def test_what_is_rescued_is_marked_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_open", lambda *_: None)
    result = extract(samples.report(), "cut.pdf")
    assert "Annual Report" in result.markdown
    assert [origin.place for origin in result.origins] == [1, 2, 3]
    assert result.notes == ("The file is damaged: only its text was saved, without tables and figures.",)


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    with pytest.raises(TooLarge, match="3 pages; at most 2"):
        extract(samples.report(), "a.pdf")


def test_without_tables_the_text_is_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "find_tables", lambda *_: None)
    result = extract(samples.report(), "a.pdf")
    assert "1,350" in result.markdown
    assert any("Tables could not be looked for" in note for note in result.notes)


def test_an_error_of_the_table_finder_is_no_error_of_the_file() -> None:
    assert pdf_tables.find_tables(b"%PDF-1.7 nothing", 10) is None


def test_errors_of_a_library_become_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As Rust libraries throw it."""

    for error in (RecursionError(), MemoryError(), KeyError("x"), PanicException()):

        def fail(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(pdf, "_open", fail)
        with pytest.raises(InvalidInput) as caught:
            extract(b"", "a.pdf")
        assert caught.value.remedy
