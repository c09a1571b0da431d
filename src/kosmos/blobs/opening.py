"""From the one URL in the settings to a blob store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from kosmos.blobs.contract import Blobs
from kosmos.blobs.location import bad_url, parse_location
from kosmos.errors import ConfigError

_FILE_EXAMPLE = "file:///var/lib/kosmos/blobs"


def open_blobs(url: str, *, access_key: str | None = None, secret_key: str | None = None) -> Blobs:
    """The store a URL names: `file:///path` or a plain path, or `s3://bucket/prefix?endpoint=…&region=…`.

    Nothing is created or contacted yet; `check` does that.
    """
    scheme, colon, _ = url.partition(":")
    if colon and scheme.lower() == "s3":
        return _open_s3(url, access_key, secret_key)
    if colon and scheme.lower() == "file":
        return _open_folder(_file_path(url))
    if "://" in url:
        raise bad_url("has a scheme that is not known here", example=f"{_FILE_EXAMPLE} or s3://bucket/prefix")
    return _open_folder(url)


def _open_folder(path: str) -> Blobs:
    from kosmos.blobs.folder import FolderBlobs

    if not path.strip() or "\0" in path:
        raise bad_url("names no folder", example=_FILE_EXAMPLE)
    try:
        return FolderBlobs(Path(path).expanduser().absolute())
    except RuntimeError as error:
        raise bad_url("names the home of an unknown user", example=_FILE_EXAMPLE) from error


def _file_path(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise bad_url("cannot be taken apart", example=_FILE_EXAMPLE) from error
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise bad_url("must name an absolute path on this machine", example=_FILE_EXAMPLE)
    if parts.query or parts.fragment:
        raise bad_url("has an unescaped `?` or `#` (write %3F, %23)", example=_FILE_EXAMPLE)
    return unquote(parts.path)


def _open_s3(url: str, access_key: str | None, secret_key: str | None) -> Blobs:
    from kosmos.blobs.bucket import Bucket
    from kosmos.blobs.s3 import S3Blobs
    from kosmos.blobs.signing import AccessKeys

    location = parse_location(url)
    if not access_key or not secret_key:
        raise ConfigError(
            "A blob store in S3 needs an access key and a secret key.",
            remedy="Set both; they are never part of the URL.",
        )
    return S3Blobs(Bucket(location, AccessKeys(access_key, secret_key)))
