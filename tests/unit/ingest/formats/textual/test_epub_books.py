"""EPUB books: chapters in the order of the spine, pictures, and what is refused."""

import hashlib
import io
import zipfile

import pytest

from kosmos.errors import InvalidInput, TooLarge
from kosmos.ingest.formats.epub import extract

PNG = b"\x89PNG\r\n\x1a\npicture"
CONTAINER = (
    '<container xmlns="urn:x"><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
)


def book(*chapters: str, opf: str = "", members: dict[str, bytes] | None = None) -> bytes:
    """A book with these chapters; the spine is in reverse order of the manifest."""
    items = [
        f'<item id="c{n}" href="text/ch%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n, _ in enumerate(chapters)
    ]
    refs = "".join(f'<itemref idref="c{n}"/>' for n, _ in enumerate(chapters))
    package = opf or (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>一本书</dc:title><dc:creator>某人</dc:creator></metadata><manifest>"
        '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        f'{"".join(reversed(items))}</manifest><spine><itemref idref="nav"/>{refs}<itemref idref="gone"/>'
        "</spine></package>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/content.opf", package)
        archive.writestr("OEBPS/nav.xhtml", "<html><body>CONTENTS</body></html>")
        for number, chapter in enumerate(chapters):
            archive.writestr(f"OEBPS/text/ch {number}.xhtml", f"<html><body>{chapter}</body></html>")
        for name, data in (members or {}).items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_chapters_are_sections_in_order() -> None:
    result = extract(book("<h1>第一章</h1><p>甲</p>", "<p> </p>", "<h2>第二章</h2><p>乙</p>"), "a.epub")
    assert result.markdown.rstrip("\n") == "# 第一章\n\n甲\n\n## 第二章\n\n乙"
    assert result.title == "一本书"
    assert result.metadata == {"title": "一本书", "creator": "某人"}
    assert [(o.line, o.kind, o.place, o.name) for o in result.origins] == [
        (1, "section", 1, "第一章"),
        (5, "section", 3, "第二章"),
    ]


def test_pictures_come_from_the_archive() -> None:
    page = '<p>one</p><img src="../img/p.png" alt="pic"/><img src="../img/gone.png"/>'
    page += '<p><a href="ch%201.xhtml#x">next</a></p>'
    result = extract(book("<p>zero</p>", page, members={"OEBPS/img/p.png": PNG}), "a.epub")
    (figure,) = result.figures
    assert result.markdown.split("\n")[figure.line - 1] == f"![pic](asset:{hashlib.sha256(PNG).hexdigest()})"
    assert result.markdown.rstrip().endswith("next")
    assert "1 embedded images could not be read." in result.notes[0]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"META-INF/license.lcpl": b"{}"}, "DRM"),
        ({"META-INF/rights.xml": b"<r/>"}, "DRM"),
        (
            {"META-INF/encryption.xml": b"<e><EncryptionMethod Algorithm='urn:aes'/></e>"},
            "DRM",
        ),
        ({"META-INF/encryption.xml": b"<e"}, "no readable EPUB"),
    ],
)
def test_protected_books_are_refused(members: dict[str, bytes], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        extract(book("<p>x</p>", members=members), "a.epub")


def test_disguised_fonts_protect_nothing() -> None:
    fonts = b'<e><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></e>'
    assert (
        extract(book("<p>x</p>", members={"META-INF/encryption.xml": fonts}), "a.epub").markdown.strip()
        == "x"
    )


@pytest.mark.parametrize("opf", ["<package", "<!DOCTYPE x [<!ENTITY a 'b'>]><package>&a;</package>", "\x01"])
def test_a_damaged_package_is_refused(opf: str) -> None:
    with pytest.raises(InvalidInput, match="no readable EPUB"):
        extract(book("<p>x</p>", opf=opf), "a.epub")


def test_a_bomb_is_refused() -> None:
    data = book("<p>" + "x" * 40_000_000 + "</p>")
    assert len(data) < 100_000
    with pytest.raises(TooLarge, match="unpacks to more than"):
        extract(data, "a.epub")


def test_paths_do_not_leave_the_archive() -> None:
    result = extract(book('<p>a</p><img src="../../../../../../etc/hostname"/>'), "a.epub")
    assert result.figures == ()
