"""The package of an EPUB book: what it is called, its chapters in order, and whether it may be read."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from kosmos.errors import InvalidInput
from kosmos.ingest.archives import Archive

MAX_XML = 8 * 1024 * 1024
MAX_CHAPTERS = 5000
# Fonts are often disguised, which is no protection of the text.
_DISGUISES = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_FIELDS = ("title", "creator", "language", "publisher", "date", "identifier", "description")


@dataclass(frozen=True, slots=True)
class Package:
    """A book: its metadata and the paths of its chapters."""

    metadata: Mapping[str, Any]
    chapters: tuple[str, ...]


def read_package(archive: Archive, name: str) -> Package:
    """The package that the container names first."""
    _refuse_protected(archive, name)
    container = _parse(archive.read("META-INF/container.xml", most=MAX_XML), name)
    path = next((file.get("full-path") or "" for file in _all(container, "rootfile")), "")
    if not path:
        raise _broken(name)
    package = _parse(archive.read(path, most=MAX_XML), name)
    files = {
        item.get("id"): resolve(path, item.get("href") or "")
        for item in _all(package, "item")
        if "nav" not in (item.get("properties") or "").split() and _is_page(item)
    }
    order = [files.get(entry.get("idref")) for entry in _all(package, "itemref")]
    chapters = [file for file in dict.fromkeys(order) if file in archive.members and file]
    return Package(_metadata(package), tuple(chapters[:MAX_CHAPTERS]))


def _is_page(item: ET.Element) -> bool:
    kind, href = item.get("media-type") or "", item.get("href") or ""
    return "html" in kind or href.lower().endswith((".xhtml", ".html", ".htm"))


def _metadata(package: ET.Element) -> dict[str, Any]:
    found = {key: " ".join(next(_all(package, key), _NOTHING).itertext()) for key in _FIELDS}
    return {key: " ".join(value.split())[:2000] for key, value in found.items() if value.strip()}


_NOTHING = ET.Element("nothing")


def _refuse_protected(archive: Archive, name: str) -> None:
    protected = {"META-INF/license.lcpl", "META-INF/rights.xml"} & set(archive.members)
    if not protected and "META-INF/encryption.xml" in archive.members:
        rules = _parse(archive.read("META-INF/encryption.xml", most=MAX_XML), name)
        protected = {entry.get("Algorithm") or "" for entry in _all(rules, "EncryptionMethod")} - set(
            _DISGUISES
        )
    if protected:
        raise InvalidInput(f"{name} is protected by DRM.", remedy="Get a copy without protection.")


def _parse(data: bytes, name: str) -> ET.Element:
    # Entities of one's own are how a few lines of XML become gigabytes.
    if re.search(rb"<!\s*ENTITY", data):
        raise _broken(name)
    try:
        return ET.fromstring(data)  # noqa: S314  (no entities, bounded size, a process of its own)
    except (ET.ParseError, LookupError, ValueError) as error:
        raise _broken(name) from error


def _all(root: ET.Element, tag: str) -> Iterator[ET.Element]:
    """All elements of a local name, whatever their namespace."""
    return (element for element in root.iter() if str(element.tag).rpartition("}")[2] == tag)


def resolve(base: str, href: str) -> str:
    """The path in the archive that an address in one of its files leads to."""
    path = unquote(href.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path)).removeprefix("../")


def _broken(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} is no readable EPUB book: its list of chapters is damaged or missing.",
        remedy="Get a complete copy of the file.",
    )
