"""The result of a converting process is believed in nothing."""

import hashlib
import json
import os
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kosmos.domain.documents import Canonical
from kosmos.domain.extracts import Extract, Figure, Origin
from kosmos.errors import ConversionFailed, InvalidInput, KosmosError, TooLarge
from kosmos.ingest.conversion_result import read_result, write_failure, write_result
from kosmos.ingest.limits import Limits

PICTURE = b"\x89PNG"
FIGURE = Figure(hashlib.sha256(PICTURE).hexdigest(), PICTURE, "image/png", "图", 2)
CANONICAL = Canonical("一\ntwo", "T", {"a": [1, "é"]}, "html/1")
EXTRACT = Extract(
    "一\ntwo", origins=(Origin(1, "page", 1), Origin(2, "sheet", 2, "表")), figures=(FIGURE,), notes=("n",)
)
HEADER: dict[str, Any] = {
    "title": "T",
    "metadata": {},
    "converter": "html/1",
    "text": 3,
    "notes": [],
    "origins": [],
    "figures": [],
}


def _raw(path: Path, header: Any, rest: bytes = b"abc") -> Path:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(b"KOSMOS1\n" + struct.pack("<I", len(head)) + head + rest)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_result(tmp_path / "r", CANONICAL, EXTRACT)
    found = read_result(tmp_path / "r", "html", Limits())
    assert found.canonical == CANONICAL
    assert (found.origins, found.figures, found.notes) == (EXTRACT.origins, EXTRACT.figures, EXTRACT.notes)
    assert (found.format, found.converter) == ("html", "html/1")


@pytest.mark.parametrize(
    "error", [InvalidInput("a", remedy="b"), TooLarge("a", remedy="b"), ConversionFailed("a")]
)
def test_errors_come_back_as_they_were(tmp_path: Path, error: KosmosError) -> None:
    write_failure(tmp_path / "r", error)
    with pytest.raises(type(error)) as caught:
        read_result(tmp_path / "r", "html", Limits())
    assert type(caught.value) is type(error)
    assert (caught.value.message, caught.value.remedy) == (error.message, error.remedy)


def test_a_plain_header_is_fine(tmp_path: Path) -> None:
    assert read_result(_raw(tmp_path / "r", HEADER), "html", Limits()).canonical.text == "abc"


@pytest.mark.parametrize(
    "change",
    [
        {"title": ""},
        {"title": "two\nlines"},
        {"title": 7},
        {"metadata": []},
        {"metadata": {"a": "\x00"}},
        {"metadata": {"a": "x" * 200_000}},
        {"converter": "pdf/1"},
        {"converter": "html/1\nx"},
        {"text": 2},
        {"text": 4},
        {"text": -1},
        {"text": True},
        {"text": 10**12},
        {"notes": 7},
        {"notes": [7]},
        {"origins": [[2, "page", 1, ""]]},
        {"origins": [[0, "page", 1, ""]]},
        {"origins": [[1, "nowhere", 1, ""]]},
        {"origins": [[1, "page", 0, ""]]},
        {"origins": [[1, "page", 1, "a\nb"]]},
        {"origins": [[1, "page"]]},
        {"origins": [[1.0, "page", 1, ""]]},
        {"figures": [["0" * 64, "image/png", "", 1, 5]]},
        {"figures": [["0" * 64, "image/png", "", 1, 10**12]]},
        {"figures": [[FIGURE.sha256, "text/html", "", 1, 4]]},
        {"error": "SystemExit", "message": "x", "remedy": ""},
        {"error": "InvalidInput"},
    ],
)
def test_a_result_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        read_result(_raw(tmp_path / "r", {**HEADER, **change}), "html", Limits())


@pytest.mark.parametrize("rest", [b"", b"ab", b"abcd", b"a\xff\xff", b"ab\n", b"a\rb", b"a\x00b"])
def test_a_text_that_is_not_canonical_is_refused(tmp_path: Path, rest: bytes) -> None:
    with pytest.raises(ConversionFailed):
        read_result(_raw(tmp_path / "r", HEADER, rest), "html", Limits())


@pytest.mark.parametrize("header", [b"", b"[]", b"{", b"7", b"[" * 100_000, b"\xff", b'{"title": NaN}'])
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(ConversionFailed, match="makes no sense"):
        read_result(_raw(tmp_path / "r", header), "html", Limits())


def test_a_picture_that_is_another_is_refused(tmp_path: Path) -> None:
    write_result(tmp_path / "r", CANONICAL, replace(EXTRACT, figures=(replace(FIGURE, data=b"other"),)))
    with pytest.raises(ConversionFailed):
        read_result(tmp_path / "r", "html", Limits())


def test_no_result_and_no_plain_file(tmp_path: Path) -> None:
    write_result(tmp_path / "r", CANONICAL, EXTRACT)
    (tmp_path / "link").symlink_to(tmp_path / "r")
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "link", "pipe", "."):
        with pytest.raises(ConversionFailed, match="no result"):
            read_result(tmp_path / name, "html", Limits())


def test_limits_hold(tmp_path: Path) -> None:
    write_result(tmp_path / "r", CANONICAL, EXTRACT)
    for limits in (Limits(canonical_bytes=5), Limits(figure_bytes=3)):
        with pytest.raises(ConversionFailed):
            read_result(tmp_path / "r", "html", limits)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=100), st.integers(0, 400), st.integers(0, 255))
def test_any_bytes_are_a_result_or_refused(tmp_path: Path, junk: bytes, at: int, value: int) -> None:
    path = tmp_path / "r"
    write_result(path, CANONICAL, EXTRACT)
    data = bytearray(path.read_bytes())
    data[at % len(data)] = value
    for content in (junk, bytes(data)):
        path.write_bytes(content)
        try:
            found = read_result(path, "html", Limits())
        except InvalidInput:
            continue
        assert found.canonical.text.count("\n") == 1 or found.canonical.text
