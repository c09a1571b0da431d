"""What a conversion found besides the text: kept as a blob, read when somebody asks for pages."""

import json
from collections.abc import Sequence

from kosmos.domain.extracts import Origin
from kosmos.ingest.limits import Converted
from kosmos.tasks.workbench import Workbench


def extract_bytes(converted: Converted) -> bytes | None:
    """Origins and notes in a form that is the same for the same conversion; None when there are none."""
    if not converted.origins and not converted.notes:
        return None
    origins = [[origin.line, origin.kind, origin.place, origin.name] for origin in converted.origins]
    body = {"converter": converted.converter, "origins": origins, "notes": list(converted.notes)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


async def read_origins(bench: Workbench, sha256: str | None) -> Sequence[Origin]:
    """Where the lines of a version came from; nothing for one that keeps its own lines."""
    if sha256 is None:
        return ()
    body = json.loads(await bench.blobs.read(sha256))
    return [Origin(*item) for item in body["origins"]]


async def read_notes(bench: Workbench, sha256: str | None) -> list[str]:
    """What the conversion left out."""
    return list(json.loads(await bench.blobs.read(sha256))["notes"]) if sha256 else []
