"""What an archive says of itself: which parts it has and what they must hash to."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kosmos.archive.rows import load_json, refused
from kosmos.archive.tables import Content

NAME = "manifest.json"
BACKUP, SPACE = "backup", "space"
FORMATS = {BACKUP: 2, SPACE: 1}  # what is written; a backup of format 1 has no runs that wait
BLOBS = "blobs.jsonl"  # which bytes there are, one hash and size a line
CHECKPOINTS = "checkpoints.jsonl"  # where runs that wait stand, one a line
KEY, TOKEN = "secret.key", "token"
SECRETS = (KEY, TOKEN)
_FIELDS = {"format", "kind", "version", "revision", "created_at", "parts", "tables", "missing"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TABLE = re.compile(r"tables/([a-z_]{1,60})\.jsonl")
_MOST_BYTES = 2**50


@dataclass(frozen=True, slots=True)
class Part:
    """One file inside: its length and hash."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of an archive. `missing` are bytes that were lost before it was made."""

    kind: str
    version: str
    revision: str
    created_at: str
    parts: Mapping[str, Part]
    tables: Mapping[str, Content]
    missing: tuple[str, ...] = field(default=())


def table_part(name: str) -> str:
    """Where the rows of a table lie."""
    return f"tables/{name}.jsonl"


def blob_part(sha256: str) -> str:
    """Where bytes lie."""
    return f"blobs/{sha256}"


def is_blob_part(name: str) -> bool:
    """Whether such bytes lie there."""
    return name.startswith("blobs/") and _SHA256.fullmatch(name[6:]) is not None


def dump_manifest(manifest: Manifest) -> bytes:
    """As it is stored."""
    body = {"format": FORMATS[manifest.kind], **asdict(manifest)}
    body["tables"] = {
        name: {"rows": content.rows, "digest": f"{content.digest:064x}"}
        for name, content in manifest.tables.items()
    }
    return json.dumps(body, indent=1, sort_keys=True).encode()


def load_manifest(data: bytes, kind: str) -> Manifest:
    """The manifest of an archive of that kind, or InvalidInput."""
    try:
        body = load_json(data.decode())
    except UnicodeDecodeError:
        raise refused("its manifest is no text") from None
    if not isinstance(body, dict) or not isinstance(body.get("format"), int):
        raise refused("its manifest cannot be read")
    if body.get("kind") != kind:
        known = {BACKUP: "a backup: use kosmos restore", SPACE: "a space: use kosmos import"}
        raise refused(f"it is {known.get(str(body.get('kind')), 'of an unknown kind')}")
    if body["format"] > FORMATS[kind]:
        raise refused(f"its format {body['format']} is newer than this version of Kosmos knows")
    if set(body) != _FIELDS:
        raise refused(f"its manifest lacks or has unknown fields: {sorted(set(body) ^ _FIELDS)[:5]}")
    texts = (body[name] for name in ("version", "revision", "created_at"))
    if not all(isinstance(text, str) and len(text) <= 64 for text in texts):
        raise refused("its manifest cannot be read")
    missing = body["missing"]
    if not isinstance(missing, list) or not all(_is_sha256(item) for item in missing):
        raise refused("its manifest cannot be read")
    return Manifest(
        kind=kind,
        version=body["version"],
        revision=body["revision"],
        created_at=body["created_at"],
        parts=_load_parts(body["parts"]),
        tables=_load_tables(body["tables"]),
        missing=tuple(missing),
    )


def _load_parts(given: Any) -> dict[str, Part]:
    if not isinstance(given, dict):
        raise refused("its manifest lists no parts")
    parts: dict[str, Part] = {}
    for name, part in given.items():
        known = name in (BLOBS, CHECKPOINTS, *SECRETS) or _TABLE.fullmatch(name)
        if not known or not isinstance(part, dict) or set(part) != {"bytes", "sha256"}:
            raise refused(f"its manifest lists the unknown part {name[:60]!r}")
        if not is_size(part["bytes"]) or not _is_sha256(part["sha256"]):
            raise refused(f"its manifest says nothing useful of {name}")
        parts[name] = Part(part["bytes"], part["sha256"])
    return parts


def _load_tables(given: Any) -> dict[str, Content]:
    if not isinstance(given, dict):
        raise refused("its manifest lists no tables")
    tables: dict[str, Content] = {}
    for name, content in given.items():
        fits = isinstance(content, dict) and set(content) == {"rows", "digest"}
        if not fits or not is_size(content["rows"]) or not _is_sha256(content["digest"]):
            raise refused(f"its manifest says nothing useful of the table {name[:60]!r}")
        tables[name] = Content(content["rows"], int(content["digest"], 16))
    return tables


def is_size(value: Any) -> bool:
    """Whether that is a length or count that can be."""
    return type(value) is int and 0 <= value <= _MOST_BYTES


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None
