"""Multipart bodies come apart as they were put together, however they are cut on their way."""

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kosmos.api.multipart import MAX_HEAD, MultipartReader, PartHead, boundary_of, parse_head
from kosmos.errors import InvalidInput

KIND = "multipart/form-data; boundary=line"
HEAD = b'Content-Disposition: form-data; name="file"; filename="a.md"'
# What boundaries are made of comes often, so that near misses do.
CONTENT = st.lists(
    st.sampled_from([b"\r", b"\n", b"--", b"line", b"lin", b"\r\n--lin", b"\x00", b"x"])
    | st.binary(max_size=5),
    max_size=20,
).map(b"".join)
NAMES = st.text(st.characters(exclude_characters='\r\n"\\', exclude_categories=["Cs"]), max_size=20)


def _body(parts: list[tuple[str, bytes]]) -> bytes:
    """As a browser writes it."""
    made = b"ignored before\r\n" if len(parts) % 2 else b""
    for name, content in parts:
        quoted = name.replace('"', "%22").encode()
        made += b'--line\r\nContent-Disposition: form-data; name="f"; filename="' + quoted + b'"\r\n'
        made += b"Content-Type: text/plain\r\n\r\n" + content + b"\r\n"
    return made + b"--line--\r\nignored behind"


def _read(pieces: list[bytes]) -> list[tuple[str | None, bytes]]:
    reader, found = MultipartReader(KIND), list[tuple[str | None, bytes]]()
    for piece in pieces:
        for item in reader.feed(piece):
            if isinstance(item, PartHead):
                found.append((item.filename, b""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + item)
    reader.finish()
    return found


@given(parts=st.lists(st.tuples(NAMES, CONTENT), max_size=4), data=st.data())
def test_every_file_arrives_whole(parts: list[tuple[str, bytes]], data: st.DataObject) -> None:
    assume(all(b"\r\n--line" not in b"\r\n" + content for _, content in parts))
    body = _body(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    pieces = [body[start:end] for start, end in itertools.pairwise([0, *cuts, len(body)])]
    assert _read(pieces) == parts
    assert _read([bytes([byte]) for byte in body]) == parts


@given(
    body=st.binary(max_size=300) | CONTENT.map(lambda content: b"--line\r\n" + content),
    size=st.integers(1, 50),
)
def test_anything_is_read_or_refused(body: bytes, size: int) -> None:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    with pytest.raises(InvalidInput) as caught:
        _read(pieces)
    assert caught.value.remedy


def test_little_is_kept_of_a_large_part() -> None:
    reader = MultipartReader(KIND)
    assert list(reader.feed(b"--line\r\n" + HEAD + b"\r\n\r\n")) == [PartHead("file", "a.md")]
    given = [item for _ in range(100) for item in reader.feed(b"x" * 10_000)]
    assert sum(len(item) for item in given if isinstance(item, bytes)) > 999_900


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--line",
        b"--line-",
        b"--line\r\n" + HEAD,
        b"--line\r\n" + HEAD + b"\r\n\r\nwords",
        b"--line\r\n" + HEAD + b"\r\n\r\nwords\r\n--line",
        b"--line\r\n\r\nno head\r\n--line--",
        b"--line\r\nContent-Disposition: attachment; filename=x\r\n\r\n\r\n--line--",
        b"--line\r\nContent-Disposition: form-data; filename=x\r\n\r\n\r\n--line--",
        b"--line\r\n" + HEAD + b"\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n--line--",
        b'--line\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n\r\n--line--',
        b"--line" + b" " * (MAX_HEAD + 10),
        b"--line\r\n" + b"X: " + b"y" * MAX_HEAD + b"\r\n",
        b"--lines\r\n" + HEAD + b"\r\n\r\nwords\r\n--lines--",
        b"--other\r\n" + HEAD + b"\r\n\r\nwords\r\n--other--\r\n",
    ],
)
def test_bodies_that_are_not_what_they_say(body: bytes) -> None:
    for pieces in ([body], [bytes([byte]) for byte in body]):
        with pytest.raises(InvalidInput):
            _read(pieces)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('form-data; name="f"; filename="手册 one.md"', "手册 one.md"),
        ('form-data; name="f"; filename="a;b.md"', "a;b.md"),
        ('form-data; name="f"; filename="say %22hi%22.md"', 'say "hi".md'),
        (r'form-data; name="f"; filename="say \"hi\".md"', 'say "hi".md'),
        (r'form-data; name="f"; filename="C:\docs\a.md"', r"C:\docs\a.md"),
        ("form-data; name=f; filename=a.md", "a.md"),
        ("form-data; name=f; filename=\"x\"; filename*=UTF-8''%E6%B3%B5.md", "泵.md"),
        ("FORM-DATA ;NAME=f;FILENAME=a.md", "a.md"),
        ('form-data; name="f"; filename=""', ""),
        ('form-data; name="f"', None),
        ("form-data; name=f; filename*=latin1''%E9.md", None),
    ],
)
def test_names_of_files(line: str, name: str | None) -> None:
    assert parse_head(f"content-disposition: {line}".encode()) == PartHead("f", name)


@pytest.mark.parametrize(
    ("kind", "boundary"),
    [
        ("multipart/form-data; boundary=abc", "abc"),
        ('Multipart/Form-Data; charset=utf-8; boundary="a b:c"', "a b:c"),
        ("multipart/form-data;BOUNDARY=" + "x" * 70, "x" * 70),
    ],
)
def test_boundaries(kind: str, boundary: str) -> None:
    assert boundary_of(kind) == boundary


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 71,
        'multipart/form-data; boundary="a\'\x00"',
        "multipart/form-data; boundary=é",
        "multipart/mixed; boundary=x",
        "text/plain; boundary=x",
        "",
    ],
)
def test_content_types_without_a_boundary(kind: str) -> None:
    with pytest.raises(InvalidInput):
        boundary_of(kind)
