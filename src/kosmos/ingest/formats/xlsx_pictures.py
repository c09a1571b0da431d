"""Pictures that lie on the sheets of a workbook."""

import posixpath
import zipfile
from xml.etree import ElementTree

from kosmos.ingest.formats.pictures import Picture, try_picture
from kosmos.ingest.formats.zip_limits import read_member

_MOST_PICTURES = 500


def read_pictures(archive: zipfile.ZipFile, sheet: str, name: str) -> tuple[list[Picture], int]:
    """The pictures of a sheet, and how many more of it cannot be shown."""
    pictures, lost = [], 0
    for drawing in _targets(archive, sheet.lstrip("/"), "/drawing", name):
        for part in _targets(archive, drawing, "/image", name)[:_MOST_PICTURES]:
            picture = try_picture(read_member(archive, part, name))
            if picture is None:
                lost += 1
            else:
                pictures.append(picture)
    return pictures, lost


def _targets(archive: zipfile.ZipFile, part: str, kind: str, name: str) -> list[str]:
    """The parts of a kind that a part refers to, in the order of their numbers."""
    folder, _, leaf = part.rpartition("/")
    relations = f"{folder}/_rels/{leaf}.rels"
    if relations not in archive.namelist():
        return []
    try:
        root = ElementTree.fromstring(read_member(archive, relations, name))  # noqa: S314  (entities were refused)
    except (ElementTree.ParseError, ValueError, LookupError):
        return []
    found = []
    for relation in root:
        target = relation.get("Target", "")
        path = (
            target.lstrip("/")
            if target.startswith("/")
            else posixpath.normpath(posixpath.join(folder, target))
        )
        if relation.get("Type", "").endswith(kind) and path in archive.namelist():
            found.append(path)
    return sorted(set(found))
