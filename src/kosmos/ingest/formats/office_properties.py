"""What an Office file says about itself: title, author, subject, keywords, dates."""

import zipfile
from xml.etree import ElementTree

from kosmos.ingest.formats.prose import flatten
from kosmos.ingest.formats.zip_limits import read_member

_PART = "docProps/core.xml"
_NAMES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "created": "created",
    "modified": "modified",
}
_LONGEST = 500


def read_properties(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """The properties that are set; a damaged part has none."""
    if _PART not in archive.namelist():
        return {}
    try:
        root = ElementTree.fromstring(read_member(archive, _PART, name))  # noqa: S314  (entities were refused)
    except (ElementTree.ParseError, ValueError, LookupError):
        return {}
    found = {}
    for element in root:
        key = _NAMES.get(str(element.tag).rpartition("}")[2])
        value = flatten(element.text or "")[:_LONGEST]
        if key and value:
            found[key] = value
    return found
