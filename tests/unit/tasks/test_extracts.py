"""What a conversion found besides the text, as it is stored."""

import json

from kosmos.domain.documents import Canonical
from kosmos.domain.extracts import Origin
from kosmos.ingest.limits import Converted
from kosmos.tasks.extracts import extract_bytes


def _converted(origins: tuple[Origin, ...] = (), notes: tuple[str, ...] = ()) -> Converted:
    return Converted(Canonical("text", "", {}), origins, (), notes, "pdf", "pdf/1", cpu_seconds=1.5)


def test_nothing_found_is_nothing_to_store() -> None:
    assert extract_bytes(_converted()) is None


def test_the_same_findings_are_the_same_bytes() -> None:
    found = _converted((Origin(1, "page", 1), Origin(7, "sheet", 2, "表")), ("One picture was left out.",))
    stored = extract_bytes(found)
    assert stored is not None
    assert stored == extract_bytes(found)
    assert json.loads(stored) == {
        "converter": "pdf/1",
        "origins": [[1, "page", 1, ""], [7, "sheet", 2, "表"]],
        "notes": ["One picture was left out."],
    }
