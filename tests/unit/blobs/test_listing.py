"""Lists and errors of S3 services, the hostile ones too."""

import pytest

from kosmos.blobs.listing import LIMIT, Page, parse_error_code, parse_page
from kosmos.errors import ConfigError

LIST = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult{ns}><Name>b</Name>{more}'
    "<Contents><Key>a</Key></Contents><Contents><Key>b &amp; c</Key></Contents></ListBucketResult>"
)
AWS = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]><ListBucketResult>&b;</ListBucketResult>'


@pytest.mark.parametrize("namespace", ["", AWS])
def test_a_last_page(namespace: str) -> None:
    body = LIST.format(ns=namespace, more="<IsTruncated>false</IsTruncated>").encode()
    assert parse_page(body) == Page(("a", "b & c"), None)


def test_a_page_that_goes_on() -> None:
    more = "<IsTruncated>true</IsTruncated><NextContinuationToken>1/x=</NextContinuationToken>"
    assert parse_page(LIST.format(ns=AWS, more=more).encode()) == Page(("a", "b & c"), "1/x=")


@pytest.mark.parametrize("token", ["", "t" * 5000])
def test_a_page_that_goes_on_nowhere(token: str) -> None:
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
    with pytest.raises(ConfigError):
        parse_page(LIST.format(ns=AWS, more=more).encode())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(BOMB.encode(), id="entities"),
        pytest.param(BOMB.lower().encode(), id="lower-case"),
        pytest.param(BOMB.encode("utf-16"), id="utf-16"),
        pytest.param(BOMB.encode("utf-16-le"), id="utf-16-without-mark"),
        pytest.param(b'<?xml version="1.0" encoding="utf-7"?>+ADwAIQ-DOCTYPE x+AD4-', id="utf-7"),
        pytest.param(b"<ListBucketResult>" + b" " * LIMIT + b"</ListBucketResult>", id="too-large"),
        pytest.param(b"<a>" * 3_000_000, id="deep"),
        pytest.param(b"<ListBucketResult>" + b"<a/>" * 2_000_000 + b"</ListBucketResult>", id="many"),
        pytest.param(b"<html><body>Sign in</body></html>", id="web-page"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe\x00", id="bytes"),
    ],
)
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_page(body)
    assert "endpoint" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<Error><Code>NoSuchBucket</Code><Message>m</Message></Error>", "NoSuchBucket"),
        (f"<Error{AWS}><Code> AccessDenied </Code></Error>".encode(), "AccessDenied"),
        (b"<Error><Code>\x1b[31mred</Code></Error>", ""),
        (b"<Error><Code>two words</Code></Error>", ""),
        (b"<Error></Error>", ""),
        (b"Bad gateway", ""),
        (b"", ""),
    ],
)
def test_error_codes(body: bytes, code: str) -> None:
    assert parse_error_code(body) == code
