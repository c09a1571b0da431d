"""Where in which S3 service blobs lie, read from a URL."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from kosmos.errors import ConfigError

S3_EXAMPLE = "s3://bucket/prefix?endpoint=https://minio.example:9000&region=us-east-1"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_REGION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Location:
    """A bucket, and the names in it that are ours."""

    bucket: str
    endpoint: str  # scheme, host and port; nothing after them
    region: str = "us-east-1"
    prefix: str = ""  # empty, or ends with a slash


def parse_location(url: str) -> Location:
    """The location an `s3://` URL names; ConfigError when it does not name one."""
    # A URL may wrongly contain keys: it is never repeated in a message.
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError as error:
        raise bad_url("cannot be taken apart") from error
    if not _BUCKET.fullmatch(parts.netloc):
        raise bad_url("names no valid bucket (keys and ports do not belong there)")
    if parts.fragment or options.keys() - {"endpoint", "region"}:
        raise bad_url("may only have the options `endpoint` and `region`")
    region = options.get("region", "us-east-1")
    if not _REGION.fullmatch(region):
        raise bad_url("names no valid region")
    endpoint = _endpoint(options.get("endpoint", f"https://s3.{region}.amazonaws.com"))
    return Location(parts.netloc, endpoint, region, _prefix(parts.path))


def bad_url(why: str, *, example: str = S3_EXAMPLE) -> ConfigError:
    """The error for a blob URL, with an example of a right one."""
    return ConfigError(f"The URL of the blob store {why}.", remedy=f"Write it like this: {example}")


def _endpoint(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise bad_url("has an endpoint that cannot be taken apart") from error
    if not usable or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise bad_url("needs an endpoint of http:// or https://, a host and perhaps a port")
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise bad_url("has an endpoint with blanks or unusual characters")
    return f"{parts.scheme}://{parts.netloc}"


def _prefix(path: str) -> str:
    prefix = unquote(path).strip("/")
    if not prefix:
        return ""
    # HTTP clients resolve dots and proxies merge slashes, which would break the signature.
    if not prefix.isprintable() or any(part in {"", ".", ".."} for part in prefix.split("/")):
        raise bad_url("has a prefix with empty parts, dots as parts or control characters")
    return f"{prefix}/"
