"""The XML an S3 service answers with, read as if it came from an enemy."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from kosmos.errors import ConfigError

LIMIT = 10 * 1024 * 1024
_MAX_TOKEN = 4096
_MAX_ELEMENTS = 100_000  # a full page of 1000 objects has some 10,000
_SLICE = 64 * 1024
_CODE = re.compile(r"[A-Za-z0-9.]{1,64}")


@dataclass(frozen=True)
class Page:
    """One page of object names."""

    names: tuple[str, ...]
    next_token: str | None


def parse_page(body: bytes) -> Page:
    """A page of ListObjectsV2; ConfigError when this is not one."""
    root = _parse(body)
    if _local(root.tag) != "ListBucketResult":
        raise unintelligible("it is not a list of objects")
    names = tuple(key.text or "" for key in root.iterfind("{*}Contents/{*}Key"))
    if root.findtext("{*}IsTruncated", "").strip().lower() != "true":
        return Page(names, None)
    token = root.findtext("{*}NextContinuationToken", "")
    if not 0 < len(token) <= _MAX_TOKEN:
        raise unintelligible("the list says that it goes on, but not where")
    return Page(names, token)


def parse_error_code(body: bytes) -> str:
    """The code inside an error answer, or nothing when the answer is not understood."""
    try:
        code = _parse(body).findtext("{*}Code", "").strip()
    except ConfigError:
        return ""
    return code if _CODE.fullmatch(code) else ""


def unintelligible(why: str) -> ConfigError:
    """The error for an answer that no S3 service gives."""
    return ConfigError(
        f"The endpoint of the blob store does not answer like S3: {why}.",
        remedy="Check that `endpoint` in its URL is the address of the S3 service, not of its web page.",
    )


class _Bounded(ElementTree.TreeBuilder):
    """Stops where ten megabytes of tiny elements would become a gigabyte of objects."""

    _left = _MAX_ELEMENTS

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._left -= 1
        if self._left < 0:
            raise unintelligible("the answer has too many parts")
        return super().start(tag, attrs)


def _parse(body: bytes) -> ElementTree.Element:
    if len(body) > LIMIT:
        raise unintelligible("the answer is too large")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unintelligible("the answer is not UTF-8") from error
    upper = text.upper()
    # Text with zero characters would be taken for UTF-16 by the parser, and hide a declaration from us.
    if "\0" in text or "<!DOCTYPE" in upper or "<!ENTITY" in upper:
        raise unintelligible("the answer declares a document type")
    parser = ElementTree.XMLParser(target=_Bounded())  # noqa: S314 - declarations were refused above
    try:
        for start in range(0, len(text), _SLICE):  # in slices, to stop soon after a refusal
            parser.feed(text[start : start + _SLICE])
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        raise unintelligible("the answer is not XML") from error
    return root


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
