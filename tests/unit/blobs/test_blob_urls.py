"""From a URL to a store, or to an error that shows how to write one."""

import asyncio
from pathlib import Path

import pytest

from kosmos.blobs import open_blobs
from kosmos.blobs.folder import FolderBlobs
from kosmos.blobs.location import Location, parse_location
from kosmos.blobs.refusals import refusal
from kosmos.blobs.s3 import S3Blobs
from kosmos.errors import ConfigError, EngineUnavailable, KosmosError, NotFound, TooLarge

PLACE = Location("bucket", "https://s3.example")


@pytest.mark.parametrize("form", ["{}", "file://{}", "FILE://{}", "file://localhost{}", "file:{}"])
async def test_folders(form: str, tmp_path: Path) -> None:
    blobs = open_blobs(form.format(tmp_path / "blobs"))
    assert isinstance(blobs, FolderBlobs)
    key = await blobs.put(b"x")
    assert (tmp_path / "blobs" / key[:2] / key[2:]).read_bytes() == b"x"


def test_paths_are_unescaped_and_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    asyncio.run(open_blobs(f"file://{tmp_path}/my%20blobs%3F").check())
    asyncio.run(open_blobs("~/mine").check())
    assert {path.name for path in tmp_path.iterdir()} == {"my blobs?", "mine"}


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("s3://bucket", Location("bucket", "https://s3.us-east-1.amazonaws.com")),
        (
            "s3://bucket/a%20b/c/?region=eu-west-1",
            Location("bucket", "https://s3.eu-west-1.amazonaws.com", "eu-west-1", "a b/c/"),
        ),
        (
            "s3://my.bucket/p?endpoint=http://127.0.0.1:9000/&region=r",
            Location("my.bucket", "http://127.0.0.1:9000", "r", "p/"),
        ),
        ("S3://bucket?endpoint=https://[::1]:9000", Location("bucket", "https://[::1]:9000")),
    ],
)
def test_locations(url: str, location: Location) -> None:
    assert parse_location(url) == location


async def test_s3_needs_keys() -> None:
    blobs = open_blobs("s3://bucket", access_key="a", secret_key="b")
    assert isinstance(blobs, S3Blobs)
    await blobs.close()
    for access, secret in ((None, "b"), ("a", None), ("", "")):
        with pytest.raises(ConfigError) as caught:
            open_blobs("s3://bucket", access_key=access, secret_key=secret)
        assert caught.value.remedy


@pytest.mark.parametrize(
    "url",
    [
        "",
        "  ",
        "a\0b",
        "~nobody-by-this-name/blobs",
        "http://example.com/hush",
        "gs://hush",
        "file://host/hush",
        "file:hush",
        "file:///hush?x=1",
        "file://[hush",
        "s3:bucket",
        "s3://",
        "s3:///prefix",
        "s3://key:hush@bucket/p",
        "s3://bucket:9000/p",
        "s3://[bucket",
        "s3://bucket/a/../b",
        "s3://bucket/a//b",
        "s3://bucket/a%00b",
        "s3://bucket/%2e%2e/b",
        "s3://bucket?endpont=https://hush",
        "s3://bucket?endpoint",
        "s3://bucket?endpoint=minio:9000",
        "s3://bucket?endpoint=https://",
        "s3://bucket?endpoint=https://key:hush@minio",
        "s3://bucket?endpoint=https://minio/path",
        "s3://bucket?endpoint=https://minio:port",
        "s3://bucket?endpoint=https://mi%20nio",
        "s3://bucket?region=a/b",
        "s3://bucket#hush",
    ],
)
def test_wrong_urls_are_answered_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_blobs(url, access_key="a", secret_key="b")
    assert "://" in (caught.value.remedy or "")
    assert "hush" not in f"{caught.value.message} {caught.value.remedy}"


@pytest.mark.parametrize(
    ("status", "code", "kind", "word"),
    [
        (403, "RequestTimeTooSkewed", ConfigError, "clock"),
        (403, "", ConfigError, "secret key"),
        (301, "PermanentRedirect", ConfigError, "region"),
        (400, "AuthorizationHeaderMalformed", ConfigError, "region"),
        (404, "NoSuchBucket", ConfigError, "Create the bucket"),
        (400, "Whatever", ConfigError, "endpoint"),
        (400, "EntityTooLarge", TooLarge, "Split"),
        (503, "SlowDown", EngineUnavailable, "later"),
        (429, "", EngineUnavailable, "later"),
        (404, "NoSuchKey", NotFound, ""),
    ],
)
def test_refusals_say_what_to_do(status: int, code: str, kind: type[KosmosError], word: str) -> None:
    error = refusal(status, code, PLACE)
    assert type(error) is kind
    assert word in (error.remedy or "")
