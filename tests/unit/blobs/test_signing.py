"""Signatures against the examples AWS publishes for S3."""

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import pytest

from kosmos.blobs.signing import EMPTY_SHA256, AccessKeys, Signer
from kosmos.errors import ConfigError

KEYS = AccessKeys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
SIGNER = Signer(KEYS, "us-east-1")
AT = datetime(2013, 5, 24, tzinfo=UTC)
HOST = {"Host": "examplebucket.s3.amazonaws.com"}
STORED = {**HOST, "Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"}

EXAMPLES = [
    pytest.param(
        ("GET", "/test.txt", {**HOST, "Range": "bytes=0-9"}, b""),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        id="get-object",
    ),
    pytest.param(
        ("PUT", "/test%24file.text", STORED, b"Welcome to Amazon S3."),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        id="put-object",
    ),
    pytest.param(
        ("GET", "/?lifecycle", HOST, b""),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        id="query-without-value",
    ),
    pytest.param(
        ("GET", "/?max-keys=2&prefix=J", HOST, b""),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        id="list-objects",
    ),
]


def _sign(method: str, target: str, headers: dict[str, str], payload: bytes) -> dict[str, str]:
    digest = hashlib.sha256(payload).hexdigest()
    return SIGNER.headers(method, target, signed=headers, payload_sha256=digest, at=AT)


@pytest.mark.parametrize(("request_parts", "signature"), EXAMPLES)
def test_published_examples(request_parts: tuple[str, str, dict[str, str], bytes], signature: str) -> None:
    assert _sign(*request_parts)["authorization"].endswith(f"Signature={signature}")


def test_the_whole_header_of_the_first_example() -> None:
    headers = _sign("GET", "/test.txt", {**HOST, "Range": "bytes=0-9"}, b"")
    assert headers == {
        "x-amz-content-sha256": EMPTY_SHA256,
        "x-amz-date": "20130524T000000Z",
        "authorization": "AWS4-HMAC-SHA256 "
        "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    }


def test_neither_the_order_of_a_query_nor_the_time_zone_matters() -> None:
    there = AT.astimezone(timezone(timedelta(hours=9)))
    shuffled = SIGNER.headers(
        "GET", "/?prefix=J&max-keys=2", signed=HOST, payload_sha256=EMPTY_SHA256, at=there
    )
    assert shuffled == _sign("GET", "/?max-keys=2&prefix=J", HOST, b"")


def test_the_secret_is_not_shown() -> None:
    assert "wJalr" not in repr(SIGNER)


@pytest.mark.parametrize("secret", ["", "secret\n", "se cret", "geheimniß"])
def test_keys_that_cannot_be_right_are_refused(secret: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AccessKeys("AKIAIOSFODNN7EXAMPLE", secret)
    assert caught.value.remedy
    assert not secret or secret not in caught.value.message
