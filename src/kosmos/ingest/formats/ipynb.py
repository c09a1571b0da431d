"""Jupyter notebooks: text as it is, code and its output in fences, pictures as figures."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.errors import InvalidInput
from kosmos.ingest.encoding import decode_text
from kosmos.ingest.formats.html import page_extract
from kosmos.ingest.formats.markdown import break_lines, decoding_notes
from kosmos.ingest.formats.text import fence

CONVERTER_VERSION = 1
WARM = ("html_to_markdown",)
MAX_OUTPUT_CHARS = 200_000
MAX_IMAGE = 10 * 1024 * 1024
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ATTACHED = re.compile(r"\(attachment:([^)\s]{1,300})\)")


def extract(data: bytes, name: str) -> Extract:
    """The cells of a notebook in order, each of them an origin."""
    decoded = decode_text(data, name)
    try:
        notebook = json.loads(decoded.text)
        cells = _cells(notebook)
    except (ValueError, RecursionError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{name} is no readable notebook: it is not the JSON that Jupyter writes.",
            remedy="Open it in Jupyter and save it anew.",
        ) from error
    writer = _Writer(_language(notebook), name)
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, dict):
            writer.add_cell(number, cell)
    return writer.finish(_title(notebook), (*decoding_notes(decoded), *writer.notes))


def _cells(notebook: Any) -> list[Any]:
    """The cells of a notebook of any version."""
    sheets = notebook.get("worksheets")
    if "cells" not in notebook and isinstance(sheets, list):
        return [cell for sheet in sheets for cell in sheet.get("cells", [])]
    cells = notebook.get("cells", [])
    if not isinstance(cells, list):
        raise TypeError("cells are no list")
    return cells


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        language = _mapping(metadata.get(part)).get(key)
        if isinstance(language, str) and re.fullmatch(r"[\w+#.-]{1,30}", language):
            return language.lower()
    return "python"


def _title(notebook: Mapping[str, Any]) -> str:
    return _joined(_mapping(notebook.get("metadata")).get("title"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _joined(value: Any) -> str:
    """Text as notebooks keep it: a string, or its lines."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return break_lines(value) if isinstance(value, str) else ""


def _heading_mark(cell: Mapping[str, Any]) -> str:
    level = cell.get("level")
    known = cell.get("cell_type") == "heading" and isinstance(level, int) and 1 <= level <= 6
    return "#" * int(level or 1) + " " if known else ""


class _Writer:
    """Markdown that grows cell by cell, with the line where each began."""

    def __init__(self, language: str, name: str) -> None:
        self._language, self._name = language, name
        self._lines: list[str] = []
        self._origins: list[Origin] = []
        self._figures: dict[str, Figure] = {}
        self.notes: list[str] = []

    def add_cell(self, number: int, cell: Mapping[str, Any]) -> None:
        before = len(self._lines)
        source = _joined(cell.get("source", cell.get("input")))
        if cell.get("cell_type") == "code":
            self._add(fence(source, self._language) if source.strip() else "")
            outputs = cell.get("outputs")
            for output in outputs if isinstance(outputs, list) else ():
                self._add_output(_mapping(output))
        elif cell.get("cell_type") in ("markdown", "heading"):
            self._add(_heading_mark(cell) + self._with_attachments(source, _mapping(cell.get("attachments"))))
        else:
            self._add(fence(source) if source.strip() else "")
        if len(self._lines) > before:
            self._origins.append(Origin(before + 1, "cell", number))

    def finish(self, title: str, notes: tuple[str, ...]) -> Extract:
        """All of it."""
        return Extract(
            "\n".join(self._lines),
            title,
            origins=tuple(self._origins),
            figures=tuple(self._figures.values()),
            notes=notes,
        )

    def _add(self, text: str) -> None:
        text = text.strip("\n")
        if text.strip():
            self._lines += [*text.split("\n"), ""]

    def _add_output(self, output: Mapping[str, Any]) -> None:
        bundle = {**output, **_mapping(output.get("data"))}
        # Version 3 names kinds by their last part.
        for media, old in zip(_PICTURES, ("png", "jpeg", "gif", "webp"), strict=True):
            if picture := self._figure(_joined(bundle.get(media, bundle.get(old))), media, "output"):
                self._add(picture)
                return
        if markdown := _joined(bundle.get("text/markdown") or bundle.get("text/latex")):
            self._add(markdown[:MAX_OUTPUT_CHARS])
        elif "<table" in (html := _joined(bundle.get("text/html", bundle.get("html")))):
            self._add(page_extract(html[: 10 * MAX_OUTPUT_CHARS], self._name, whole=True).markdown)
        else:
            self._add_plain(bundle)

    def _add_plain(self, bundle: Mapping[str, Any]) -> None:
        traceback = bundle.get("traceback")
        parts = [part for part in traceback if isinstance(part, str)] if isinstance(traceback, list) else []
        text = "\n".join(parts) or _joined(bundle.get("text/plain", bundle.get("text")))
        text = _COLOUR.sub("", text)
        if len(text) > MAX_OUTPUT_CHARS:
            self.notes.append(f"An output of {len(text)} characters was cut to {MAX_OUTPUT_CHARS}.")
        self._add(fence(text[:MAX_OUTPUT_CHARS]) if text.strip() else "")

    def _with_attachments(self, source: str, attachments: Mapping[str, Any]) -> str:
        def place(match: re.Match[str]) -> str:
            bundle = _mapping(attachments.get(match.group(1)))
            for media in _PICTURES:
                if digest := self._keep(_joined(bundle.get(media)), media, match.group(1), source):
                    return f"(asset:{digest})"
            return match.group()

        return _ATTACHED.sub(place, source)

    def _figure(self, encoded: str, media: str, caption: str) -> str:
        digest = self._keep(encoded, media, caption, "")
        return f"![{caption}](asset:{digest})" if digest else ""

    def _keep(self, encoded: str, media: str, caption: str, before: str) -> str:
        """The digest of a picture that is kept, or nothing when there is none."""
        try:
            data = base64.b64decode(encoded) if encoded else b""
        except (binascii.Error, ValueError):
            data = b""
        if not data or len(data) > MAX_IMAGE:
            return ""
        digest = hashlib.sha256(data).hexdigest()
        line = len(self._lines) + 1 + _lines_before(before, caption)
        self._figures.setdefault(digest, Figure(digest, data, media, caption, line))
        return digest


def _lines_before(source: str, attachment: str) -> int:
    """How many lines of a cell stand above the reference to its attachment."""
    head, found, _ = source.strip("\n").partition(f"(attachment:{attachment})")
    return head.count("\n") if found else 0
