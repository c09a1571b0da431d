"""Office archives are opened only when they cannot blow up; damage gives reasons, nothing else."""

import importlib
import io
import random
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest

from kosmos.domain.extracts import Extract
from kosmos.errors import InvalidInput, KosmosError, TooLarge
from kosmos.ingest.formats import ocr, zip_limits
from kosmos.ingest.formats.zip_limits import open_archive

from . import samples_office, samples_pdf


def _book(book: openpyxl.Workbook) -> None:
    book.active.append(["a", "b"])
    book.active.append([1, 2.5])
    book.active["A4"] = "merged"
    book.active.merge_cells("A4:B4")


def _picture(kind: str) -> Callable[[], bytes]:
    return lambda: samples_pdf.encode(samples_pdf.picture_of("x", (64, 64)), kind)


SAMPLES: dict[str, list[Callable[[], bytes]]] = {
    "pdf": [samples_pdf.report, samples_pdf.chinese],
    "docx": [samples_office.word],
    "pptx": [samples_office.slides],
    "xlsx": [lambda: samples_office.workbook(_book)],
    "image": [_picture(kind) for kind in ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP")],
}
PARTS = {"docx": "word/document.xml", "pptx": "ppt/slides/slide1.xml", "xlsx": "xl/worksheets/sheet1.xml"}


def _archive(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _open(data: bytes) -> zipfile.ZipFile:
    return open_archive(data, "a.docx", "Word document")


@pytest.mark.parametrize("kind", PARTS)
def test_a_bomb_is_refused_before_it_is_unpacked(kind: str) -> None:
    bomb = _archive({PARTS[kind]: b"<a>" + b" " * (60 * 2**20) + b"</a>"})
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge, match="far more than it holds"):
        importlib.import_module(f"kosmos.ingest.formats.{kind}").extract(bomb, "bomb")


def test_many_and_large_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _archive({f"{index}.bin": b"x" * 1000 for index in range(12)})
    monkeypatch.setattr(zip_limits, "MAX_MEMBERS", 10)
    with pytest.raises(TooLarge, match="12 parts"):
        _open(data)
    monkeypatch.setattr(zip_limits, "MAX_MEMBERS", 100)
    monkeypatch.setattr(zip_limits, "MAX_BYTES", 5000)
    with pytest.raises(TooLarge, match="unpacks to"):
        _open(data)


ENTITY = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'


@pytest.mark.parametrize(
    "content",
    [
        ENTITY.encode(),
        ENTITY.encode("utf-16"),
        ENTITY.encode("utf-16-be"),
        b"<!--" + b"x" * (2**20 - 8) + b"-->" + ENTITY.encode(),
        b'<?xml version="1.0" encoding="cp037"?>' + ENTITY.encode("cp037"),
        b'<?xml version="1.0" encoding="utf-7"?>' + ENTITY.encode("utf-7"),
    ],
    ids=["plain", "utf-16", "utf-16 without mark", "after a long comment", "EBCDIC", "utf-7"],
)
def test_entities_are_refused_however_they_are_spelled(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="XML of a kind Office never writes"):
        _open(_archive({"word/document.xml": content}))


def test_old_or_encrypted_office_files_are_named() -> None:
    with pytest.raises(InvalidInput, match="encrypted or in the old binary form"):
        _open(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_deep_nesting_ends_in_a_reason(kind: str) -> None:
    deep = b"<w:p>" * 20_000 + b"</w:p>" * 20_000
    data = samples_office.repack(
        SAMPLES[kind][0](),
        lambda name, content: b'<w:p xmlns:w="x">' + deep + b"</w:p>" if name == PARTS[kind] else content,
    )
    result = _try(kind, data)
    assert isinstance(result, Extract | KosmosError)


def _try(kind: str, data: bytes) -> Any:
    """The text of a file or the reason it has none, which names the file and says what to do."""
    try:
        return importlib.import_module(f"kosmos.ingest.formats.{kind}").extract(data, "a.file")
    except KosmosError as error:
        refusal = error
    assert refusal.message.startswith("a.file")
    assert refusal.remedy
    return refusal


def _damage(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    kind = chance.randrange(3)
    if kind < 2:
        changed = changed[: chance.randrange(len(changed))]
    if kind > 0:
        for _ in range(chance.choice([1, 5, 50])):
            if changed:
                changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("kind", SAMPLES)
def test_damaged_files_give_text_or_a_reason(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    chance = random.Random(7)
    for _ in range(30):
        result = _try(kind, _damage(chance.choice(SAMPLES[kind])(), chance))
        if isinstance(result, Extract):
            count = len(result.markdown.split("\n"))
            lines = [*(origin.line for origin in result.origins), *(figure.line for figure in result.figures)]
            assert all(1 <= line <= count for line in lines)


@pytest.mark.parametrize("kind", PARTS)
def test_damaged_parts_give_text_or_a_reason(kind: str) -> None:
    chance = random.Random(11)
    whole = SAMPLES[kind][0]()
    outcomes = set()
    for _ in range(12):
        target = chance.choice(zipfile.ZipFile(io.BytesIO(whole)).namelist())
        seed = chance.random()

        def change(name: str, content: bytes, target: str = target, seed: float = seed) -> bytes:
            return _damage(content, random.Random(seed)) if name == target and content else content

        outcomes.add(type(_try(kind, samples_office.repack(whole, change))))
    assert Extract in outcomes
