"""The identifier detector finds exact spans and leaves alone what only looks like an identifier."""

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.detectors import scan
from kosmos.chunking.detectors.identifiers import find_identifiers
from kosmos.chunking.redaction import apply_redactions

PROPERTY = settings(max_examples=80, deadline=None)
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
KEY = f"{BEGIN}\nMIIEowIBAAKCAQEA7bq1\n  abcDEF0123456789+/==\n{END}"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
# The identifier stands between »«.
FOUND = {
    "email": [
        "发到»li.wei+a@mail.corp.com.cn«。",
        "<»jane@example.com«>",
        "mailto:»x@a.io«",
        "»ｊａｎｅ＠ｑｑ．ｃｏｍ«",
    ],
    "phone": [
        "手机：»13800138000«，",
        "»138 0013 8000«",
        "(»+86 138-0013-8000«)",
        "电话»（０１０）６２３４５６７８«",
        "»0755-26001234转801«",
        "»400-820-8820«",
        "call »(415) 555-2671« now",
        "»415.555.2671 ext. 12«",
        "»+44 (0)20 7946 0958«",
        "»0044 20 7946 0958«",
        "»01 23 45 67 89«",
        "»090-1234-5678«",
        "»+852 2345 6789« and 2024",
        "Tel: »62345678«",
        "»13800138000«/13900139000",
    ],
    "id_card": [
        "身份证»11010519491231002X«",
        "»11010519491231002x«。",
        "»440524 18800101 0014«",
        "»１１０１０５１９４９１２３１００２Ｘ«",
        "身份证号：»110105194912310021«",
        "»110105491231002«",
        "»A123456(3)«",
        "»A123456789«",
    ],
    "passport": ["护照号：»E12345678«", "US passport number »512345678«"],
    "ssn": ["»123-45-6789«", "SSN »123456789«"],
    "bank_card": [
        "»4111111111111111«",
        "»4111 1111 1111 1111« 09/27",
        "»4111-1111-1111-1111«",
        "»3782 822463 10005«",
        "卡号»6222021234567890128«",
        "银行账号：»35050161430009«",
    ],
    "iban": [
        "»GB82 WEST 1234 5698 7654 32«.",
        "»DE89370400440532013000«",
        "IBAN »FR1420041010050500013M02606« ok",
    ],
    "token": [
        "»AKIAIOSFODNN7EXAMPLE«",
        f"x »ghp_{'a1B2' * 9}«",
        "OPENAI=»sk-proj-a1b2C3d4e5F6g7h8i9J0«",
        f"token »{JWT}«.",
        "Authorization: Bearer »mF_9.B5f-4.1JqM7xx«",
        'api_key = "»q8Zt3Lm0Xw7Rk2Vb«"',
        "密钥：»q8Zt3Lm0Xw7Rk2Vb«。",
        "--token »9a08jv.c0izixklcxtmnze7« --ca",
    ],
    "password": [
        "密码：»abc12345«，",
        "初始密码是»123456«。",
        "password: »hunter2«",
        "İİİ password: »hunter2«",
        "--from-literal=password='»S!B\\*d$zDsb=«'",
        "postgres://app:»tiger7«@db/x",
        "Server=a;Password=»Str0ng!Pass«;Database=x",
    ],
    "private_key": [f"key: »{KEY}« end"],
}
LEFT_ALONE = """
v1.28.3-rc.1+13812345678
2024-03-15T12:00:00.123456789Z
1710475200 1710475200000 1710475200000000000
550e8400-e29b-41d4-a716-446655440000
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
memory: 17179869184
17179869184 of it
call 192.168.100.200 for it
https://jane@git.corp.com/x
password: correcthorse
ephemeral-storage: 14167048988
30000-32767, 10.0.0.1-10.0.0.255, 192.168.100.200:30000
3.13812345678 13812345678%
年营业额 13812345678 元
订单号：13800138000
order no. 4111111111111111
128 256 512 1024 2048 4096
727 3536 5401 8133 9153 2874
item 110105194912310021
GB82 WEST 1234 5698 7654 33
000-12-3456 666-12-3456 912-12-3456 123-00-4567 123-45-0000
ISBN 978-7-111-12345-6
git@github.com:org/repo.git user@1000.service icon@2x.png web@1.2.3-beta.rc
rabbit@rabbitmq-0.rabbitmq.svc.cluster.local
password: <your-password>
password: ${DB_PASSWORD}
password: $(cat file1)
password: ""
password: changeme
密码：****
password = os.environ["DB_PASS1"]
api_key = "sk-xxxxxxxxxxxxxxxxxxxxxxxx"
token: abcdef.0123456789abcdef
secretName: db-user-pass-96mffmfh4k
secret: db-user-pass-96mffmfh4k
--docker-password=password --docker-email=email1
postgres://user:${PW}@host/db
Bearer authentication-of-requests
-----BEGIN PRIVATE KEY----- ... -----END PRIVATE KEY-----
It lies between -----BEGIN PRIVATE KEY----- and, after internationalization, -----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
手机号：138****8000
⟦phone⟧ password: ⟦password⟧
dial tcp 10.19.0.41:10250
""".strip().split("\n")
CASES = [(kind, line) for kind, lines in FOUND.items() for line in lines]


def _hidden(text: str) -> list[tuple[str, str]]:
    """Kind and text of everything found, read by lines and columns."""
    lines = text.split("\n")
    found = []
    for item in find_identifiers(text):
        part = lines[item.start_line - 1 : item.end_line]
        part[-1] = part[-1][: item.end_column]
        part[0] = part[0][item.start_column :]
        found.append((str(item.kind), "\n".join(part)))
    return found


