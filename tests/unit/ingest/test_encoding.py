"""Every encoding that documents come in, short and long, with and without a declaration."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.errors import InvalidInput
from kosmos.ingest.encoding import declared_charset, decode_text, wide_sample

PROPERTY = settings(max_examples=150, deadline=None)
HANS = "容器编排系统会自动部署、扩展和管理应用程序。每个节点都运行一个代理。\n失效时任务会移到别处。"
HANT = "容器編排系統會自動部署、擴展和管理應用程式。每個節點都執行一個代理。\n失效時任務會移到別處。"
JA = (
    "コンテナの配備と管理を自動化する仕組みです。各ノードではエージェントが動作します。\n別の場所に移します。"
)
EN = "A naïve café – the scheduler’s rôle is to move work elsewhere.\nWhen a node fails, tasks go on."
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
CASES = [
    *((HANS, encoding) for encoding in ["gb2312", "gbk", "gb18030", *UNICODE]),
    *((HANT, encoding) for encoding in ["big5", "cp950", "gb18030", *UNICODE]),
    *((JA, encoding) for encoding in ["cp932", "shift_jis", "euc-jp", "iso2022_jp", *UNICODE]),
    *((EN, encoding) for encoding in ["cp1252", *UNICODE]),
]


@pytest.mark.parametrize(("text", "encoding"), CASES)
@pytest.mark.parametrize("shape", ["short", "one line", "long", "markdown", "page"])
def test_text_is_read_in_the_encoding_it_is_in(text: str, encoding: str, shape: str) -> None:
    shaped = {
        "short": text[:16],
        "one line": text.replace("\n", ""),
        "long": (text + "\n") * 3000,
        "markdown": f"# T\n\n{text}\n\n```sh\nkubectl get pods\n```\n",
        "page": f"<html><body><div class='x'><p>{text}</p></div></body></html>",
    }[shape]
    assert decode_text(shaped.encode(encoding), "x").text == shaped


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_ascii_without_a_mark(encoding: str) -> None:
    assert decode_text("plain words only".encode(encoding), "x").text == "plain words only"
    assert wide_sample("plain words only".encode(encoding)) == "plain words only"
    assert wide_sample(b"plain words only") == ""


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b'<meta charset="gb2312">', "gb18030"),
        (b"<meta http-equiv=x content='text/html; charset=GBK'>", "gb18030"),
        (b"<meta charset=big5>", "cp950"),
        (b"<meta charset=Shift_JIS>", "cp932"),
        (b'<?xml version="1.0" encoding="gb18030"?>', "gb18030"),
    ],
)
def test_a_declaration_that_fits_decides(head: bytes, encoding: str) -> None:
    decoded = decode_text(head + "、".encode(encoding), "x.html")
    assert (decoded.encoding, decoded.text[-1]) == (encoding, "、")


@pytest.mark.parametrize(
    "label", ["utf-8", "utf-7", "rot13", "nonsense", "unicode_escape", "utf-16", "idna", "\x00"]
)
def test_a_declaration_that_does_not_fit_is_passed_over(label: str) -> None:
    data = b"<meta charset=" + label.encode() + b">" + HANS.encode("gb18030")
    assert HANS in decode_text(data.replace(b"\x00", b""), "x", declared=label).text


def test_what_the_server_says_comes_before_what_the_page_says() -> None:
    data = b"<meta charset=gbk>" + HANT.encode("big5")
    assert decode_text(data, "x", declared="big5").text.endswith(HANT)


def test_the_declared_charset() -> None:
    assert declared_charset(b"<p>none</p>") == ""
    assert declared_charset(b"x" * 5000 + b"<meta charset=gbk>") == ""


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    data = (HANS * 20).encode()
    decoded = decode_text(data[:100] + b"\xff" + data[101:], "x")
    assert decoded.encoding == "utf-8"
    assert 1 <= decoded.damaged <= 3
    assert decoded.text.endswith(HANS)


def test_marks_of_damage_that_were_there_before_are_not_counted() -> None:
    assert decode_text(b"\xef\xbb\xbf\xef\xbf\xbd ok", "x").damaged == 0


@pytest.mark.parametrize(
    "data", [b"\x00\x01\x02\x03" * 50, bytes(range(256)) * 4, b"\x07\x01\x02" * 30, b"a\x00b"]
)
def test_what_is_no_text_is_refused_with_a_remedy(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="picture is not a text file") as caught:
        decode_text(data, "picture")
    assert caught.value.remedy


@PROPERTY
@given(st.binary(max_size=300), st.text(max_size=10))
def test_any_bytes_are_text_or_refused(data: bytes, declared: str) -> None:
    try:
        decoded = decode_text(data, "x", declared=declared)
    except InvalidInput:
        return
    assert decoded == decode_text(data, "x", declared=declared)
    assert decoded.damaged <= decoded.text.count("\ufffd")


@PROPERTY
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(lambda text: text + "\n"))
def test_utf8_always_wins(text: str) -> None:
    assert decode_text(text.encode(), "x").text == text.removeprefix("\ufeff")
