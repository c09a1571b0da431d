"""How binary files begin."""

IMAGES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
)

# Known, but not to be read. The first that fits decides.
OTHERS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"{\\rtf", "an RTF document"),
    (0, b"%!PS", "a PostScript file"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (0, b"\xfd7zXZ\x00", "an xz archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a Windows program"),
    (0, b"\xca\xfe\xba\xbe", "a program"),
    (0, b"\xcf\xfa\xed\xfe", "a program"),
    (0, b"\x00asm", "a WebAssembly program"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"PAR1", "a Parquet table"),
    (0, b"OggS", "an audio or video file"),
    (0, b"ID3", "an audio file"),
    (0, b"\xff\xfb", "an audio file"),
    (0, b"fLaC", "an audio file"),
    (0, b"RIFF", "an audio or video file"),
    (0, b"\x1aE\xdf\xa3", "a video file"),
    (4, b"ftyp", "a video or HEIC image file"),
    (0, b"8BPS", "a Photoshop image"),
    (0, b"\x00\x00\x01\x00", "an icon"),
    (0, b"wOFF", "a font"),
    (0, b"wOF2", "a font"),
    (0, b"\x00\x01\x00\x00\x00", "a font"),
    (0, b"OTTO", "a font"),
    (60, b"BOOKMOBI", "a Kindle book"),
    (0, b"AT&TFORM", "a DjVu document"),
)

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Names of streams in an old Office container, which stand in its directory as UTF-16.
OLE_STREAMS: tuple[tuple[str, str, str], ...] = (
    ("EncryptedPackage", "an encrypted Office document", "Remove the password in Office and save it again."),
    ("WordDocument", "an old Word document (.doc)", "Save it as .docx."),
    ("PowerPoint Document", "an old PowerPoint presentation (.ppt)", "Save it as .pptx."),
    ("Workbook", "an old Excel workbook (.xls)", "Save it as .xlsx."),
    ("Book", "an old Excel workbook (.xls)", "Save it as .xlsx."),
    ("__nameid_version1.0", "an Outlook message (.msg)", "Save it as HTML or text."),
)

# Members that make a ZIP archive more than one; the first that fits decides.
PACKAGES: tuple[tuple[str, str], ...] = (
    ("word/document.xml", "docx"),
    ("word/document2.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("META-INF/container.xml", "epub"),
)
OTHER_PACKAGES: tuple[tuple[str, str, str], ...] = (
    ("xl/workbook.bin", "a binary Excel workbook (.xlsb)", "Save it as .xlsx."),
    ("content.xml", "an OpenDocument file", "Save it as .docx, .xlsx, .pptx or PDF."),
    ("Index/Document.iwa", "an Apple iWork document", "Export it as PDF or as an Office document."),
    ("Index.zip", "an Apple iWork document", "Export it as PDF or as an Office document."),
    ("META-INF/MANIFEST.MF", "a Java archive", ""),
    ("AndroidManifest.xml", "an Android package", ""),
)
