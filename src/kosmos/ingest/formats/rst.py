"""reStructuredText: read by docutils without files, raw output or network, then as an HTML page."""

from dataclasses import replace
from typing import Any

from kosmos.domain.extracts import Extract
from kosmos.errors import TooLarge
from kosmos.ingest.encoding import decode_text
from kosmos.ingest.formats.html import page_extract
from kosmos.ingest.formats.markdown import break_lines, decoding_notes
from kosmos.ingest.formats.refusals import reading

CONVERTER_VERSION = 1
WARM = ("docutils.core", "docutils.writers.html5_polyglot", "html_to_markdown", "chardet")
WARM_SAMPLE = b"Title\n=====\n\n.. note:: x\n\n*x* :ref:`x`\n\n.. code-block:: sh\n\n   x\n"
MAX_BYTES = 4 * 1024 * 1024
_SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "doctitle_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "initial_header_level": 1,
    "input_encoding": "unicode",
    "line_length_limit": 100_000,
    "math_output": "LaTeX",
    "raw_enabled": False,
    "report_level": 5,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "warning_stream": "",
}


def extract(data: bytes, name: str) -> Extract:
    """The document as Markdown. What other tools add to the language is read for its text."""
    from docutils.core import publish_parts

    from kosmos.ingest.formats.rst_tolerance import tolerant_parser

    if len(data) > MAX_BYTES:
        raise TooLarge(
            f"{name} has {len(data) // 2**20} MB; of reStructuredText {MAX_BYTES // 2**20} MB can be read.",
            remedy="Split it, or save it as plain text.",
        )
    decoded = decode_text(data, name)
    text = break_lines(decoded.text)
    with reading(name, "reStructuredText document"):
        parts = publish_parts(
            text, source_path="", parser=tolerant_parser(text), writer="html5", settings_overrides=_SETTINGS
        )
    found = page_extract(str(parts["body"]), name, whole=True)
    return replace(found, title="", notes=(*decoding_notes(decoded), *found.notes))