@pytest.mark.parametrize(("kind", "marked"), CASES)
def test_found_from_first_to_last_character(kind: str, marked: str) -> None:
    value = marked[marked.index("»") + 1 : marked.index("«")]
    assert (kind, value) in _hidden(marked.replace("»", "").replace("«", ""))


@pytest.mark.parametrize("line", LEFT_ALONE)
def test_left_alone(line: str) -> None:
    assert _hidden(line) == []


def test_lines_and_columns_are_those_of_the_text() -> None:
    (mail, phone) = find_identifiers("一\n二 jane@qq.com\n\u2028🙂13800138000")
    assert (mail.start, mail.end) == ((2, 2), (2, 13))
    assert (phone.start, phone.end) == ((3, 2), (3, 13))
    assert (phone.source, phone.replacement) == ("detector", "⟦phone⟧")


def test_a_key_without_an_end_is_hidden_as_far_as_it_goes() -> None:
    (item,) = find_identifiers(
        "a\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASC\nPlain words follow\n"
    )
    assert (item.start, item.end) == ((2, 0), (4, 12))


def test_the_head_of_an_encrypted_key_belongs_to_it() -> None:
    head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\n"
    (item,) = find_identifiers(f"{BEGIN}\n{head}MIIEvQIBADANBgkqhkiG\nis a key")
    assert (item.start_line, item.end_line, item.end_column) == (1, 5, 20)


def test_a_key_that_is_never_closed_does_not_swallow_the_next() -> None:
    first, second = find_identifiers(f"{BEGIN}\nMIIEvQIBADANBgkqhkiG\n\n中文 words\n\n{KEY}\n")
    assert (first.end_line, second.start_line, second.end_line) == (2, 6, 9)


def test_where_two_overlap_nothing_shows() -> None:
    text = "010-62345678转8001@qq.com"
    assert _hidden(text) == [("phone", "010-62345678转"), ("email", "8001@qq.com")]
    assert apply_redactions(text, find_identifiers(text)) == "⟦phone⟧⟦email⟧"
    assert _hidden("密码：a1b2c3!(0755) 26001234") == [("password", "a1b2c3!(0755)"), ("phone", " 26001234")]


def test_the_password_of_a_url_is_no_address() -> None:
    assert _hidden("postgres://app:tiger!7@db.corp.com/x") == [("password", "tiger!7")]
    assert _hidden("https://corp.com?to=jane@x.org") == [("email", "jane@x.org")]


def test_a_cue_belongs_to_the_number_after_it() -> None:
    assert _hidden("手机 13800138000 批次 62345678") == [("phone", "13800138000")]


@PROPERTY
@given(st.lists(st.sampled_from([line.replace("»", "").replace("«", "") for _, line in CASES]), max_size=4))
def test_a_cleansed_text_holds_nothing_more(lines: list[str]) -> None:
    text = "\n".join(lines)
    once = apply_redactions(text, find_identifiers(text))
    assert once.count("\n") == text.count("\n")
    assert apply_redactions(once, find_identifiers(once)) == once


@PROPERTY
@given(st.text("0123456789 ()+-./:@aAxX=密码手机：token１（\n", max_size=60))
def test_any_text_keeps_its_lines_and_gets_spans_apart(text: str) -> None:
    found = find_identifiers(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    lines = text.split("\n")
    for item in found:
        assert item.end_line <= len(lines)
        assert item.end_column is not None
        assert item.end_column <= len(lines[item.end_line - 1])
    assert apply_redactions(text, found).count("\n") == text.count("\n")


@PROPERTY
@given(
    st.from_regex(r"1[3-9][0-9]{9}", fullmatch=True),
    st.sampled_from(["手机{}", "（{}）", "{}；", "Li {}, x"]),
)
def test_every_mobile_number_but_sizes_in_bytes(number: str, sentence: str) -> None:
    expected = [] if int(number) % 65536 == 0 and "手机" not in sentence else [("phone", number)]
    assert _hidden(sentence.format(number)) == expected


@PROPERTY
@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.integers(0, 999))
def test_of_eleven_last_signs_one_makes_an_id(born: date, order: int) -> None:
    body = f"110105{born:%Y%m%d}{order:03}"
    found = [sign for sign in "0123456789X" if ("id_card", body + sign) in _hidden(f"见{body + sign}。")]
    total = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(body))
    expected = "10X98765432"[total % 11]
    assert found == [expected]


@PROPERTY
@given(st.from_regex(r"62[0-9]{13,16}", fullmatch=True))
def test_of_ten_last_digits_one_makes_a_card(body: str) -> None:
    cards = [digit for digit in "0123456789" if ("bank_card", body + digit) in _hidden(f"x {body + digit} y")]
    ids = [digit for digit in "0123456789" if ("id_card", body + digit) in _hidden(f"x {body + digit} y")]
    assert len(cards) == 1 or (not cards and len(ids) == 1)


_PARTS = [part.replace("»", "").replace("«", "") for parts in FOUND.values() for part in parts]


@given(st.lists(st.sampled_from([*_PARTS, *"a 1-:=_", "sk-", "SG.", "bearer ", "token", "密码"]), max_size=6))
@PROPERTY
def test_short_texts_are_read_as_long_ones_are(parts: list[str]) -> None:
    text = "".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_SHORT", -1)  # no text is short
        expected = find_identifiers(text)
    assert find_identifiers(text) == expected


@pytest.mark.parametrize("text", [*_PARTS, "Authorization: Bearer 0aZ9x8Yq7Lk3mN2bVc5D"])
def test_every_form_is_found_however_short_its_text(text: str) -> None:
    found = find_identifiers(text)
    moved = find_identifiers("\n" * 1_001 + text)
    assert [(item.kind, item.start_column, item.end_column) for item in moved] == [
        (item.kind, item.start_column, item.end_column) for item in found
    ]
    assert found
